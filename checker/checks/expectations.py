"""The counts that a scenario expects of its run; a run with smaller counts is inconclusive, never passed.

`[expect.counts]` and `[expect.fired_by]` count events of timers over the final chain, as the first validator to apply a
block reported it. A run with more than `[expect.at_most]` fails. `[expect.recovery]` counts recoveries from disks,
summed over all validators; `[expect.replica_modes]` counts acts of observers' replica modes. `[expect.rules]` counts
hits of coverage points, which show branches of rules that no receipt shows.
"""

from bisect import bisect_left
from collections.abc import Mapping
from typing import ClassVar, Final, TypeAlias

import msgspec

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.coverage.engines import rules_of_others
from checker.observations import IdleMutant
from checker.results import CheckResult, ExitClass
from faults.anchors.catalogue import BlockFacts
from faults.anchors.watch import AnchorWatch
from network.events import Delivered, Event, Handlers
from scheduler import (
    AuthorizationRaised,
    DeferralReason,
    DeferredSummary,
    EpochPromoted,
    GbaFailed,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerConfigUpdated,
    TimerExtended,
    TimerExtendedByGovernance,
    TimerFired,
    TimerPriorityClampedAtSchedule,
    TransactionCancelled,
)
from scheduler.events import FailureCode, ShutdownEvent, TransactionFailed
from validators.actors import Emitted
from validators.events import SnapshotJoined
from validators.execution.receipts import ChainEvent, TransactionReceipt
from validators.messages import names_of_role

COUNTED_EVENTS: Final[dict[type[msgspec.Struct], str]] = {
    TimerCancelled: "cancelled",
    TimerExtended: "extended",
    TimerCancelledByGovernance: "cancelled_by_governance",
    TimerCancelledForDelay: "cancelled_for_delay",
    TransactionCancelled: "transactions_cancelled",
    AuthorizationRaised: "numbers_raised",
    ShutdownEvent: "shutdown_events",
    TimerExtendedByGovernance: "extended_by_governance",
    TimerConfigUpdated: "config_updates",
    TimerPriorityClampedAtSchedule: "tips_clamped",
    EpochPromoted: "epochs_promoted",
    Emitted: "emitted",
}
"""Counted events, with the name of each count; events of a timer that had left do not count."""

COUNTS: Final = (
    "transactions_reverted",
    "fired",
    "fires_reverted",
    "fires_tipped",
    "expired",
    "insolvent",
    *COUNTED_EVENTS.values(),
    "heights_promoted",
    "agents_failed",
    "shut_down",
    "authorization_expired",
    "waiting_live_peak",
    "priced_out_peak",
    "tipped_wait_peak",
    "lane_price_peak",
    "messages_delivered",
    "messages_reverted",
    "messages_waiting_peak",
    "blocks_lane_full",
    "blocks_execution_paused",
    "blocks_gc_paused",
)
"""Names of `[expect.counts]`. `tipped_wait_peak`: the most blocks for which a tipped timer waited.
`shut_down` and `authorization_expired`: entries of the queue that left for this reason."""

RECOVERIES: Final = ("damaged", "repaired", "observers", "snapshots_joined", "snapshots_joined_in_storm")
"""Names of `[expect.recovery]`; "in a storm" means that dead timers wait in the recovered state."""


NOT_EXPECTED: Final = "none stated"

Compared: TypeAlias = tuple[Mapping[str, int], Mapping[str, int]]
"""The least that is expected, and the counts of the run."""


class LeastCounts(Check):
    """A check that counts reach the least numbers that a scenario expects."""

    exit_class: ClassVar[ExitClass] = "inconclusive"

    def compared(self) -> Compared:
        """Return the least expected counts by name, and the run's counts, which have all these names."""
        raise NotImplementedError

    def not_asked(self) -> str:
        """Return a reason where the scenario expects no counts."""
        return "" if self.compared()[0] else NOT_EXPECTED

    def finish(self) -> CheckResult:
        """Return the result."""
        minimums, counts = self.compared()
        self.tally.compared = len(minimums)
        lacking = [
            f"{key} {counts[key]:,} (at least {least:,})" for key, least in minimums.items() if counts[key] < least
        ]
        if lacking:
            return self.tally.inconclusive(f"less than expected: {', '.join(lacking)}")
        shown = {key: counts[key] for key in minimums}
        return self.tally.result(", ".join(f"{key} {count:,}" for key, count in shown.items()), **shown)


