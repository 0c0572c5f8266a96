"""The world of a run, by its trace so far: lives of replicas, their clocks, and messages under way.

Checks ask it (`self.run.world`) instead of following lives, pauses and messages themselves. It sees each event before
the checks do (`checker.checks.suite`): when a check handles a crash, the life is over.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from checker.checks.planned import PlannedFault, PlannedRun
from faults.events import ApplicationLost, ApplicationReplaced, ClockSet, Crashed, Restarted, TransactionSubmitted
from network.clock import MILLION
from network.events import (
    AlarmElapsed,
    Delivered,
    Dropped,
    Event,
    Handlers,
    Lost,
    Sent,
    TimerElapsed,
    WorkFinished,
)
from network.types import NodeId
from validators.events import DIVERGED, BlockExecuted, Booted, Entered, Halted, PeerAdmitted, PeerBlocked

SLACK_US: Final = 5 * MILLION
"""The time that every replica has beyond a deadline, for earlier work on signatures, syncs and blocks."""

NEVER_US: Final = 1 << 62
"""A time after all runs."""

_Value = TypeVar("_Value")


@dataclass(slots=True, eq=False)
class Life:
    """A life of a replica, from its first start to a crash or a halt.

    `starts` is the number of times that the replica has read its disk: it reads the disk again if the state that it
    got from a peer was damaged.
    """

    starts: int = 1


class Inbound(NamedTuple):
    """The last event at a replica; `peer` is -1 where it is no message.

    Attributes:
        peer: The sender.
        label: The kind of the message.
        is_whole: Whether the message came with the checksum with which it left; False for a copy.
    """

    peer: NodeId = -1
    label: str = ""
    is_whole: bool = False


NO_MESSAGE: Final = Inbound()


class RunWorld:
    """The replicas and messages of one run.

    Args:
        plan: The plan of the run.
        honest: Numbers of the replicas that the checks cover.
    """

    def __init__(self, plan: PlannedRun, honest: Sequence[NodeId]) -> None:
        self._honest = dict.fromkeys(honest)
        self._paused, self._hindered = plan.paused(), plan.hindered()
        self._lives: dict[NodeId, Life] = {}
        self._starts: dict[NodeId, int] = {}
        self._views: dict[NodeId, int] = {}
        self._on_way: dict[tuple[NodeId, NodeId], dict[int, bytes]] = {}
        """By link the checksums of the messages on their way, by their ordinals."""
        self._inbound: dict[NodeId, Inbound] = {}
        self._harmed: dict[NodeId, dict[NodeId, None]] = {}
        self._cut_off: dict[NodeId, dict[NodeId, None]] = {}
        self._ever_cut_off: dict[tuple[NodeId, NodeId], None] = {}
        self.outages: list[PlannedFault] = []
        """The times in which replicas were down because they had lost their applications."""
        self.fastest_ppm = 0
        """The rate by which the fastest clock of a machine is ahead."""
        self.has_set_clocks = False
        """Whether the plan has set a clock of a machine."""
        self._builds, self._running = plan.builds, dict(enumerate(plan.builds.at_first))
        self._outdated: dict[bytes, dict[NodeId, None]] = {}
        """By block above the rules of a build, the replicas with this build that executed it as its header says."""
        self.left_behind: dict[NodeId, int] = {}
        """By replica with an outdated build of the application, the height at which it first differed from a newer."""
        self.strayed: dict[NodeId, None] = {}
        """Replicas that were left behind at any time: their votes meanwhile are unknown here."""

    @property
    def handlers(self) -> Handlers:
        """Lives, clocks, views, messages, and all else that comes to a replica."""
        return {
            Booted: self._boot,
            Crashed: self._crash,
            ApplicationLost: self._lose_application,
            Restarted: self._restart,
            Halted: self._halt,
            ClockSet: self._set_clock,
            Entered: self._enter,
            PeerBlocked: self._block,
            PeerAdmitted: self._admit,
            Sent: self._send,
            Delivered: self._deliver,
            Dropped: self._drop,
            Lost: self._lose,
            TimerElapsed: self._take_other,
            AlarmElapsed: self._take_other,
            WorkFinished: self._take_other,
            TransactionSubmitted: self._take_transaction,
        }

    @property
    def upgrades(self) -> Handlers:
        """Builds of an application, and the replicas that an upgrade leaves behind: nobody judges them any more."""
        if not self._builds.named:
            return {}
        replaced: Handlers = {ApplicationReplaced: self._replace}
        may_differ = any(self._builds.outdated_from(build) is not None for build in self._builds.differ_from)
        return {**replaced, BlockExecuted: self._fall_behind} if may_differ else replaced

    def life(self, node: NodeId) -> Life | None:
        """Return the life of a replica that serves, None before its start and after its end."""
        return self._lives.get(node)

    def starts(self, node: NodeId) -> int:
        """Return how often a replica has started, over all its lives."""
        return self._starts.get(node, 0)

    def view(self, node: NodeId) -> int:
        """Return the greatest view that a replica was in."""
        return self._views.get(node, 0)

    def is_honest(self, node: NodeId) -> bool:
        """Return whether the checks cover a replica."""
        return node in self._honest

    def build(self, node: NodeId) -> str:
        """Return the build of the application that a replica runs, empty if there is only one."""
        return self._running.get(node, "") if self._builds.named else ""

    def named(self, node: NodeId) -> str:
        """Return a replica in words, with its build of the application if there are several."""
        build = self.build(node)
        return f"validator {node} (build {build})" if build else f"validator {node}"

    def is_outdated(self, node: NodeId, height: int) -> bool:
        """Return whether a newer build than a replica's may differ from it at a height."""
        return self._builds.is_outdated(self._running.get(node, ""), height)

    def has_outdated(self, height: int) -> bool:
        """Return whether any replica's build is outdated at a height."""
        return any(self._builds.is_outdated(build, height) for build in self._running.values())

    def is_paused(self, node: NodeId) -> bool:
        """Return whether the plan ever holds back a replica's events: it may handle them at any later time."""
        return node in self._paused

    def is_hindered(self, node: NodeId) -> bool:
        """Return whether the plan ever pauses a replica or slows its work, or its application is lost now."""
        return node in self._hindered or any(node in each.nodes and each.stop_us == NEVER_US for each in self.outages)

    def inbound(self, node: NodeId) -> Inbound:
        """Return the message that a replica got last, `NO_MESSAGE` if something else came after it.

        Handling takes no time, so a replica that is not paused refuses, answers and does what this asks for.
        """
        return self._inbound.get(node, NO_MESSAGE)

    def harmed(self, node: NodeId) -> dict[NodeId, None]:
        """Return the honest peers from which a damaged message or a copy came to a replica."""
        return self._harmed.get(node, {})

    def cut_off(self, node: NodeId) -> dict[NodeId, None]:
        """Return the peers that a replica has cut off at present."""
        return self._cut_off.get(node, {})

    def has_cut_off(self, node: NodeId, peer: NodeId) -> bool:
        """Return whether a replica has ever cut off a peer."""
        return (node, peer) in self._ever_cut_off

    def _boot(self, event: Event, booted: Booted) -> None:
        node = event.node
        self._starts[node] = self.starts(node) + 1
        self._views[node] = max(self.view(node), booted.view)
        if (life := self._lives.get(node)) is None:
            self._lives[node] = Life()
        else:
            life.starts += 1

    def _crash(self, _event: Event, crashed: Crashed) -> None:
        self._lives.pop(crashed.machine, None)
        self._cut_off.pop(crashed.machine, None)

    def _block(self, event: Event, blocked: PeerBlocked) -> None:
        self._cut_off.setdefault(event.node, {})[blocked.peer] = None
        self._ever_cut_off[event.node, blocked.peer] = None

    def _admit(self, event: Event, admitted: PeerAdmitted) -> None:
        self.cut_off(event.node).pop(admitted.peer, None)

    def _lose_application(self, event: Event, lost: ApplicationLost) -> None:
        self.outages.append(PlannedFault("application", event.at_us, NEVER_US, (lost.machine,)))

    def _restart(self, event: Event, restarted: Restarted) -> None:
        self.outages = [
            each._replace(stop_us=min(each.stop_us, event.at_us)) if restarted.machine in each.nodes else each
            for each in self.outages
        ]

    def _replace(self, _event: Event, replaced: ApplicationReplaced) -> None:
        self._running[replaced.machine] = replaced.build
        self.left_behind.pop(replaced.machine, None)

    def _fall_behind(self, event: Event, block: BlockExecuted) -> None:
        node, height = event.node, block.height
        taken = self._outdated.setdefault(block.digest, {}) if self.has_outdated(height) else {}
        differs = block.mode == DIVERGED
        if self.is_outdated(node, height) and not differs:
            taken[node] = None
            return
        # One of them differs: the outdated replica that refuses the block, or those with whose roots it was made.
        for behind in [node] if self.is_outdated(node, height) else list(taken) if differs else []:
            if behind not in self.left_behind and self.is_outdated(behind, height):
                self.left_behind[behind], self.strayed[behind] = height, None
                self.outages.append(PlannedFault("application", event.at_us, NEVER_US, (behind,)))

    def _halt(self, event: Event, _halted: Halted) -> None:
        self._lives.pop(event.node, None)

    def _set_clock(self, _event: Event, clock: ClockSet) -> None:
        self.has_set_clocks = True
        self.fastest_ppm = max(self.fastest_ppm, clock.ppm)

    def _enter(self, event: Event, entered: Entered) -> None:
        self._views[event.node] = max(self.view(event.node), entered.view)

    def _send(self, event: Event, sent: Sent) -> None:
        self._on_way.setdefault((event.node, sent.destination), {})[sent.ordinal] = sent.checksum

    def _deliver(self, event: Event, delivered: Delivered) -> None:
        node, peer = event.node, delivered.source
        # A copy has an ordinal of its own, and counts as damaged.
        is_whole = self._on_way.get((peer, node), {}).pop(delivered.ordinal, None) == delivered.checksum
        self._inbound[node] = Inbound(peer, delivered.label, is_whole)
        if not is_whole and peer in self._honest:
            self._harmed.setdefault(node, {})[peer] = None

    def _drop(self, event: Event, dropped: Dropped) -> None:
        self._on_way.get((event.node, dropped.destination), {}).pop(dropped.ordinal, None)

    def _lose(self, event: Event, lost: Lost) -> None:
        self._on_way.get((lost.source, event.node), {}).pop(lost.ordinal, None)

    def _take_other(self, event: Event, _other: TimerElapsed | AlarmElapsed | WorkFinished) -> None:
        self._inbound[event.node] = NO_MESSAGE

    def _take_transaction(self, _event: Event, submitted: TransactionSubmitted) -> None:
        self._inbound[submitted.validator] = NO_MESSAGE


class OfLives(Generic[_Value]):
    """A value for each replica that lives, made anew with each of its lives.

    Args:
        world: The world, with the lives.
        make: Makes the value of a replica.
        each_start: Whether a value is made anew where a replica reads its disk again in the midst of a life.
    """

    def __init__(self, world: RunWorld, make: Callable[[NodeId], _Value], *, each_start: bool = False) -> None:
        self._world = world
        self._make = make
        self._each_start = each_start
        self._kept: dict[NodeId, tuple[Life, int, _Value]] = {}

    def get(self, node: NodeId) -> _Value | None:
        """Return the value of a replica's present life, None for a replica that does not serve."""
        life = self._world.life(node)
        if life is None:
            self._kept.pop(node, None)
            return None
        start = life.starts if self._each_start else 1
        kept_life, kept_start, value = self._kept.get(node, (None, 0, None))
        if kept_life is not life or kept_start != start or value is None:
            value = self._make(node)
            self._kept[node] = life, start, value
        return value
