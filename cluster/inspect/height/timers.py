"""Rows of the timers of an executed block: each exit with its charge, and the reason of each waiting timer."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from checker.record.errors import on_one_line
from cluster.inspect.execute_again import BlockExecution
from cluster.inspect.height.rows import BlockScene
from cluster.timers.lifecycles import EXITS, NOT_YET, TimerLife, TimerLives
from network.words import counted
from report.block_rows import FiredRow, LeftRow, Party, TimerRows, WaitingRow
from scheduler import (
    POLICIES,
    DeferredSummary,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TimerConfig,
    TimerFired,
    TimerTriggered,
)
from scheduler.events import DeferralReason
from validators.execution import BlockSummary, Executed, Genesis, Header
from validators.execution.schema import TIMER_CONFIG

REASONS: Final = {
    DeferralReason.LANE_FULL: "lane full",
    DeferralReason.OVER_CAP: "gas limit above the cap",
    DeferralReason.BELOW_BASEFEE: "price above its greatest fee",
    DeferralReason.FUNDS: "funds do not cover its bid",
    DeferralReason.AGENT_FAILED: "agent gave no bid",
    DeferralReason.NOT_ASKED: "agent not asked in this block",
    DeferralReason.BLOCK_CAP: "the block's number of fires reached",
    DeferralReason.ACTOR_CAP: "the actor's number of fires reached",
    DeferralReason.READY_LIMIT: "the block's number of entries reached",
    DeferralReason.UNAVAILABLE: "service not active",
}
"""Reasons to wait in words."""

PAID_FROM_DEPOSIT: Final = {"aptos": "burned", "bias-auction": "tip"}
"""By policy, the part of a fire's cost that its deposit pays; under other policies the whole deposit comes back."""


class BlockPast:
    """The chain up to the parent of a block: its timers' lives, and the timer configuration that the block reads."""

    def __init__(self, genesis: Genesis) -> None:
        self.height = 0
        self.lives = TimerLives()
        self.config: TimerConfig = genesis.timer_config

    def follow(self, executed: Executed) -> None:
        """See the next block."""
        self.height = executed.header.height
        for _ in self.lives.follow(executed):
            pass
        stored = executed.changes.get(TIMER_CONFIG.key())
        if stored is not None:
            self.config = msgspec.msgpack.decode(stored, type=TimerConfig)


def timer_rows(execution: BlockExecution, past: BlockPast, scene: BlockScene) -> TimerRows:
    """Return the timers of a block: how each left, and who waits at its end; `past` has seen the block then."""
    header, summary = execution.block.header, execution.summary
    events, now = execution.events, scene.now(header)
    ended: dict[str, list[TimerLife]] = {}
    for ended_life in past.lives.take(header.height, events, execution.changes):
        ended.setdefault(ended_life.timer_id, []).append(ended_life)
    fired: list[FiredRow] = []
    left: list[LeftRow] = []
    for event, exit_ in _exits_of(events):
        lives = ended.get(event.timer_id.hex(), [])
        # A known bug may have a timer leave twice.
        life = lives.pop(0) if lives else None
        if isinstance(event, TimerFired):
            fired.append(_fired_row(event, life, scene, header))
        else:
            left.append(_left_row(event, exit_, life, scene))
    # An execution that broke off has no end at which anybody waits.
    lives_left = [] if summary is None else past.lives.waiting()
    waiting = sorted(lives_left, key=lambda life: (life.due, life.sequence))
    words = _Waits(now, header.height, events, summary)
    words.see(waiting)
    policy = POLICIES[scene.policy(header)]()
    has_clean_up = policy.has_ttl and policy.guarantees(None).has_gc_lane
    config = past.config
    return TimerRows(
        now=now,
        fired=fired,
        left=left,
        waiting_live=0 if summary is None else summary.waiting_live,
        waiting_dead=0 if summary is None else summary.waiting_dead,
        triggered=len(words.triggered),
        waiting_later=sum(life.due > now for life in waiting),
        held_back={REASONS[reason]: count for reason, count in held_back(events).items()},
        lane_cycles=0 if summary is None else summary.lane_cycles,
        lane_limit=config.lane_budget if policy.has_budget else None,
        clean_up_cycles=0 if summary is None else summary.gc_cycles,
        clean_up_limit=config.gc_budget * config.gc_cost_per_timer if has_clean_up else None,
        waiting=[_waiting_row(life, words, scene) for life in waiting],
    )


def _exits_of(events: Iterable[msgspec.Struct]) -> Iterator[tuple[Any, str]]:
    """Yield the events by which timers leave, each with the exit in words."""
    for event in events:
        exit_ = EXITS[type(event)](event) if type(event) in EXITS else ""
        if exit_:
            yield event, exit_


