"""Which votes one validator may send, and when: its journal is audited entry by entry, by a reckoning of its own.

A journal holds votes, certificates and answers of certification in the order in which they came about, over all lives.
So each vote has before it all that its validator knew of certificates, and whether it was allowed follows from that
alone. What is pruned is remembered here: nothing above the floor may go, and no vote may contradict one that went. A
vote that breaks a rule seldom harms: it takes others that say the same. This check does not wait for them.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, final

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import short
from checker.results import CheckResult
from validators.consensus.signing import signed_bytes
from validators.consensus.simplex import (
    Artifact,
    Certification,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    artifact_view,
    certificate_signers,
)
from validators.consensus.simplex.signing import vote_content

_HELD: Final = "it had that already"


class _Book(NamedTuple):
    """The certificates and certifications that one validator holds, by view."""

    notarized: dict[int, Proposal]
    nullified: dict[int, None]
    certified: dict[int, bool]


class _OwnVotes(NamedTuple):
    """The views in which one validator has voted, over all lives, by kind of vote."""

    notarize: dict[int, None]
    nullify: dict[int, None]
    finalize: dict[int, None]


@final
class Signatures:
    """The validators' signatures, each verified once; `public_keys` has 32 bytes for each validator, by index.

    A signer that is none of the validators is for the check `certificates` to name.
    """

    def __init__(self, public_keys: Sequence[bytes]) -> None:
        self._keys = tuple(VerifyKey(public_key) for public_key in public_keys)
        self._known: dict[tuple[int, bytes, bytes], bool] = {}

    def find_forged(self, artifact: Artifact) -> int | None:
        """Return whose signature in a vote or certificate is not that validator's over what it says."""
        if isinstance(artifact, Certification):
            return None
        signed = signed_bytes(*vote_content(artifact))
        if isinstance(artifact, Notarize | Nullify | Finalize):
            pairs = [(artifact.signer, artifact.signature)]
        else:
            pairs = list(zip(certificate_signers(artifact), artifact.signatures, strict=False))
        return next((signer for signer, signature in pairs if not self._is_valid(signer, signed, signature)), None)

    def _is_valid(self, signer: int, signed: bytes, signature: bytes) -> bool:
        if signer >= len(self._keys):
            return True
        key = (signer, signed, signature)
        if key not in self._known:
            try:
                self._keys[signer].verify(signed, signature)
            except (BadSignatureError, ValueError):
                self._known[key] = False
            else:
                self._known[key] = True
        return self._known[key]


