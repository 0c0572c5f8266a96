"""The vote of a restarted validator that may never have left: it is the first one that its new life sends.

A crash can come between the sync of a vote and its sending. The journal has the vote then, and only the new life can
send it; where it does not, the view waits for a timeout, and another quorum makes up for it.

HotStuff sends its last vote, of the view in which the new life begins or the one before, as its disk gives the block
back. A vote that only the journal knows may leave in its place, and need not: the crash may have lost its block. The
leader of the next view counts its own last vote: the trace has it again before any other.
"""

from typing import ClassVar

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.repairs import BLOCKS
from checker.checks.rules.hotstuff import HOTSTUFF_RULES, HOTSTUFF_VOTE, HOTSTUFF_VOTE_WORD
from checker.checks.rules.simplex import SIMPLEX_RULES
from checker.results import CheckResult, ExitClass
from faults.events import Restarted
from network.events import Event, Handlers, Sent
from validators.events import DamageFound, Entered, SnapshotJoined, StoppedVoting, Voted

_VOTES = ("Notarize", "Nullify", "Finalize")


class KeptVotes(Check):
    """A validator that restarts in a view that it has voted for a block of sends that vote before any other."""

    name = "kept-votes"
    exit_class: ClassVar[ExitClass] = "liveness"
    engines = (SIMPLEX_RULES.name, HOTSTUFF_RULES.name)

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._is_hotstuff = run.engine == HOTSTUFF_RULES.name
        self._votes = (HOTSTUFF_VOTE,) if self._is_hotstuff else _VOTES
        self._notarized: dict[tuple[int, int], None] = {}
        self._last: dict[int, int] = {}
        self._recorded: dict[int, int] = {}
        self._restarted: dict[int, None] = {}
        self._owed: dict[int, int] = {}
        self._begun: dict[int, int] = {}
        """By validator the view in which its life began."""
        self._uncounted: dict[int, int] = {}
        """By validator the last vote of an earlier life that it has to count itself."""

    @property
    def handlers(self) -> Handlers:
        """Restarts, the views in which they end, and votes."""
        return {
            Restarted: self.restart,
            Entered: self.entered,
            Voted: self.vote,
            Sent: self.sent,
            StoppedVoting: self.stopped,
            SnapshotJoined: self.joined,
            DamageFound: self.damaged,
        }

    def not_asked(self) -> str:
        """Return a reason where no validator restarted in a view that it had voted in."""
        return "" if self.tally.compared else "no validator restarted in a view that it had voted in"

    def restart(self, _event: Event, restarted: Restarted) -> None:
        """A new life begins."""
        self._restarted[restarted.machine] = None
        self._recorded.pop(restarted.machine, None)
        self._forget(restarted.machine)

    def vote(self, event: Event, vote: Voted) -> None:
        """Remember a notarize that was sent, or found in a journal."""
        if vote.vote == "notarize":
            self._notarized[event.node, vote.view] = None
        elif vote.vote == HOTSTUFF_VOTE_WORD:
            self._compare_counted(event.node, vote.view)
            self._count(event.node, vote.view)
            (self._recorded if event.node in self._restarted else self._last)[event.node] = vote.view

    def stopped(self, event: Event, _stopped: StoppedVoting) -> None:
        """A validator without its journal has no vote to send."""
        self._restarted.pop(event.node, None)
        self._forget(event.node)

    def joined(self, event: Event, _joined: SnapshotJoined) -> None:
        """The blocks that its disk would have given back are below the snapshot's."""
        self._forget(event.node)

    def damaged(self, event: Event, damage: DamageFound) -> None:
        """The disk may not give the block back; it is read before the first view of a life."""
        if damage.file == BLOCKS:
            self._restarted.pop(event.node, None)
        self._forget(event.node)

    def entered(self, event: Event, entered: Entered) -> None:
        """Note the vote that a restarted validator owes: that of the first view of its life."""
        if self._restarted.pop(event.node, event) is not None:
            return
        if (event.node, entered.view) in self._notarized:
            self._owed[event.node] = entered.view
        elif self._is_hotstuff and event.node not in self.run.disk_faults.destroyed:
            self._begun[event.node] = entered.view
            self._owe_last(event.node, entered.view)

    def sent(self, event: Event, sent: Sent) -> None:
        """Compare the first vote of a life with the one that is owed."""
        if sent.label in self._votes and event.node in self._owed:
            view = self._owed.pop(event.node)
            self.tally.compared += 1
            if sent.label != self._votes[0] or sent.view not in (view, self._recorded.get(event.node)):
                when = "after its vote in view" if self._is_hotstuff else "in view"
                deed = "" if self._is_hotstuff else ", which it had notarized,"
                self.tally.fail(
                    f"validator {event.node} restarted {when} {view}{deed} and sent a {sent.label} of view {sent.view} "
                    "first",
                    validator=event.node,
                    view=view,
                )

    def _owe_last(self, node: int, view: int) -> None:
        """Note the last vote, unless it is of a view that is over; the seal of a leader's own block brings its vote."""
        last = self._last.get(node, -1)
        leader, next_leader = (
            HOTSTUFF_RULES.leader_of(each, self.run.validators, self.run.plan) for each in (last, last + 1)
        )
        recorded = self._recorded.get(node, 0)
        is_own = HOTSTUFF_RULES.leader_of(recorded, self.run.validators, self.run.plan) == node
        # Where the journal has a later one, for an own block or on a torn disk, the crash may have lost its block.
        is_replaced = recorded > last and (is_own or node in self.run.disk_faults.touched)
        if last < max(view - 1, 1) or is_replaced:
            return
        if next_leader != node:
            self._owed[node] = last
        elif leader != node:
            self._uncounted[node] = last

    def _count(self, node: int, view: int) -> None:
        """Owe no vote any more once a later one of the same start is counted, which the journal alone knew."""
        collector = HOTSTUFF_RULES.leader_of(view + 1, self.run.validators, self.run.plan)
        if self._owed.get(node, view) < view <= self._begun[node] and collector == node:
            self._owed.pop(node)

    def _compare_counted(self, node: int, view: int) -> None:
        """Compare the first vote of a life with one that the validator itself has to count."""
        if node not in self._uncounted:
            return
        last = self._uncounted.pop(node)
        self.tally.require(
            view in (last, self._recorded.get(node)),
            f"validator {node} restarted after its vote in view {last}, which it had to count, and voted in view {view}"
            " first",
            validator=node,
            view=last,
        )

    def _forget(self, node: int) -> None:
        self._owed.pop(node, None)
        self._uncounted.pop(node, None)

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(f"{self.tally.compared:,} restarts in a notarized view began with that vote")
