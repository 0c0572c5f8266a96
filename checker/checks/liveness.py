"""Progress: finality comes back after healing, and what the scenario promised did happen."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, final

from checker.checks.observations import NO_DISK_FAULTS, DiskFaults, FaultOutcome, name_validators, quorum_of, read_event
from checker.results import CheckResult, Tally
from faults.events import Crashed, Restarted
from network.events import Event
from validators.events import BlockFinalized, Booted, Entered, Halted, StoppedVoting, Voted
from validators.identity import NEVER_VOTED
from validators.stats import DISK

STOPPED: Final = "stopped"
"""The outcome of a run that ended as it should, by its own goal; every other one ended it from outside."""


@dataclass(slots=True)
class _Healing:
    """When the judged phase began: virtual time, the greatest view that anybody had entered, the greatest height."""

    at_us: int
    view: int
    height: int


@final
class FinalityRegained:
    """After the last fault each live honest validator finalizes a new block within a stated number of views.

    Views are counted for the whole cluster, from the greatest one that an honest validator had entered when the last
    fault was over, to the greatest one entered when this validator finalizes a block that nobody had before. Without a
    fault the run is judged from its start.

    Replicas beyond the validators have no vote to lose, and have to follow finality like the others.

    A disk may cost a validator its vote (an observer) or stop it. Where a fault of the plan explains that it counts
    towards f, and an observer has to follow finality like the others; without such a fault it is a failure.

    `still_max_us` is given where nothing happens but that at most f validators are down for a while: then finality must
    not wait for them, and two new blocks are never further apart than this. Other runs are not asked.
    """

    def __init__(
        self,
        *,
        validators: int,
        honest: Collection[int],
        views_max: int,
        disk_faults: DiskFaults = NO_DISK_FAULTS,
        still_max_us: int | None = None,
    ) -> None:
        self._tally = Tally("finality-regained", "liveness")
        self._still_max_us = still_max_us
        self._progress_us = 0
        self._validators = validators
        self._quorum = quorum_of(validators)
        self._views_max = views_max
        self._disk_faults = disk_faults
        self._observers: dict[int, str] = {}
        self._stopped: dict[int, str] = {}
        self._is_up = dict.fromkeys(sorted(honest), True)
        self._halted: dict[int, str] = {}
        self._healing = _Healing(0, 0, 0)
        self._view = 0
        self._height = 0
        self._progress_view = 0
        self._regained: dict[int, tuple[int, int]] = {}

    def entered(self, event: Event) -> None:
        """Follow the greatest view."""
        self._view = max(self._view, read_event(event, Entered).view)

    def vote(self, event: Event) -> None:
        """A vote is sent in a view that was entered, be it by an earlier process, of which nothing else is known."""
        self._view = max(self._view, read_event(event, Voted).view)

    def boot(self, event: Event) -> None:
        """A restarted validator may hold a block that it had no time to announce."""
        self._height = max(self._height, read_event(event, Booted).finalized_height)
        self._stopped.pop(event.node, None)

    def finalized(self, event: Event) -> None:
        """Note the first new block of each validator."""
        block = read_event(event, BlockFinalized)
        if block.height > self._healing.height:
            views = max(self._view, block.view) - self._healing.view
            self._regained.setdefault(event.node, (views, event.at_us - self._healing.at_us))
        if block.height > self._height:
            self._judge_stillness(event.at_us, block.height)
            self._height = block.height
            self._progress_view = max(self._view, block.view)

    def halted(self, event: Event) -> None:
        """A validator stopped: until somebody mends its disk, or for good."""
        reason = read_event(event, Halted).reason
        is_explained = reason.startswith(DISK) and event.node in self._disk_faults.touched
        (self._stopped if is_explained else self._halted)[event.node] = reason

    def observer(self, event: Event) -> None:
        """A validator has lost its vote, or a replica that never had one has begun to follow."""
        reason = read_event(event, StoppedVoting).reason
        if event.node < self._validators:
            self._observers[event.node] = reason
        elif reason == NEVER_VOTED:
            return
        self._tally.compared += 1
        if event.node not in self._disk_faults.destroyed:
            self._tally.fail(
                f"validator {event.node} has become an observer and no fault destroyed what its disk held: {reason}",
                validator=event.node,
            )

    def crash(self, event: Event) -> None:
        """The supervisor cut a validator's power."""
        self._set_up(read_event(event, Crashed).machine, is_up=False)

    def restart(self, event: Event) -> None:
        """The supervisor gave it back."""
        self._set_up(read_event(event, Restarted).machine, is_up=True)

    def healed(self, event: Event) -> None:
        """The last fault is over: judge anew from here."""
        self._healing = _Healing(event.at_us, self._view, self._height)
        self._regained.clear()

    def finish(self, run_reason: str) -> CheckResult:
        """Judge; `run_reason` says what ended the run: `stopped` is its own goal, all else came from outside."""
        gone = {**self._halted, **self._stopped}
        live = [node for node, is_up in self._is_up.items() if is_up and node not in gone]
        for node, reason in sorted(self._halted.items()):
            self._tally.compared += 1
            self._tally.fail(f"validator {node} halted: {reason}", validator=node)
        lost = [node for node in sorted({**self._observers, **self._stopped}) if node < self._validators]
        dishonest = self._validators - sum(node < self._validators for node in self._is_up)
        if lost and len(lost) + dishonest > self._validators - self._quorum:
            return self._tally.inconclusive(
                f"{name_validators(lost)} lost their votes to their disks"
                f"{f' beside {dishonest} dishonest' if dishonest else ''}, f is {self._validators - self._quorum}"
            )
        voters = [node for node in live if node < self._validators and node not in self._observers]
        if len(voters) < self._quorum:
            return self._tally.inconclusive(f"{len(voters)} honest validators were live, a quorum is {self._quorum}")
        waiting = [node for node in live if node not in self._regained]
        elapsed = self._view - self._healing.view
        if waiting and elapsed <= self._views_max and run_reason == STOPPED:
            return self._tally.inconclusive(
                f"the run was over {elapsed} views after healing, before {name_validators(waiting)} had a new block"
            )
        for node in live:
            self._judge(node, elapsed, run_reason)
        return self._result() if run_reason == STOPPED else self._judge_unfinished(run_reason)

    def _judge_stillness(self, at_us: int, height: int) -> None:
        """At most f are down at a time: the others go on without them."""
        still_us, self._progress_us = at_us - self._progress_us, at_us
        if self._still_max_us is None:
            return
        self._tally.compared += 1
        if still_us > self._still_max_us:
            self._tally.fail(
                f"nothing new was final for {still_us // 1_000:,} ms before height {height}, at most "
                f"{self._still_max_us // 1_000:,} ms are allowed while a quorum is up and whole",
                height=height,
            )

    def _judge_unfinished(self, run_reason: str) -> CheckResult:
        """A run that was ended from outside has not reached its goal; whether it still moved makes the difference."""
        idle_views = self._view - self._progress_view
        self._tally.compared += 1
        if run_reason == "deadlock" or idle_views > self._views_max:
            self._tally.fail(
                f"nothing new was final in the last {idle_views} views: the run ended by {run_reason} at height "
                f"{self._height}, before its goal",
                views=idle_views,
                height=self._height,
            )
        return self._tally.inconclusive(f"the run ended by {run_reason} at height {self._height}, before its goal")

    def _judge(self, node: int, elapsed: int, run_reason: str) -> None:
        self._tally.compared += 1
        views, _ = self._regained.get(node, (elapsed, 0))
        place = f"after healing at {self._healing.at_us / 1_000_000:.3f} s"
        if node not in self._regained:
            self._tally.fail(
                f"validator {node} finalized nothing new in {elapsed} views {place} (the run ended: {run_reason})",
                validator=node,
                views=elapsed,
            )
        elif views > self._views_max:
            self._tally.fail(
                f"validator {node} finalized a new block {views} views {place}, at most {self._views_max} are allowed",
                validator=node,
                views=views,
            )

    def _result(self) -> CheckResult:
        views = max((views for views, _ in self._regained.values()), default=0)
        time_us = max((time_us for _, time_us in self._regained.values()), default=0)
        start = "healing" if self._healing.at_us else "the start"
        return self._tally.result(
            f"each validator finalized a new block within {time_us // 1_000:,} ms of {start} (views it took: {views})",
            views=views,
            time_us=time_us,
        )

    def _set_up(self, node: int, *, is_up: bool) -> None:
        if node in self._is_up:
            self._is_up[node] = is_up


