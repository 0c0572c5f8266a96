"""The timers' phase of a case by the oracle alone."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from checker.oracle import auction_records, bias_records, queue_records
from checker.oracle.calls import Call, Present
from checker.oracle.contents import Contents, Table
from checker.oracle.gas import Gas
from checker.oracle.policies import POLICY_ORACLES, BlockStart
from checker.oracle.policies.policy import PolicyInBlock
from checker.oracle.programs import OK, OUT_OF_GAS, REVERTED, Ending
from checker.oracle.records import Transaction
from checker.oracle.timers import TimerPhase
from cluster.fixtures.scheduler_form import SchedulerAnswer, SchedulerInput
from cluster.outside.own.stated import StatedHandlers, stage
from cluster.outside.own.told import PhaseEnd, Row, answer_of

TABLES: Final[Mapping[str, Callable[[Contents], Table[Any, Any]]]] = {
    "lane market": lambda contents: contents.market,
    "GC cursor": lambda contents: contents.gc_cursor,
    "recent fires": lambda contents: contents.recent_fires,
    "auction books": lambda contents: contents.own(auction_records.BOOKS),
    "auction weight": lambda contents: contents.own(auction_records.WEIGHTS),
    "auction tally": lambda contents: contents.own(auction_records.TALLIES),
    "auction cursor": lambda contents: contents.own(auction_records.CURSOR),
    "bias books": lambda contents: contents.own(bias_records.BOOKS),
    "removal slot": lambda contents: contents.own(queue_records.SLOTS),
}
"""The tables of policies, by their names in docs/state.md."""

SINGLE: Final = ("recent fires", "removal slot")
"""Tables whose rows are the only field of their records."""


class OracleRows:
    """The records of policies in the oracle's tables."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    def row(self, table: str, key: Any = None) -> Row | None:  # noqa: ANN401 - the key of whatever table
        """Return the fields of a record, None where there is none."""
        found = TABLES[table](self._contents).get(key)
        return (found,) if found is not None and table in SINGLE else found


def answer_by_oracle(given: SchedulerInput) -> SchedulerAnswer:
    """Return the oracle's answer to a case."""
    case, contents = stage(given)
    moment, handlers = given.moment, StatedHandlers(given.timers)
    room = Gas(case.genesis.block_cycles, case.genesis.block_cells)
    start = BlockStart(
        contents,
        moment.height,
        moment.activated_at,
        contents.basefees.rows[None],
        room,
        is_in_slots=moment.timebase == "slot",
        slot_ms=moment.slot_ms,
        timestamp_ms=moment.time_ms,
    )
    rules = POLICY_ORACLES[given.policy].open(start)
    present = Present(
        height=moment.height,
        now=case.now,
        config=contents.config.rows[None],
        collected={},
        mailbox_cycles=case.genesis.mailbox_cycles,
        admission=rules,
    )
    phase = rules.timer_phase(present, case.parent_now, bytes.fromhex(given.proposer))
    phase.run_handler = partial(_run, handlers)
    _run_phases(given, rules, phase, room)
    return answer_of(
        given,
        PhaseEnd(
            events=phase.events,
            charged=phase.charged,
            burned=phase.burned,
            fired=phase.fired,
            cycles=phase.lane_cycles,
            cells=phase.lane_cells,
            price=phase.price,
            removed=phase.removed,
            live=phase.waiting_live,
            dead=phase.waiting_dead,
            balance=contents.balance,
            is_there=contents.timers.rows.__contains__,
            rows=OracleRows(contents),
        ),
        handlers,
    )


def _run_phases(given: SchedulerInput, rules: PolicyInBlock, phase: TimerPhase, room: Gas) -> None:
    """Run the parts of the policy, in its order, in a block that has transactions only beside a queue."""
    for name in rules.phases():
        if name == "prologue":
            phase.prologue()
        elif name == "transactions":
            for offer in () if given.queue is None else given.queue.transactions:
                limits = offer.cycles_limit, offer.cells_limit, offer.max_fee_per_cycle, 0, offer.priority_fee_per_cycle
                phase.before_transaction(Transaction(b"", 0, *limits, [], b""))
                room.cycles, room.cells = room.cycles + offer.cycles, room.cells + offer.cells
            phase.after_transactions()
        elif name == "timers":
            phase.run()
    phase.end_block()
    phase.close(phase.lane_cycles)


def _run(handlers: StatedHandlers, call: Call, _handler: str, payload: bytes) -> Ending:
    if call.is_read_only:
        said = handlers.answer(call.actor, call.sender, payload)
        if isinstance(said, bytes):
            return Ending(OK, "", 0, 0, [], said)
        return Ending(OUT_OF_GAS if said == "overrun" else REVERTED, "", 0, 0, [])
    does = handlers.timer(payload).handler
    assert does.cycles <= call.gas.cycles_limit, "a case's handler keeps to its gas limit"
    return Ending(OK if does.ok else REVERTED, "", does.cycles, does.cells, [])
