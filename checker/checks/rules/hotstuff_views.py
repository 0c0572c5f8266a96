"""Views of HotStuff: the way of votes, the grounds of proposals, following others, and the waits."""

from typing import Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import ORDINALS
from checker.checks.rules.hotstuff import HOTSTUFF_RULES
from checker.results import CheckResult
from faults.events import Crashed
from network.events import Delivered, Event, Handlers, OfLabels, Sent, TimerElapsed
from validators.consensus.hotstuff.kind import HOTSTUFF, NEW_VIEW_WORD, VOTE_WORD
from validators.consensus.hotstuff.messages import BlockVote, NewView, ViewTimeout
from validators.events import CertificateHeld, Entered, Halted, Reported, StoppedVoting, Voted
from validators.messages import BlockRelay

_TIMER: Final = ("consensus", "view")
"""The first parts of the key of a view's timer; the last one is the view."""

_PROOF_VIEWS: Final = (1, 2)
"""The certificate of a proof is so many views above the block that it makes final."""


_LEAVINGS: Final = (NewView.traced_name, ViewTimeout.traced_name)
_WATCHED: Final = (*_LEAVINGS, BlockVote.traced_name, BlockRelay.traced_name)

_SYNCS: Final = 3
_SPARE_US: Final = 200_000
"""A message that leaves as a view expires waits for the sync under way and for its own."""


class _Pace:
    """One validator's view, and how often views were given up since a new certificate."""

    def __init__(self) -> None:
        self.view = 0
        self.armed = 0
        """Views that the wait under way can have seen expire at most."""
        self.elapsed: list[int] = []
        """Views that expired, above the highest certificate that is known to be here."""
        self.reported = 0
        """Views that expired since one was entered otherwise, maybe by a certificate."""
        self.expired_us = -1
        self.reasons: list[tuple[str, int]] = []
        """Reasons to give a view up, and that view, whose messages have not left yet."""
        self.owed: dict[int, int] = {}
        """By view that expired, when that has to have been said, be it once more."""


