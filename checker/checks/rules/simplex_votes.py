"""Votes and certificates of Simplex: no contradicting votes, no certificate without its votes, no forbidden pair."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.checks.rules.simplex import SIMPLEX_RULES
from checker.observations import name_signers_of_both, name_validators, short
from checker.results import CheckResult
from network.events import Event, Handlers
from validators.consensus.quorum import quorum_of
from validators.events import CertificateHeld, Reported, StoppedVoting, Uncertified, Voted

VOTE_OF: Final[dict[str, str]] = {"notarization": "notarize", "nullification": "nullify", "finalization": "finalize"}
"""The kind of vote of which each kind of certificate is made."""


class _Place(NamedTuple):
    """A kind of vote or certificate in a view."""

    kind: str
    view: int


class NoDoubleVote(Check):
    """No honest validator ever sends two votes that contradict each other, restarts included.

    Contradictions are two notarize or two finalize votes for different payloads in one view, and nullify beside
    finalize in one view. A validator that has lost its journal does not know its votes: any later vote is a
    contradiction. Evidence that validators hold is against Byzantine validators only.
    """

    name = "no-double-vote"
    engines = (SIMPLEX_RULES.name,)

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._honest = dict.fromkeys(run.honest)
        self._observers: dict[int, str] = {}
        self._votes: dict[tuple[int, _Place], bytes] = {}
        self._spoken: dict[int, None] = {}
        self._sent = 0

    @property
    def handlers(self) -> Handlers:
        """Votes, validators that stop voting, and evidence."""
        return {StoppedVoting: self.observer, Voted: self.vote, Reported: self.report}

    def observer(self, event: Event, observer: StoppedVoting) -> None:
        """Note that a validator stopped voting, for good."""
        self._observers[event.node] = observer.reason

    def vote(self, event: Event, vote: Voted) -> None:
        """Compare a vote with earlier votes of the validator in the view."""
        node = event.node
        # A validator's first vote contradicts no vote.
        self.tally.compared += node in self._spoken
        self._spoken[node] = None
        self._sent += 1
        if node in self._observers:
            self.tally.fail(
                f"validator {node} sent {vote.vote} in view {vote.view} after its journal was lost: "
                f"{self._observers[node]}",
                validator=node,
                view=vote.view,
            )
        earlier = self._votes.setdefault((node, _Place(vote.vote, vote.view)), vote.payload)
        if earlier != vote.payload:
            self.tally.fail(
                f"validator {node} sent {vote.vote} for {short(earlier)} and for {short(vote.payload)} in view "
                f"{vote.view}",
                validator=node,
                view=vote.view,
                first=earlier.hex(),
                second=vote.payload.hex(),
            )
        contrary = {"nullify": "finalize", "finalize": "nullify"}.get(vote.vote)
        if contrary is not None and (node, _Place(contrary, vote.view)) in self._votes:
            self.tally.fail(
                f"validator {node} sent both nullify and finalize in view {vote.view}", validator=node, view=vote.view
            )

    def report(self, event: Event, evidence: Reported) -> None:
        """Fail on two signed votes of an honest validator that contradict each other."""
        if evidence.activity in SIMPLEX_RULES.evidence and evidence.signer in self._honest:
            self.tally.fail(
                f"validator {event.node} holds evidence against validator {evidence.signer} in view {evidence.view}: "
                f"{evidence.activity}",
                validator=evidence.signer,
                view=evidence.view,
            )

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(f"{self._sent:,} votes sent, none against another of the same validator")


class Certificates(Check):
    """A certificate has a quorum of signers that voted and contradicts no other, and each skipped view is nullified.

    A validator holds its own vote before it sends the vote, and may crash in between: its own signature is not
    checked. Another process saw the certificates up to `earlier_height`, so that skipped views there are not
    checked. The answer to certify follows from the block alone: no honest validator refuses a block that becomes
    final.
    """

    name = "certificates"
    engines = (SIMPLEX_RULES.name,)
    compares_replicas = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._validators = run.validators
        self._quorum = quorum_of(run.validators)
        self._honest = dict.fromkeys(run.honest)
        self._votes: dict[tuple[int, _Place, bytes], None] = {}
        self._payloads: dict[_Place, bytes] = {}
        self._signers: dict[_Place, Sequence[int]] = {}
        """The block and the signers of the first certificate of each place."""
        self._skips: list[SettledBlock] = []
        self._refused: dict[tuple[int, int], bytes] = {}

    @property
    def handlers(self) -> Handlers:
        """Votes, certificates, and refusals to certify."""
        return {Uncertified: self.uncertified, Voted: self.vote, CertificateHeld: self.certificate}

    def uncertified(self, event: Event, refusal: Uncertified) -> None:
        """A validator refused to certify a notarized block; the branch that it is on may have been left."""
        self._refused[event.node, refusal.view] = refusal.payload

    def vote(self, event: Event, vote: Voted) -> None:
        """Remember the vote of each signer."""
        self._votes[event.node, _Place(vote.vote, vote.view), vote.payload] = None

    def certificate(self, event: Event, certificate: CertificateHeld) -> None:
        """Check a certificate that a validator holds."""
        self.tally.compared += 1
        if certificate.certificate not in VOTE_OF:
            self.tally.fail(f"validator {event.node} holds an unknown {certificate.certificate}", validator=event.node)
            return
        self._judge_signers(event.node, certificate)
        place = _Place(certificate.certificate, certificate.view)
        earlier = self._payloads.setdefault(place, certificate.payload)
        signers = self._signers.setdefault(place, certificate.signers)
        if earlier != certificate.payload:
            self.tally.fail(
                f"view {certificate.view} has two {certificate.certificate}s: {short(earlier)} and "
                f"{short(certificate.payload)}; {name_signers_of_both(signers, certificate.signers)}",
                view=certificate.view,
                validator=event.node,
            )
        self._judge_pairs(certificate.view)

    def settle(self, block: SettledBlock) -> None:
        """Remember a final block that skipped views."""
        if block.view > block.parent_view + 1 and block.height > self.run.earlier_height:
            self._skips.append(block)

    def finish(self) -> CheckResult:
        """Check skipped views, whose certificates may have come after the block, and return the result."""
        for block in self._skips:
            for view in range(block.parent_view + 1, block.view):
                self._judge_skip(block, view)
        for (node, view), payload in self._refused.items():
            self.tally.require(
                self._payloads.get(_Place("finalization", view)) != payload,
                f"validator {node} refused to certify {short(payload)} of view {view}, which is final",
                validator=node,
                view=view,
            )
        return self.tally.result(
            f"{len(self._payloads):,} certificates of at least {self._quorum} signers, none against another",
            certificates=len(self._payloads),
        )

    def _is_followed(self, node: int) -> bool:
        """Return whether the check sees all votes of a validator."""
        return node in self._honest and node not in self.run.world.strayed

    def _judge_signers(self, holder: int, certificate: CertificateHeld) -> None:
        place = f"{certificate.certificate} of view {certificate.view} held by validator {holder}"
        signers = dict.fromkeys(certificate.signers)
        known = [signer for signer in signers if 0 <= signer < self._validators]
        if len(known) < self._quorum or len(signers) < len(certificate.signers):
            self.tally.fail(
                f"{place} has {len(known)} different signers, a quorum is {self._quorum}",
                view=certificate.view,
                validator=holder,
            )
        vote = _Place(VOTE_OF[certificate.certificate], certificate.view)
        silent = [
            signer
            for signer in known
            if signer != holder and self._is_followed(signer) and (signer, vote, certificate.payload) not in self._votes
        ]
        if silent:
            self.tally.fail(
                f"{place} is signed by {name_validators(silent)}, which never sent that vote",
                view=certificate.view,
                validator=holder,
                signer=silent[0],
            )

    def _judge_pairs(self, view: int) -> None:
        final, skipped = _Place("finalization", view), _Place("nullification", view)
        final_payload = self._payloads.get(final)
        if final_payload is None:
            return
        if skipped in self._payloads:
            both = name_signers_of_both(self._signers[final], self._signers[skipped])
            self.tally.fail(f"view {view} is both finalized and nullified; {both}", view=view)
        notarized = self._payloads.get(_Place("notarization", view), final_payload)
        if notarized != final_payload:
            self.tally.fail(
                f"view {view} is finalized with {short(final_payload)} and notarized with {short(notarized)}", view=view
            )

    def _judge_skip(self, block: SettledBlock, view: int) -> None:
        self.tally.compared += 1
        place = f"final block of height {block.height} in view {block.view} on view {block.parent_view}"
        if _Place("finalization", view) in self._payloads:
            self.tally.fail(f"{place} skips view {view}, which is finalized", height=block.height, view=view)
        elif _Place("nullification", view) not in self._payloads:
            self.tally.fail(f"{place} skips view {view}, which no quorum nullified", height=block.height, view=view)
