"""The outcome of a timers' phase in the form of a case's answer, whichever engine it is of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from cluster.fixtures.scheduler_form import (
    CaseAuction,
    CaseBooks,
    CaseMarket,
    CaseSums,
    CaseWeight,
    SchedulerAnswer,
    SchedulerInput,
    ToldAgentFailed,
    ToldAsked,
    ToldCancelled,
    ToldCleanUp,
    ToldDeferred,
    ToldEvent,
    ToldExpired,
    ToldFailed,
    ToldFired,
    ToldInsolvent,
    ToldLane,
    ToldLaneUse,
    ToldQueue,
    ToldSummary,
    ToldWaiting,
    ToldWindowClosed,
)
from cluster.outside.own.stated import StatedHandlers
from scheduler.aptos_records import DEPOSITS

FIRED: Final = 1
"""Tag of the event of a fire."""

Row = Sequence[Any]
"""The fields of a record (docs/state.md)."""


class PolicyRows(Protocol):
    """The records that a policy leaves to the next block."""

    def row(self, table: str, key: Any = None) -> Row | None:  # noqa: ANN401 - the key of whatever table
        """Return the fields of a record, None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseEnd:
    """The outcome of a phase.

    Attributes:
        events: Events as their arrays (docs/events.md).
        charged: The units that were taken ahead for each fire, by timer.
        is_there: Says whether a timer is still there.
    """

    events: Sequence[Row]
    charged: Mapping[bytes, int]
    burned: int
    fired: int
    cycles: int
    cells: int
    price: int
    removed: int
    live: int
    dead: int
    balance: Callable[[bytes], int]
    is_there: Callable[[bytes], bool]
    rows: PolicyRows


def answer_of(given: SchedulerInput, end: PhaseEnd, handlers: StatedHandlers) -> SchedulerAnswer:
    """Return the answer to a case."""
    named = [given.proposer, *given.balances, *(address for it in given.timers for address in (it.actor, it.payer))]
    # The queue of scheduled transactions has no clean-up.
    removed = 0 if given.policy == "aptos" else end.removed
    rows = end.rows
    return SchedulerAnswer(
        events=tuple(_event(event, given, end.charged) for event in end.events),
        balances={address: end.balance(bytes.fromhex(address)) for address in dict.fromkeys(named)},
        burned=end.burned,
        lane_use=ToldLaneUse(end.fired, end.cycles, end.cells, end.price),
        clean_up=ToldCleanUp(removed, removed * given.limits.gc_cost_per_timer),
        waiting=ToldWaiting(end.live, end.dead),
        left=tuple(timer.id for timer in given.timers if end.is_there(bytes.fromhex(timer.id))),
        asked=tuple(ToldAsked(timer.id, context) for timer, context in handlers.asked),
        lane=None if given.lane is None else _lane(given, rows),
        auction=None if given.auction is None else _auction(given, rows),
        bias=None if given.bias is None else CaseBooks(*_found(rows.row("bias books"))),
        queue=None if given.queue is None else _queue(given, rows, end.balance),
    )


def _found(row: Row | None) -> Row:
    assert row is not None, "the phase leaves this record"
    return row


FORMS: Final[Mapping[int, Callable[..., ToldEvent]]] = {
    2: ToldDeferred,
    3: lambda timer, expires_at, _now: ToldExpired(timer, expires_at),
    4: ToldInsolvent,
    6: lambda counts: ToldSummary(tuple((reason, count) for reason, count in counts)),
    12: ToldAgentFailed,
    14: ToldCancelled,
    16: ToldWindowClosed,
    66: lambda timer, _key, _sender, code: ToldFailed(timer, code),
}
"""The form of each event but fires, by its tag."""


def _event(event: Row, given: SchedulerInput, charged: Mapping[bytes, int]) -> ToldEvent:
    fields: list[Any] = [field.hex() if isinstance(field, bytes) else field for field in event[1:]]
    if event[0] != FIRED:
        return FORMS[event[0]](*fields)
    taken = charged[event[1]]
    timer, _, _, ok, cycles, cells, burned, tip = fields
    # The bid of the bias auction, out of which its tip comes, is no part of what was charged.
    refund = taken - burned - (0 if given.policy == "bias-auction" else tip)
    return ToldFired(timer, ok, cycles, cells, taken, burned, tip, refund)


def _lane(given: SchedulerInput, rows: PolicyRows) -> ToldLane:
    assert given.lane is not None
    subjects = [
        *(timer.actor for timer in given.timers),
        *given.lane.owners.values(),
        *(subject for block in given.lane.window for subject in block.fires),
    ]
    found = {subject: rows.row("recent fires", bytes.fromhex(subject)) for subject in dict.fromkeys(subjects)}
    cursor = rows.row("GC cursor")
    return ToldLane(
        CaseMarket(*_found(rows.row("lane market"))),
        {subject: row[0] for subject, row in found.items() if row is not None},
        None if cursor is None else (cursor[0], cursor[1]),
    )


def _auction(given: SchedulerInput, rows: PolicyRows) -> CaseAuction:
    assert given.auction is not None
    used, epoch, _, budget = _found(rows.row("auction books"))
    named = [*(timer.actor for timer in given.timers), *given.auction.weights, *given.auction.sums]
    actors = dict.fromkeys(named)
    weights = {actor: rows.row("auction weight", bytes.fromhex(actor)) for actor in actors}
    sums = {actor: rows.row("auction tally", bytes.fromhex(actor)) for actor in actors}
    cursor = rows.row("auction cursor")
    return CaseAuction(
        epoch=epoch,
        used_cycles=used,
        budget_cycles=budget,
        weights={actor: CaseWeight(*row) for actor, row in weights.items() if row is not None},
        sums={actor: CaseSums(*row) for actor, row in sums.items() if row is not None},
        cursor=None if cursor is None else (cursor[0], cursor[1]),
    )


def _queue(given: SchedulerInput, rows: PolicyRows, balance: Callable[[bytes], int]) -> ToldQueue:
    slots = ((slot, rows.row("removal slot", slot)) for slot in range(int(given.own["removal_slots"])))
    marked = tuple((slot, tuple(key.hex() for key in keys[0])) for slot, keys in slots if keys is not None)
    return ToldQueue(balance(DEPOSITS), marked)
