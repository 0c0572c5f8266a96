"""When a disk is written, by the ends of its syncs: at a start, and by what rewrites a file.

A start goes on with the finality that its journal leads to: the log may have had no time for it. A block that the start
has executed again is applied as soon as a sync has covered its operations, so before a third one ends: one may be under
way, and the next one covers it. Without that the validator waits for a later finality, which costs time and no more.

What rewrites a file, such as the pruning of a journal, is durable at once. A sync under way would count for bytes of
the new file that it does not cover; so it waits until none is. The length of a sync is in the trace as it ends, so that
what was written in the midst of it is known then.

A block is on the disk before its certification is reported, and that is on the disk before a vote makes the block
final. So where votes follow certificates, a vote leaves a sync later than the certificate that asked for the block. One
that comes with the same sync rests on a block that this very sync was to store, and a torn write might have lost.

All are parts of the check `write-ahead`, whose tally gets their failures.
"""

from typing import Final, NamedTuple

from checker.checks.observations import short
from checker.checks.rules.engine_rules import EngineRules
from checker.results import CheckTally
from faults.events import DiskSynced
from network.clock import MILLION
from network.events import Event, WorkFinished
from network.types import Micros, NodeId
from validators.events import BlockExecuted, BlockFinalized, Booted, CertificateHeld, Voted

DISK: Final = "disk"

SYNCS_MAX: Final = 2
"""Syncs that end between a start and the block that its journal has as final: one under way, and the block's own."""


class _Known(NamedTuple):
    """A block that the journal of a start has as final."""

    view: int
    digest: bytes


class StartedFinality:
    """Requires of each start that it applies in time the final block of its journal, if it has executed it again.

    Args:
        tally: Gets the failures.
        rules: Those of the engine.
    """

    def __init__(self, tally: CheckTally, rules: EngineRules) -> None:
        self._tally = tally
        self._rules = rules
        self._executed: dict[NodeId, dict[bytes, int]] = {}
        """By replica that starts, the blocks that it has executed again, with their heights."""
        self._known: dict[NodeId, _Known] = {}
        """By replica that starts, the newest finality of its journal."""
        self._due: dict[NodeId, tuple[_Known, int]] = {}
        """By replica the block that it has to apply, and its height."""
        self._ended: dict[NodeId, int] = {}
        """By such a replica, the number of syncs that have ended since."""

    def restart(self, node: NodeId) -> None:
        """A replica reads its disk."""
        self.forget(node)
        self._executed[node] = {}

    def execute(self, event: Event, block: BlockExecuted) -> None:
        """Note a block that a start executes."""
        if block.mode == "recover" and event.node in self._executed:
            self._executed[event.node][block.digest] = block.height

    def hold(self, event: Event, held: CertificateHeld) -> None:
        """Note a finality that a start finds; one that comes later may have the replica do something else first."""
        node = event.node
        if held.certificate != self._rules.finality:
            return
        if node not in self._executed:
            # Blocks that a start finds may make one final whose ancestors are not here, and have to be fetched first.
            if not self._rules.is_final_by_votes:
                self._due.pop(node, None)
        elif node not in self._known or held.view > self._known[node].view:
            self._known[node] = _Known(held.view, held.payload)

    def boot(self, event: Event, booted: Booted) -> None:
        """Expect the block from now on."""
        executed, known = self._executed.pop(event.node, {}), self._known.pop(event.node, None)
        height = 0 if known is None else executed.get(known.digest, 0)
        if known is not None and height > booted.finalized_height:
            self._due[event.node] = known, height
            self._ended[event.node] = 0

    def finalize(self, event: Event, block: BlockFinalized) -> None:
        """See that it is applied."""
        due = self._due.get(event.node)
        if due is not None and block.height >= due[1]:
            del self._due[event.node]

    def end_sync(self, event: Event) -> None:
        """Count the syncs until then."""
        due = self._due.get(event.node)
        if due is None:
            return
        self._ended[event.node] += 1
        if self._ended[event.node] > SYNCS_MAX:
            del self._due[event.node]
            known, height = due
            self._tally.fail(
                f"validator {event.node} started with block {short(known.digest)} of height {height} executed and its "
                f"finality of view {known.view} in its journal, and has not applied it {SYNCS_MAX} syncs later",
                validator=event.node,
                height=height,
            )

    def forget(self, node: NodeId) -> None:
        """A replica has stopped, or has lost its power."""
        for kept in (self._executed, self._known, self._due, self._ended):
            kept.pop(node, None)


class Rewrites:
    """Requires that no file is rewritten while a sync is under way."""

    def __init__(self, tally: CheckTally) -> None:
        self._tally = tally
        self._written_us: dict[NodeId, Micros] = {}

    def write(self, event: Event, _synced: DiskSynced) -> None:
        """Note when something has become durable."""
        self._written_us[event.node] = event.at_us

    def end_sync(self, event: Event, work: WorkFinished) -> None:
        """Compare that with the time of the sync that ends now, which makes its own bytes durable only then."""
        begun_us = event.at_us - work.base_us - work.extra_us
        written_us = self._written_us.get(event.node, begun_us)
        if begun_us < written_us < event.at_us:
            self._tally.fail(
                f"validator {event.node} rewrote a file at {written_us / MILLION:.6f} s, in the midst of the sync that "
                f"began at {begun_us / MILLION:.6f} s",
                validator=event.node,
                at_us=written_us,
            )

    def forget(self, node: NodeId) -> None:
        """A start writes while nothing is under way."""
        self._written_us.pop(node, None)


class CertifiedVotes:
    """Requires that a sync ends between a certificate and the vote to make its block final.

    Args:
        tally: Gets the failures.
        rules: Those of the engine.
    """

    def __init__(self, tally: CheckTally, rules: EngineRules) -> None:
        self._tally = tally
        self._rules = rules
        self._ended: dict[NodeId, int] = {}
        """By replica, the number of its syncs."""
        self._held: dict[NodeId, dict[int, int]] = {}
        """By replica and view, the number of syncs as the certificate was held; none that a start reads back."""

    def end_sync(self, event: Event) -> None:
        """Count a sync."""
        self._ended[event.node] = self._ended.get(event.node, 0) + 1

    def hold(self, event: Event, held: CertificateHeld) -> None:
        """Note a certificate that leads to a certification."""
        if held.certificate == self._rules.certified_by:
            self._held.setdefault(event.node, {})[held.view] = self._ended.get(event.node, 0)

    def vote(self, event: Event, vote: Voted) -> None:
        """Compare a vote that can make a block final."""
        held = self._held.get(event.node, {}).pop(vote.view, None) if self._rules.makes_final(vote) else None
        if held is not None and held == self._ended.get(event.node, 0):
            self._tally.fail(
                f"validator {event.node} voted to {vote.vote} view {vote.view} in the sync that brought the "
                f"{self._rules.certified_by}, and its block can have been durable no sooner",
                validator=event.node,
                view=vote.view,
            )

    def forget(self, node: NodeId) -> None:
        """A start reads its certificates back, and casts the votes of its journal again."""
        self._held.pop(node, None)
