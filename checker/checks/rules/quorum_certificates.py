"""Certificates of HotStuff: a quorum each, one block for each view, and one block final for each view."""

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.observations import name_signers_of_both, short
from checker.results import CheckResult
from network.events import Event, Handlers
from validators.consensus.hotstuff.kind import HOTSTUFF
from validators.events import CertificateHeld, MessageRefused

_OTHER_PARENT = "the parent is not that of the proposal"
"""The reason to refuse a block with a valid seal that is not its parent's."""


class QuorumCertificates(Check):
    """Every certificate has a quorum of different signers, and no two blocks are certified in one view.

    `consensus` verifies signatures. Two certified blocks of one view would take f + 1 validators that voted twice.
    """

    name = "quorum-certificates"
    engines = (HOTSTUFF.name,)

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._quorum = run.validators - (run.validators - 1) // 3
        self._held: dict[tuple[str, int], CertificateHeld] = {}

    @property
    def handlers(self) -> Handlers:
        """Certificates that validators hold, and blocks that they refuse."""
        return {CertificateHeld: self.held, MessageRefused: self.refused}

    def held(self, event: Event, held: CertificateHeld) -> None:
        """Count the signers of a certificate, and compare its block with the other certificates of its view."""
        what = f"validator {event.node} holds a {held.certificate} of view {held.view}"
        signers = len(dict.fromkeys(held.signers))
        place = {"validator": event.node, "view": held.view}
        self.tally.require(
            signers >= self._quorum, f"{what} with {signers} signers; a quorum is {self._quorum}", **place
        )
        strangers = [signer for signer in held.signers if signer >= self.run.validators]
        self.tally.require(not strangers, f"{what} with signers that there are not: {strangers}", **place)
        # A block that is final was certified as well: both are of one view and one block.
        kind = "timeouts" if held.certificate == "timeout-certificate" else "blocks"
        other = self._held.setdefault((kind, held.view), held)
        is_same = other.payload == held.payload
        both = "" if is_same else name_signers_of_both(other.signers, held.signers)
        self.tally.require(
            is_same, f"{what} for {short(held.payload)}, and one for {short(other.payload)} was held; {both}", **place
        )

    def refused(self, event: Event, refused: MessageRefused) -> None:
        """Require that a block with another certificate than its parent's is refused where it arrives."""
        is_bound = not refused.reason.endswith(_OTHER_PARENT)
        what = f"validator {event.node} took a block whose certificate is not that of its parent"
        self.tally.require(is_bound, what, validator=event.node)

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{self.tally.compared:,} comparisons: certificates have a quorum each, and no view has two blocks"
        )