@final
class JournalAudit:
    """One validator's journal, read from its beginning, and again whenever it is written or read anew.

    What was read stays known: a vote against one that was pruned since is seen, and so is an entry that went too early.

    Args:
        node: The validator.
        signatures: Verifies what the entries are signed with.
        fail: Gets validator, view and what is wrong with an entry.
        view_retention: Entries of so many views below the floor have to stay.
    """

    def __init__(
        self, node: int, signatures: Signatures, fail: Callable[[int, int, str], None], *, view_retention: int
    ) -> None:
        self._node = node
        self._signatures = signatures
        self._fail = fail
        self._view_retention = view_retention
        self._judged = 0
        self._own = _OwnVotes({}, {}, {})
        self.forget()

    @property
    def judged(self) -> int:
        """Entries judged, each once."""
        return self._judged

    def forget(self) -> None:
        """The journal was lost, and all certificates with it; what the validator has voted stays voted."""
        self._view = 1
        self._finalized_view = 0
        self._floor_view = 0
        self._unwatched = 0
        self._book = _Book({}, {}, {})
        self._kept: list[Artifact] = []
        self._expected: deque[Artifact] = deque()

    def begin_anew(self, floor: Finalization | None = None, *, carried: int = 0) -> None:
        """The journal is read again from its head, with what is left above its floor.

        Args:
            floor: The finality in its head, None in a journal that was never pruned.
            carried: Entries that the pruning left.
        """
        if floor is not None and not self._kept:
            # Written by a process that nobody here watched: what led to the floor is gone.
            self._view, self._finalized_view, self._unwatched = floor.proposal.view + 1, floor.proposal.view, carried
        elif floor is not None and floor not in self._kept:
            self._fail_floor(floor.proposal.view, "a finality that it had not")
        floor_view = 0 if floor is None else floor.proposal.view
        if floor_view < self._floor_view:
            self._fail_floor(floor_view, f"below the one before, view {self._floor_view}")
        self._floor_view = floor_view
        lowest_view = floor_view - self._view_retention
        self._kept = [artifact for artifact in self._kept if artifact_view(artifact) >= lowest_view]
        self._expected = deque(self._kept)

    def read(self, artifacts: Iterable[Artifact]) -> None:
        """Judge the next entries, and take them in."""
        for artifact in artifacts:
            if artifact in self._expected:
                self._recognize(artifact)
            else:
                self._add(artifact)

    def end_rereading(self) -> None:
        """All that is durable has been read again: what is missing now is lost."""
        for lost in self._expected:
            self._lose(lost)
        self._expected.clear()

    def refuse(self, reason: str) -> None:
        """There is an entry that says nothing."""
        self._fail(self._node, 0, f"validator {self._node} wrote what is neither vote nor certificate: {reason}")

    def _recognize(self, artifact: Artifact) -> None:
        """Find an entry that was read before; what stood in front of it and does not any more is lost."""
        while (expected := self._expected.popleft()) != artifact:
            self._lose(expected)

    def _lose(self, artifact: Artifact) -> None:
        kind, view = type(artifact).__name__.lower(), artifact_view(artifact)
        what = f"lost the {kind} of view {view} from its journal, whose floor is view {self._floor_view}"
        self._fail(self._node, view, f"validator {self._node} {what}")

    def _fail_floor(self, view: int, what: str) -> None:
        self._fail(self._node, view, f"the journal of validator {self._node} has the floor view {view}, {what}")

    def _add(self, artifact: Artifact) -> None:
        self._judged += 1
        self._kept.append(artifact)
        view = artifact_view(artifact)
        forger = self._signatures.find_forged(artifact)
        if forger is not None:
            self._judge(artifact, f"{forger} has not signed that")
        is_watched = not self._unwatched or view > self._floor_view
        self._unwatched = max(self._unwatched - 1, 0)
        if is_watched:
            self._judge(artifact, self._find_fault(artifact))
        self._take_in(artifact)

    def _judge(self, artifact: Artifact, fault: str) -> None:
        if fault:
            kind, view = type(artifact).__name__.lower(), artifact_view(artifact)
            self._fail(self._node, view, f"validator {self._node} wrote a {kind} of view {view}: {fault}")

    def _find_fault(self, artifact: Artifact) -> str:  # noqa: PLR0911 - one line per kind of entry
        match artifact:
            case Notarize(signer=signer, proposal=proposal):
                return self._find_notarize_fault(signer, proposal)
            case Nullify(signer=signer, view=view):
                return self._find_nullify_fault(signer, view)
            case Finalize(signer=signer, proposal=proposal):
                return self._find_finalize_fault(signer, proposal)
            case Notarization(proposal=proposal):
                return self._find_news_fault(proposal.view, is_held=proposal.view in self._book.notarized)
            case Nullification(view=view):
                return self._find_news_fault(view, is_held=view in self._book.nullified)
            case Finalization(proposal=proposal):
                return self._find_news_fault(proposal.view, is_held=False)
            case Certification(view=view):
                return self._find_certification_fault(view)

    def _take_in(self, artifact: Artifact) -> None:
        view = artifact_view(artifact)
        match artifact:
            case Notarize():
                self._own.notarize[view] = None
            case Nullify():
                self._own.nullify[view] = None
            case Finalize():
                self._own.finalize[view] = None
            case Notarization(proposal=proposal):
                self._book.notarized.setdefault(view, proposal)
            case Nullification():
                self._book.nullified[view] = None
                self._view = max(self._view, view + 1)
            case Finalization():
                self._finalized_view = max(self._finalized_view, view)
                self._view = max(self._view, view + 1)
            case Certification(ok=ok):
                self._book.certified[view] = ok
                self._view = max(self._view, view + 1) if ok else self._view

    def _find_news_fault(self, view: int, *, is_held: bool) -> str:
        """A certificate is kept once, and none of a view that finality has passed."""
        passed = f"view {self._finalized_view} was final" if view <= self._finalized_view else ""
        return passed or (_HELD if is_held else "")

    def _find_vote_fault(self, signer: int, view: int) -> str:
        """Return what speaks against any vote to take up or give up a view: it is for the current one alone."""
        if signer != self._node:
            return f"it is by {signer}"
        return f"it was in view {self._view}" if view != self._view else ""

    def _find_notarize_fault(self, signer: int, proposal: Proposal) -> str:
        view, book, own = proposal.view, self._book, self._own
        if fault := self._find_vote_fault(signer, view):
            return fault
        if view in own.nullify or view in own.notarize:
            return "it had voted in that view"
        parent = proposal.parent_view
        if parent >= view or parent < self._finalized_view:
            return f"the parent is of view {parent}, and view {self._finalized_view} was final"
        if parent != self._finalized_view and not book.certified.get(parent):
            return f"the parent, of view {parent}, was not certified"
        gap = next((skipped for skipped in range(parent + 1, view) if skipped not in book.nullified), None)
        return "" if gap is None else f"view {gap} lies between it and its parent and was not nullified"

    def _find_nullify_fault(self, signer: int, view: int) -> str:
        if fault := self._find_vote_fault(signer, view):
            return fault
        is_said = view in self._own.nullify or view in self._own.finalize
        return "it had voted to nullify or finalize that view" if is_said else ""

    def _find_finalize_fault(self, signer: int, proposal: Proposal) -> str:
        view, book, own = proposal.view, self._book, self._own
        if signer != self._node:
            return f"it is by {signer}"
        if view in own.nullify or view in own.finalize:
            return "it had voted to nullify or finalize that view"
        if book.notarized.get(view) != proposal:
            return f"{short(proposal.payload)} was not notarized"
        if not book.certified.get(view):
            return f"{short(proposal.payload)} was not certified"
        return "that view was nullified" if view in book.nullified else ""

    def _find_certification_fault(self, view: int) -> str:
        if view not in self._book.notarized:
            return "nothing was notarized"
        if view in self._book.certified:
            return _HELD
        return f"view {self._finalized_view} was final" if view <= self._finalized_view else ""


@final
class VoteRules(Check):
    """Every entry of a journal follows from those before it, over all lives, and is signed by whom it names.

    The journals are read by `write-ahead`, as they become durable.
    """

    name = "vote-rules"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._signatures = Signatures(run.public_keys)
        self._audits: dict[int, JournalAudit] = {}
        self._faults: dict[tuple[int, str], None] = {}

    def audit(self, node: int) -> JournalAudit:
        """Return the audit of a validator's journal."""
        audit = JournalAudit(node, self._signatures, self._fail, view_retention=self.run.view_retention)
        return self._audits.setdefault(node, audit)

    def finish(self) -> CheckResult:
        """Return the result."""
        self.tally.compared = sum(audit.judged for audit in self._audits.values())
        return self.tally.result(
            f"{self.tally.compared:,} votes and certificates in the journals, each allowed by those before it"
        )

    def _fail(self, node: int, view: int, what: str) -> None:
        # A start reads the journal again.
        if (node, what) not in self._faults:
            self._faults[node, what] = None
            self.tally.fail(what, validator=node, view=view)
