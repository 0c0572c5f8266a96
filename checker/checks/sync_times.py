"""Writes of a disk and the ends of its syncs: rewrites of a file wait for a sync, votes for a certified block too.

A rewrite of a file, like the pruning of a journal, is durable at once. It has to wait for the end of a sync under way,
which would otherwise count for bytes of the new file that it does not cover. The trace has the length of a sync at its
end, so the check finds rewrites in the midst of a sync then.

A block is on the disk before its certification is reported, and the certification is on the disk before a vote makes
the block final. So a sync ends between the certificate that asked for the block and the vote. A vote with the same sync
relies on a block that this sync was to store, and that a torn write might have lost.

Both are parts of the check `write-ahead`, whose tally gets their failures.
"""

from typing import Final

from checker.checks.rules.engine_rules import EngineRules
from checker.results import CheckTally
from faults.events import DiskSynced
from network.clock import MILLION
from network.events import Event, WorkFinished
from network.types import Micros, NodeId
from validators.events import CertificateHeld, Voted

DISK: Final = "disk"


class Rewrites:
    """Requires that no file is rewritten while a sync is under way."""

    def __init__(self, tally: CheckTally) -> None:
        self._tally = tally
        self._written_us: dict[NodeId, Micros] = {}

    def write(self, event: Event, _synced: DiskSynced) -> None:
        """Note the time at which a rewrite became durable."""
        self._written_us[event.node] = event.at_us

    def end_sync(self, event: Event, work: WorkFinished) -> None:
        """Require that the rewrite is not within the sync that ends now."""
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
        """Forget rewrites: a start writes while no sync is under way."""
        self._written_us.pop(node, None)


class CertifiedVotes:
    """Requires that a sync ends between a certificate and the vote to make its block final.

    Args:
        tally: Gets the failures.
        rules: The rules of the engine.
    """

    def __init__(self, tally: CheckTally, rules: EngineRules) -> None:
        self._tally = tally
        self._rules = rules
        self._ended: dict[NodeId, int] = {}
        """By replica, the number of its syncs."""
        self._held: dict[NodeId, dict[int, int]] = {}
        """By replica and view, the number of syncs as the certificate was held; except in a start."""

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
        """Forget certificates: a start reads them back, and casts the votes of its journal again."""
        self._held.pop(node, None)
