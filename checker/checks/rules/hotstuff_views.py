"""Views of HotStuff: the way of votes, the grounds of proposals, following others, and the waits."""

from typing import Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.rules.hotstuff import HOTSTUFF_RULES
from checker.results import CheckResult
from faults.events import Crashed
from network.events import Event, Handlers, OfLabels, Sent, TimerElapsed
from validators.consensus.hotstuff.kind import HOTSTUFF, VOTE_WORD
from validators.consensus.hotstuff.messages import BlockVote, ViewTimeout
from validators.events import CertificateHeld, Entered, Halted, Reported, StoppedVoting, Voted
from validators.messages import BlockRelay

_TIMER: Final = ("consensus", "view")
"""The first parts of the key of a view's timer; the last one is the view."""

_PROOF_VIEWS: Final = (1, 2)
"""The certificate of a proof is so many views above the block that it makes final."""


_WATCHED: Final = (ViewTimeout.traced_name, BlockVote.traced_name, BlockRelay.traced_name)

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

    A leader proposes with the certificate of the view before, of its block or of its timeouts; a validator follows
    f + 1 others; the wait doubles with each view that expires, up to its cap, and is the first one again after a new
    certificate. A Byzantine validator can have said anything, so that it counts as one of the others.

    Each time that a view expires its TIMEOUT goes out, be it once more: one that was lost must not be the last word.
    Not judged by that are replicas that the plan pauses or slows, or whose disks it touches.
    """

    name = "view-changes"
    engines = (HOTSTUFF.name,)

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._faults = (run.validators - 1) // 3
        self._honest = [node for node in run.honest if node < run.validators]
        self._byzantine = run.validators - len(self._honest)
        self._said: dict[int, dict[int, None]] = {node: {} for node in self._honest}
        """The views that validators have given up."""
        self._grounds: dict[tuple[int, int], None] = {}
        """Validators and views that they hold a certificate of."""
        self._proposed: dict[tuple[int, int], None] = {}
        self._paces = {node: _Pace() for node in self._honest}
        self._quiet = run.plan.hindered() | dict.fromkeys(run.disk_faults.touched)
        """Validators that need not repeat anything in time."""

    @property
    def handlers(self) -> Handlers:
        """Messages, certificates, views and timers of validators."""
        return {
            Sent: OfLabels(_WATCHED.__contains__, self.sent),
            Voted: self.voted,
            CertificateHeld: self.held,
            Entered: self.entered,
            Reported: self.reported,
            TimerElapsed: self.elapsed,
            Crashed: self.crashed,
            Halted: self.silenced,
            StoppedVoting: self.silenced,
        }

    def not_asked(self) -> str:
        """Return a reason where a single validator sends nothing, and never had to wait."""
        return "" if self.run.validators > 1 or self.tally.compared else "there is no other validator"

    def sent(self, event: Event, sent: Sent) -> None:
        """Require of a vote that it goes to the next leader, and of a proposal that the view before is over."""
        node, view = event.node, sent.view
        if view is None or node not in self._paces:
            return
        if sent.label == ViewTimeout.traced_name:
            self._require_repeats(node, event.at_us, said_view=view)
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

    def _judge_proposal(self, node: int, view: int) -> None:
        if (node, view) in self._proposed:
            return
        self._proposed[node, view] = None
        is_grounded = view == 1 or (node, view - 1) in self._grounds
        self._require(is_grounded, node, view, f"proposed, and held no certificate of view {view - 1}")

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
            self._require(vote.view == view, node, view, f"expired, and its {vote.vote} names view {vote.view}")
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

    def silenced(self, event: Event, _event: Halted | StoppedVoting) -> None:
        """Expect nothing more of a validator that is gone, or says nothing any more."""
        self._quiet[event.node] = None
        if event.node in self._paces:
            self._paces[event.node].owed.clear()

    def _require_repeats(self, node: int, now_us: int, said_view: int = 0) -> None:
        """Require that what was due by now was said in time."""
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