class ExpectedCounts(LeastCounts):
    """The chain shows at least the counts that the scenario expects, counted once for each height."""

    name = "expected-counts"
    needs = "tables"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._presents: list[int] = []
        self._fires: dict[bytes, int] = {}
        self.found = dict.fromkeys(COUNTS, 0)

    @property
    def blocks(self) -> int:
        """Blocks that were counted."""
        return len(self._presents)

    def compared(self) -> Compared:
        """Return counts of `[expect.counts]`, and for each workload the fires of the actor that fired least."""
        minimums, counts = dict(self.run.expect.counts), dict(self.found)
        for workload, (least, actors) in self.run.expect.fired_by.items():
            name = f"fires of each of {workload}"
            minimums[name] = least
            counts[name] = min((self._fires.get(actor, 0) for actor in actors), default=0)
        return minimums, counts

    def settle(self, block: SettledBlock) -> None:
        """Count a block's events."""
        self._presents.append(block.now)
        counts, summary = self.found, block.summary
        counts["fired"] += summary.fired
        counts["fires_reverted"] += summary.reverted
        counts["expired"] += summary.expired
        counts["insolvent"] += summary.insolvent
        counts["messages_delivered"] += summary.messages_delivered
        counts["messages_reverted"] += summary.messages_reverted
        self._peak("waiting_live_peak", summary.waiting_live)
        self._peak("messages_waiting_peak", summary.messages_waiting)
        self._peak("lane_price_peak", summary.lane_price)
        counts["blocks_execution_paused"] += block.config.execution_lane_paused
        counts["blocks_gc_paused"] += block.config.gc_lane_paused
        for receipt in block.receipts:
            if isinstance(receipt, TransactionReceipt):
                counts["transactions_reverted"] += receipt.status != 0
        for event in block.events():
            self._count_event(event)

    def _peak(self, name: str, value: int) -> None:
        self.found[name] = max(self.found[name], value)

    def _count_event(self, event: ChainEvent) -> None:
        counts = self.found
        name = COUNTED_EVENTS.get(type(event))
        if name is not None:
            counts[name] += getattr(event, "was_live", True)
        if isinstance(event, TimerFired):
            self._fires[event.actor] = self._fires.get(event.actor, 0) + 1
            if event.tip:
                counts["fires_tipped"] += 1
                # The blocks from the first block in which the timer was due to the block before this block.
                self._peak("tipped_wait_peak", len(self._presents) - 1 - bisect_left(self._presents, event.due))
        elif isinstance(event, DeferredSummary):
            held = dict(event.counts)
            counts["blocks_lane_full"] += DeferralReason.LANE_FULL in held
            self._peak("priced_out_peak", held.get(DeferralReason.BELOW_BASEFEE, 0))
        elif isinstance(event, TransactionFailed):
            counts["shut_down"] += event.code is FailureCode.SHUTDOWN
            counts["authorization_expired"] += event.code is FailureCode.AUTH_EXPIRED
        elif isinstance(event, GbaFailed):
            counts["agents_failed"] += event.count
        elif isinstance(event, EpochPromoted):
            counts["heights_promoted"] += event.heights


class ExpectedLimits(Check):
    """No count of the chain is greater than the scenario allows."""

    name = "expected-limits"
    needs = "tables"

    def not_asked(self) -> str:
        """Return a reason where the scenario sets no limit."""
        return "" if self.run.expect.at_most else NOT_EXPECTED

    def finish(self) -> CheckResult:
        """Return the result."""
        limits, counted = self.run.expect.at_most, self.run.check(ExpectedCounts)
        counts = counted.found
        if not counted.blocks:
            return self.tally.inconclusive("no block was counted")
        for name, most in limits.items():
            self.tally.require(counts[name] <= most, f"{name} is {counts[name]:,}; expected at most {most:,}")
        return self.tally.result(", ".join(f"{name} {counts[name]:,}" for name in limits))


class ExpectedRecovery(LeastCounts):
    """Replicas recover from their disks as the scenario expects: damage found, repairs, observers, joins."""

    name = "expected-recovery"
    counts_one_process = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._joined_heights: list[int] = []

    @property
    def handlers(self) -> Handlers:
        """Joins from a snapshot."""
        return {SnapshotJoined: self.snapshot_joined}

    def compared(self) -> Compared:
        """Return counts of `[expect.recovery]`."""
        return self.run.expect.recovery, self.counts

    @property
    def counts(self) -> Mapping[str, int]:
        """Counts over all replicas."""
        chain = self.run.chain
        in_storm = sum(chain[height - 1].summary.waiting_dead > 0 for height in self._joined_heights)
        joined = {"snapshots_joined": len(self._joined_heights), "snapshots_joined_in_storm": in_storm}
        return {**self.run.end.recoveries, **joined}

    def snapshot_joined(self, _event: Event, joined: SnapshotJoined) -> None:
        """Count a join from a peer's state."""
        self._joined_heights.append(joined.height)