def _fired_row(event: TimerFired, life: TimerLife | None, scene: BlockScene, header: Header) -> FiredRow:
    deposit = 0 if life is None else life.deposit
    paid = getattr(event, PAID_FROM_DEPOSIT.get(scene.policy(header), ""), 0)
    return FiredRow(
        timer=event.timer_id.hex(),
        actor=scene.party(event.actor),
        fee_payer=_payer(life, scene),
        handler="" if life is None else on_one_line(life.handler),
        due=event.due,
        waited=scene.now(header) - event.due,
        result="ok" if event.ok else "reverted",
        gas_limit=0 if life is None else life.gas_limit,
        cycles=event.used_cycles,
        cells=event.used_cells,
        burned=event.burned,
        tip=event.tip,
        deposit=deposit,
        returned=max(deposit - paid, 0),
    )


def _left_row(event: Any, exit_: str, life: TimerLife | None, scene: BlockScene) -> LeftRow:  # noqa: ANN401 - any event of an exit
    is_insolvent = isinstance(event, TimerCancelledInsufficientFunds)
    return LeftRow(
        timer=event.timer_id.hex(),
        actor=Party("", "") if life is None else scene.party(bytes.fromhex(life.actor)),
        fee_payer=_payer(life, scene),
        exit=exit_,
        due=0 if life is None else life.due,
        expires_at=0 if life is None else life.expires_at,
        charged=event.penalty if isinstance(event, TimerCancelledForDelay) else 0,
        returned=0 if life is None else life.deposit,
        required=event.required if is_insolvent else None,
        available=event.available if is_insolvent else None,
    )


def _payer(life: TimerLife | None, scene: BlockScene) -> Party:
    return Party("", "") if life is None else scene.party(bytes.fromhex(life.fee_payer))


def _waiting_row(life: TimerLife, words: "_Waits", scene: BlockScene) -> WaitingRow:
    return WaitingRow(
        timer=life.timer_id,
        actor=scene.party(bytes.fromhex(life.actor)),
        fee_payer=_payer(life, scene),
        due=life.due,
        expires_at=life.expires_at,
        gas_limit=life.gas_limit,
        max_fee=None if life.max_fee == NOT_YET else life.max_fee,
        tip=None if life.tip == NOT_YET else life.tip,
        deposit=life.deposit,
        is_due=life.due <= words.now,
        why=words.why(life),
    )


def held_back(events: Iterable[object]) -> dict[DeferralReason, int]:
    """Return how many live timers each reason held back in a block."""
    counts: dict[DeferralReason, int] = {}
    for event in events:
        if isinstance(event, DeferredSummary):
            for reason, count in event.counts:
                counts[reason] = counts.get(reason, 0) + count
    return counts


class _Waits:
    """The reasons why timers wait at the end of a block.

    A block names a timer when it holds it back for the first time; afterwards it counts reasons. So the reason is known
    if the block names the timer, or if all unexpired timers are live and wait for the same reason.
    """

    def __init__(self, now: int, height: int, events: Iterable[object], summary: BlockSummary | None) -> None:
        self.now = now
        self._height = height
        self.triggered = dict.fromkeys(each.timer_id.hex() for each in events if isinstance(each, TimerTriggered))
        self._counts = held_back(events)
        self._live = 0 if summary is None else summary.waiting_live
        self._dead = 0 if summary is None else summary.waiting_dead

    def see(self, waiting: Iterable[TimerLife]) -> None:
        """Subtract the expired timers from the dead timers: the rest is insolvent, or expired by another rule."""
        self._dead = max(self._dead - sum(self._is_expired(life) for life in waiting), 0)

    def why(self, life: TimerLife) -> str:
        """Return the reason why a timer waits."""
        if life.due > self.now:
            return f"watches {counted(life.watched_keys, 'keys')}" if life.watched_keys else "not due"
        if self._is_expired(life):
            return "expired, waits for its removal"
        if life.timer_id in self.triggered:
            return "triggered in this block"
        return self._why_due(life)

    def _why_due(self, life: TimerLife) -> str:
        if self._dead and not (self._live and life.deferral):
            return "dead, waits for its removal"
        if len(self._counts) == 1 and not self._dead:
            return REASONS[next(iter(self._counts))]
        if not life.deferral:
            return "no reason given"
        reason = REASONS[DeferralReason(life.deferral)]
        is_new = life.deferred_height == self._height
        return reason if is_new else f"{reason}, first at height {life.deferred_height}"

    def _is_expired(self, life: TimerLife) -> bool:
        return life.due <= self.now and life.expires_at < self.now
