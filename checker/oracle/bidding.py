"""Gas bidding agents: actors that are called, read-only, for the bid of one of their timers in this block."""

from typing import NamedTuple

import msgspec

from checker.oracle.calls import Call, Gas, Present
from checker.oracle.contents import Basefees, Contents, Timer
from checker.oracle.market import Bid, Lane
from checker.oracle.programs import OK, OUT_OF_GAS, run_call
from checker.oracle.records import MAX_INTEGER, write

HANDLER = "get_gas_bid"


class Answer(NamedTuple):
    """An agent's bid, or the reason why it gave no valid one."""

    bid: Bid | None
    reason: str = ""


def ask(contents: Contents, present: Present, lane: Lane, basefees: Basefees, *, timer: Timer) -> Answer:
    """Ask the agent of a timer."""
    context = [
        *(timer.due, present.now, basefees.cycle, basefees.cell, lane.price),
        *(lane.market.used_cycles, lane.market.p50_tip, contents.balance(timer.actor)),
    ]
    assert timer.quote is not None, "only a timer that names an agent has one to ask"
    assert timer.quote.gba is not None, "only a timer that names an agent has one to ask"
    call = Call(
        contents=contents,
        present=present,
        gas=Gas(lane.config.gba_call_cycles, 0),
        actor=timer.quote.gba,
        sender=timer.actor,
        nonce=0,
        is_read_only=True,
    )
    ending = run_call(call, HANDLER, write(min(number, MAX_INTEGER) for number in context))
    if ending.status != OK:
        return Answer(None, "overrun" if ending.status == OUT_OF_GAS else "failed")
    bid = _read_bid(ending.answer)
    return Answer(bid, "" if bid else "absurd")


def _read_bid(answer: object) -> Bid | None:
    if not isinstance(answer, bytes):
        return None
    try:
        fields = msgspec.msgpack.decode(answer)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError):
        return None
    is_bid = isinstance(fields, list) and len(fields) == 4
    return Bid(*fields) if is_bid and all(type(it) is int and 0 <= it <= MAX_INTEGER for it in fields) else None