class ExpectedAnswers(LeastCounts):
    """Answers of the validators that the scenario names arrive at the replicas that asked for them.

    Answers are blocks, snapshots and certificates.
    """

    name = "expected-answers"
    sees_earlier_events = False
    counts_one_process = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._kinds = names_of_role(run.engine, "answer")
        self._found = dict.fromkeys(run.expect.answers_from, 0)

    @property
    def handlers(self) -> Handlers:
        """Messages, if the scenario expects answers."""
        return {Delivered: self.delivered} if self._found else {}

    def compared(self) -> Compared:
        """Return counts of `[expect.answers_from]`, by the validator's number."""
        return self.run.expect.answers_from, self._found

    def delivered(self, _event: Event, delivered: Delivered) -> None:
        """Count an answer."""
        sender = str(delivered.source)
        if sender in self._found and delivered.label in self._kinds:
            self._found[sender] += 1


class ExpectedArrival(Check):
    """The run reached the moment that its scenario's script leads to.

    The check reads the moment off the trace: a fault anchored to it would not show it where there is no fault.
    """

    name = "expected-arrival"
    exit_class: ClassVar[ExitClass] = "inconclusive"
    counts_one_process = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        arrival = run.expect.arrival
        self._has_come = False
        self._watch = AnchorWatch({} if arrival is None else {"arrival": arrival}, self._come)

    def not_asked(self) -> str:
        """Return a reason where the scenario's script leads to no moment."""
        return "" if self.run.expect.arrival is not None else NOT_EXPECTED

    @property
    def handlers(self) -> Handlers:
        """Events that show the moment."""
        return self._watch.handlers

    def settle(self, block: SettledBlock) -> None:
        """Look for the moment in a final block."""
        self._watch.see_block(block.height, BlockFacts.of(block.summary, block.events()))

    def finish(self) -> CheckResult:
        """Return the result."""
        arrival = self.run.expect.arrival
        told = "" if arrival is None else arrival.describe()
        self.tally.compared = 1
        if not self._has_come:
            return self.tally.inconclusive(f"the run did not reach the moment that its script leads to: that {told}")
        return self.tally.result(told)

    def _come(self, _name: str) -> None:
        self._has_come = True


class ExpectedReplicaModes(LeastCounts):
    """Observers do by their replica modes what the scenario expects."""

    name = "expected-replica-modes"
    counts_one_process = True

    def compared(self) -> Compared:
        """Return acts of `[expect.replica_modes]`, by observer."""
        return self.run.expect.replica_modes, self.run.end.replica_modes


class ExpectedRules(LeastCounts):
    """The run reaches the branches of rules that the scenario names."""

    name = "expected-rules"

    def compared(self) -> Compared:
        """Return hits of the coverage points of `[expect.rules]`, by label; points of other engines are left out."""
        others = rules_of_others(self.run.engine)
        minimums = {label: least for label, least in self.run.expect.rules.items() if label not in others}
        return minimums, {label: self.run.end.rules.get(label, 0) for label in minimums}


class ReplicaModesEffective(LeastCounts):
    """Each replica with a mode of its own, unless it may be idle, did once what the mode is about."""

    name = "replica-modes-effective"
    counts_one_process = True

    def compared(self) -> Compared:
        """Return 1 for each replica and kind of act, and the number of acts."""
        return dict.fromkeys(self.run.end.duties, 1), self.run.end.duties


class MutantsEffective(Check):
    """Each mutant that replaces callables was called in a step of its holder; otherwise the run is inconclusive."""

    name = "mutants-effective"
    exit_class: ClassVar[ExitClass] = "inconclusive"
    counts_one_process = True

    def not_asked(self) -> str:
        """Return a reason where a mutant was called, or the run has none."""
        return "" if self.run.end.idle_mutants else "no mutant of the run was idle"

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.inconclusive("; ".join(map(_told_idle, self.run.end.idle_mutants)))


def _told_idle(mutant: IdleMutant) -> str:
    holders = f"replica{'s' if len(mutant.holders) > 1 else ''} {', '.join(map(str, mutant.holders))}"
    steps = f"any step of {holders}" if mutant.holders else "the run"
    return f"mutant {mutant.name} replaces {' and '.join(mutant.replaces)}, not called in {steps}"