class ViewChanges(Check):
    """Votes go to the next leader, and views begin, are followed and are given up as the pacemaker has it.

    A leader proposes with the certificate of the view before, or after the NEW-VIEW of a quorum came to it, its own
    counted; a validator follows f + 1 others; the wait doubles with each view that expires, up to its cap, and is the
    first one again after a new certificate. A Byzantine validator can have said anything, so that it counts as one of
    the others, as a leader's once a NEW-VIEW of its has come.

    Each time that a view expires its NEW-VIEW or TIMEOUT goes out, in two-chain the same one again: one that was lost
    must not be the last word. Not judged by that are replicas that the plan pauses or slows, or whose disks it touches.
    """

    name = "view-changes"
    engines = (HOTSTUFF.name,)

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._faults = (run.validators - 1) // 3
        self._honest = [node for node in run.honest if node < run.validators]
        self._byzantine = run.validators - len(self._honest)
        self._said: dict[int, dict[int, None]] = {node: {} for node in self._honest}
        """The views that validators have named in NEW-VIEW or TIMEOUT."""
        self._grounds: dict[tuple[int, int], None] = {}
        """Validators and views that they hold a certificate of."""
        self._on_way: dict[tuple[int, int, int], int] = {}
        """The view that a NEW-VIEW names, by its sender, destination and ordinal."""
        self._came: dict[int, dict[tuple[int, int], None]] = {node: {} for node in self._honest}
        """By validator the signers and views of each NEW-VIEW that came in this life; view 0 if it is not known."""
        self._proposed: dict[tuple[int, int], None] = {}
        self._paces = {node: _Pace() for node in self._honest}
        self._quiet = run.plan.hindered() | dict.fromkeys(run.disk_faults.touched)
        """Validators that need not repeat anything in time."""

    @property
    def handlers(self) -> Handlers:
        """Messages, certificates, views and timers of validators."""
        return {
            Sent: OfLabels(_WATCHED.__contains__, self.sent),
            Delivered: OfLabels(NewView.traced_name.__eq__, self.delivered),
            Voted: self.voted,
            CertificateHeld: self.held,
            Entered: self.entered,
            Reported: self.reported,
            TimerElapsed: self.elapsed,
            Crashed: self.crashed,
            Halted: self.silenced,
            StoppedVoting: self.silenced,
        }

    @property
    def is_asked(self) -> bool:
        """A single validator sends nothing, and may never have to wait."""
        return self.run.validators > 1 or self.tally.compared > 0

    def sent(self, event: Event, sent: Sent) -> None:
        """Require of a vote that it goes to the next leader, and of a proposal that the view before is over."""
        node, view = event.node, sent.view
        if view is None or node not in self._paces:
            return
        if sent.label in _LEAVINGS:
            self._require_repeats(node, event.at_us, said_view=view)
            self._on_way[node, sent.destination, sent.ordinal] = view
        if sent.label == BlockVote.traced_name:
            leader = HOTSTUFF_RULES.leader_of(view + 1, self.run.validators, self.run.plan)
            self._require(
                sent.destination == leader, node, view, f"sent its vote to {sent.destination}, and {leader} leads next"
            )
        elif (
            sent.label == BlockRelay.traced_name
            and HOTSTUFF_RULES.leader_of(view, self.run.validators, self.run.plan) == node
        ):
            self._judge_proposal(node, view)

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note who enters a view by what came, damaged or not."""
        if event.node in self._came:
            view = self._on_way.get((delivered.source, event.node, delivered.ordinal & ORDINALS), 0)
            self._came[event.node][delivered.source, view] = None

    def _judge_proposal(self, node: int, view: int) -> None:
        if (node, view) in self._proposed:
            return
        self._proposed[node, view] = None
        own = {node: None} if view in self._said[node] else {}
        entering = len({signer: None for signer, named in self._came[node] if named in (0, view)} | own)
        is_grounded = view == 1 or (node, view - 1) in self._grounds or entering >= self.run.validators - self._faults
        deed = f"proposed, and held no certificate of view {view - 1}; {entering} had told it that they enter"
        self._require(is_grounded, node, view, deed)

    def voted(self, event: Event, vote: Voted) -> None:
        """Require of a view that is given up that it expired, or that f + 1 others are as far."""
        node = event.node
        if vote.vote == VOTE_WORD or node not in self._paces:
            return
        self._said[node][vote.view] = None
        reasons = self._paces[node].reasons
        if not reasons:
            return
        reason, view = reasons.pop(0)
        if reason == "ViewExpired":
            expected = view + (vote.vote == NEW_VIEW_WORD)
            self._require(vote.view == expected, node, view, f"expired, and its {vote.vote} names view {vote.view}")
            return
        others = [other for other in self._paces if other != node and max(self._said[other], default=0) >= vote.view]
        count = len(others) + self._byzantine
        self._require(count > self._faults, node, vote.view, f"followed others, and {count} had said so")

    def held(self, event: Event, held: CertificateHeld) -> None:
        """Note a certificate, and that the waits begin anew."""
        if (pace := self._paces.get(event.node)) is None:
            return
        above = _PROOF_VIEWS if held.certificate == "commit" else (0,)
        self._grounds |= {(event.node, held.view + views): None for views in above}
        if held.certificate == "quorum-certificate":
            # A slow disk shows a certificate after views that expired behind it.
            pace.elapsed = [view for view in pace.elapsed if view > held.view]
            # One below the present view begins the waits anew as well, and then only the present one expires.
            pace.reported = 0

    def entered(self, event: Event, entered: Entered) -> None:
        """Note the view whose wait begins."""
        if (pace := self._paces.get(event.node)) is not None:
            self._require_repeats(event.node, event.at_us)
            pace.view, pace.armed = entered.view, len(pace.elapsed)
            if pace.expired_us != event.at_us:
                pace.reported = 0

    def reported(self, event: Event, report: Reported) -> None:
        """Note why a view is given up."""
        if (pace := self._paces.get(event.node)) is not None and report.activity == "TimedOut":
            pace.reasons.append((report.detail, report.view))
            if report.detail == "ViewExpired":
                pace.reported, pace.expired_us = pace.reported + 1, event.at_us

    def elapsed(self, event: Event, timer: TimerElapsed) -> None:
        """Require a wait that fits the views that were given up before it."""
        pace, longest_us = self._paces.get(event.node), self.run.plan.view_timeout_max_us
        if pace is None or not longest_us or [*timer.key] != [*_TIMER, pace.view]:
            return
        first_us = self.run.plan.certification_timeout_us
        # A certificate that comes as the view expires is told after that: it takes back what was reported too.
        fewest = min(pace.reported, pace.armed)
        least_us, most_us = (min(first_us << min(n, 32), longest_us) for n in (fewest, pace.armed))
        deed = f"waited for {timer.asked_us // 1_000:,} ms, not {least_us // 1_000:,} to {most_us // 1_000:,} ms"
        self._require(least_us <= timer.asked_us <= most_us, event.node, pace.view, deed)
        pace.elapsed.append(pace.view)
        pace.armed = len(pace.elapsed)
        self._require_repeats(event.node, event.at_us)
        if event.node not in self._quiet and self.run.validators > 1:
            pace.owed[pace.view] = event.at_us + _SYNCS * self.run.plan.costs.sync_us + _SPARE_US

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """Forget what a validator had in memory."""
        if crashed.machine in self._paces:
            self._paces[crashed.machine] = _Pace()
            self._came[crashed.machine].clear()

    def silenced(self, event: Event, _event: Halted | StoppedVoting) -> None:
        """Expect nothing more of a validator that is gone, or says nothing any more."""
        self._quiet[event.node] = None
        if event.node in self._paces:
            self._paces[event.node].owed.clear()

    def _require_repeats(self, node: int, now_us: int, said_view: int = 0) -> None:
        """Require that what was due by now was said in time; a NEW-VIEW names the view after the one that expired."""
        owed = self._paces[node].owed
        for view, due_us in list(owed.items()):
            if now_us > due_us or view <= said_view:
                del owed[view]
                self._require(now_us <= due_us, node, view, f"expired, and that was not said by {due_us:,} us")

    def _require(self, holds: object, node: int, view: int, deed: str) -> None:
        self.tally.require(holds, f"validator {node} in view {view}: {deed}", validator=node, view=view)

    def finish(self) -> CheckResult:
        """Return the result."""
        for node in self._paces:
            self._require_repeats(node, self.run.end.now_us)
        return self.tally.result(
            f"{self.tally.compared:,} votes, proposals, views given up and waits were as they must be"
        )
