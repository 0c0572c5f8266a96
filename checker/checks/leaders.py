"""Leader election: the engine's rule gives every view its leader, and only a block of this leader becomes final."""

from collections.abc import Iterable, Iterator

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.checks.rules.registry import RULES
from checker.observations import short
from checker.record.engine_calls import RecordedLife
from checker.record.run_directory import read_branches
from checker.results import CheckResult
from network.events import Event, Handlers, OfLabels, Sent
from validators.consensus.interface import BlockRef, Judge, Judged, Question
from validators.events import Booted, Entered
from validators.execution.blocks import decode_block


class Leaders(Check):
    """Each view has the leader that its engine's rule gives, and the proposer of a final block leads its view.

    `checker/checks/rules/` restates the rule; for Simplex: validator (epoch + view) mod n. Where a lottery gives a
    slot to nobody, nobody leads the slot and none of its blocks is final. A validator that waits for another leader
    than its peers do gives up views that are sound; a validator that takes blocks from another leader lets a wrong
    validator propose. A block of an honest leader, final or not, stands on a block of an earlier view. A block that
    a validator takes for valid stands on the parent that its engine asked about.
    """

    name = "leaders"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._leader_of = RULES[run.engine].leader_of
        self._led: dict[int, None] = {}
        self._relayed: dict[tuple[int, int], bytes] = {}

    @property
    def handlers(self) -> Handlers:
        """Views that are entered, blocks that are proposed in them, and starts."""
        relays = OfLabels(lambda label: label == "BlockRelay", self.sent)
        return {Entered: self.entered, Sent: relays, Booted: self.booted}

    def leader_of(self, view: int) -> int | None:
        """Return the leader of a view."""
        return self._leader_of(view, self.run.validators, self.run.plan)

    def entered(self, event: Event, entered: Entered) -> None:
        """Compare the leader that a validator reports for a view with the rule."""
        expected = self.leader_of(entered.view)
        reported = entered.leader if entered.leader >= 0 else None
        self.tally.compared += 1
        if expected is not None:
            self._led[expected] = None
        if reported != expected:
            self.tally.fail(
                f"validator {event.node} takes {_name(reported)} for the leader of view {entered.view}; "
                f"expected {_name(expected)}",
                validator=event.node,
                view=entered.view,
                leader=entered.leader,
            )

    def sent(self, event: Event, sent: Sent) -> None:
        """Compare a proposed block with earlier proposals of its leader in the view, in earlier lives as well."""
        if sent.view is None:
            return
        earlier = self._relayed.setdefault((event.node, sent.view), sent.checksum)
        if earlier != sent.checksum:
            self.tally.fail(
                f"validator {event.node} proposed two blocks in view {sent.view}",
                validator=event.node,
                view=sent.view,
            )

    def booted(self, event: Event, booted: Booted) -> None:
        """Forget blocks of views that the disk does not hold: no vote for them was sent, so others may follow."""
        # A journal in the first view may be empty and hold no view.
        last_view = booted.view if booted.view > 1 else 0
        known = self._relayed.items()
        self._relayed = {key: sent for key, sent in known if key[0] != event.node or key[1] <= last_view}

    def settle(self, block: SettledBlock) -> None:
        """Check the proposer of a final block."""
        header = block.header
        expected = self.leader_of(header.view)
        self.tally.compared += 1
        if header.proposer != expected:
            self.tally.fail(
                f"validator {header.proposer} proposed the block of height {header.height} in view {header.view}; "
                f"expected {_name(expected)}",
                height=header.height,
                view=header.view,
                validator=header.proposer,
            )

    def _judge_parents(self) -> None:
        """Compare the parents of all executed blocks: their views, and the parents that engines asked about."""
        if self.run.end.record is None:
            return
        branches = (branch for _, branch in read_branches(self.run.end.record) if not branch.refusal)
        headers = {branch.digest: decode_block(branch.block).header for branch in branches}
        honest = dict.fromkeys(self.run.honest)
        for header in headers.values():
            below = headers.get(header.parent)
            if below is not None and header.proposer in honest:
                self.tally.compared += 1
                if header.view <= below.view:
                    self.tally.fail(
                        f"validator {header.proposer} built a block of height {header.height} in view {header.view} "
                        f"on a block of view {below.view}",
                        validator=header.proposer,
                        view=header.view,
                    )
        for node, lives in sorted(self.run.engine_calls.items()):
            for block, parent in _verified_in(lives):
                verified = headers.get(block.digest)
                if verified is not None:
                    self.tally.require(
                        verified.parent == parent.digest,
                        f"validator {node} verified block {short(block.digest)} of view {block.view}, which stands on "
                        f"block {short(verified.parent)}; expected the parent {short(parent.digest)} of its proposal",
                        validator=node,
                        view=block.view,
                    )

    def finish(self) -> CheckResult:
        """Return the result."""
        self._judge_parents()
        return self.tally.result(
            f"{self.tally.compared:,} views entered and final blocks, {len(self._led)} validators had their turns"
        )


def _verified_in(lives: Iterable[RecordedLife]) -> Iterator[tuple[BlockRef, BlockRef]]:
    """Yield the blocks that an engine learned to be valid in its lives, each with the parent that it asked about."""
    for life in lives:
        asked: dict[BlockRef, BlockRef] = {}
        for _, name, values in life.kept:
            if name == "step":
                event, effects = values
                if isinstance(event, Judged) and event.question is Question.VERIFY and event.ok and event.ref in asked:
                    yield event.ref, asked[event.ref]
                for effect in effects:
                    if isinstance(effect, Judge) and effect.question is Question.VERIFY and effect.parent is not None:
                        asked[effect.ref] = effect.parent


def _name(leader: int | None) -> str:
    return "nobody" if leader is None else f"validator {leader}"
