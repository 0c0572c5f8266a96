"""Gas bidding agents: actors that are called, read-only, for the bid of one of their timers in this block."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from checker.oracle.calls import Call, Present
from checker.oracle.contents import Contents
from checker.oracle.gas import Gas
from checker.oracle.market import Bid
from checker.oracle.programs import OK, OUT_OF_GAS, RunHandler, run_call
from checker.oracle.records import MAX_INTEGER, write

HANDLER = "get_gas_bid"


class Answer(NamedTuple):
    """An agent's bid, or the reason why it gave no valid bid."""

    bid: Bid | None
    reason: str = ""


def ask(
    contents: Contents,
    present: Present,
    agent: bytes,
    cycles: int,
    *,
    actor: bytes,
    context: Sequence[int],
    run_handler: RunHandler = run_call,
) -> Answer:
    """Ask an agent for the bid of a timer of an actor, within these cycles."""
    call = Call(
        contents=contents,
        present=present,
        gas=Gas(cycles, cycles),
        actor=agent,
        sender=actor,
        nonce=0,
        is_read_only=True,
    )
    ending = run_handler(call, HANDLER, write(min(number, MAX_INTEGER) for number in context))
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