def judge_faults(requires: Sequence[str], faults: Sequence[FaultOutcome]) -> CheckResult | None:
    """Say whether each fault touched the run that is required, or enabled and may not be idle; None where no such is.

    A required one has to be enabled as well. Not judging is not passing.
    """
    tally = Tally("faults-effective", "inconclusive")
    by_name = {fault.name: fault for fault in faults}
    own = [fault.name for fault in faults if fault.is_enabled and not fault.may_be_idle]
    judged = list(dict.fromkeys((*requires, *own)))
    lacking: list[str] = []
    for name in judged:
        fault = by_name.get(name)
        tally.compared += 1
        if fault is None:
            lacking.append(f"{name} is not in the plan")
        elif not fault.is_enabled:
            lacking.append(f"{name} is switched off")
        elif not fault.count:
            is_past = "was done earlier, and the data directory has no record of its effect"
            lacking.append(f"{name} {is_past if fault.is_past else 'had no effect'}")
    if not judged:
        return None
    if lacking:
        return tally.inconclusive(f"required: {'; '.join(lacking)}")
    counts = {name: by_name[name].count for name in judged}
    effects = ", ".join(
        f"{name} {count:,} times{' (done earlier)' * by_name[name].is_past}" for name, count in counts.items()
    )
    return tally.result(f"each took effect: {effects}", **counts)
