"""What one validator may say, and when: its journal read as a story, judged by a reckoning of its own.

A journal holds votes, certificates and answers of certification in the order in which they came about, over all lives.
So each vote has before it all that its validator knew of certificates, and whether it was allowed follows from that
alone. A vote that breaks a rule seldom harms: it takes others that say the same. This check does not wait for them.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, final

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from checker.observations import short
from checker.results import CheckResult, Tally
from validators.consensus import (
    Artifact,
    Certification,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    certificate_signers,
)
from validators.consensus.recovery import artifact_view
from validators.consensus.signing import signed_bytes, vote_content

_HELD: Final = "it had that already"


class _Book(NamedTuple):
    """What one validator has said and held, by view."""

    notarized: dict[int, Proposal]
    nullified: dict[int, None]
    certified: dict[int, bool]
    own_notarize: dict[int, None]
    own_nullify: dict[int, None]
    own_finalize: dict[int, None]


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
class Story:
    """One validator's journal, told from its beginning; `fail` gets validator, view and what is wrong with an entry."""

    def __init__(self, node: int, signatures: Signatures, fail: Callable[[int, int, str], None]) -> None:
        self._node = node
        self._signatures = signatures
        self._fail = fail
        self._told = 0
        self._judged = 0
        self.begin_anew()

    @property
    def judged(self) -> int:
        """Entries judged, each once."""
        return self._judged

    def begin_anew(self) -> None:
        """A start reads the whole journal: it is told again."""
        self._judged = max(self._judged, self._told)
        self._told = 0
        self._view = 1
        self._finalized_view = 0
        self._book = _Book({}, {}, {}, {}, {}, {})

    def tell(self, artifacts: Iterable[Artifact]) -> None:
        """Judge the next entries, and take them in."""
        for artifact in artifacts:
            self._tell(artifact)

    def refuse(self, reason: str) -> None:
        """There is an entry that says nothing."""
        self._fail(self._node, 0, f"validator {self._node} wrote what is neither vote nor certificate: {reason}")

    def _tell(self, artifact: Artifact) -> None:
        self._told += 1
        self._judged = max(self._judged, self._told)
        forger = self._signatures.find_forged(artifact)
        if forger is not None:
            self._judge(type(artifact).__name__.lower(), artifact_view(artifact), f"{forger} has not signed that")
        match artifact:
            case Notarize(signer=signer, proposal=proposal):
                self._judge("notarize", proposal.view, self._find_notarize_fault(signer, proposal))
                self._book.own_notarize[proposal.view] = None
            case Nullify(signer=signer, view=view):
                self._judge("nullify", view, self._find_nullify_fault(signer, view))
                self._book.own_nullify[view] = None
            case Finalize(signer=signer, proposal=proposal):
                self._judge("finalize", proposal.view, self._find_finalize_fault(signer, proposal))
                self._book.own_finalize[proposal.view] = None
            case Notarization(proposal=proposal):
                self._judge_news("notarization", proposal.view, is_held=proposal.view in self._book.notarized)
                self._book.notarized.setdefault(proposal.view, proposal)
            case Nullification(view=view):
                self._judge_news("nullification", view, is_held=view in self._book.nullified)
                self._book.nullified[view] = None
                self._view = max(self._view, view + 1)
            case Finalization(proposal=proposal):
                self._judge_news("finalization", proposal.view, is_held=False)
                self._finalized_view = max(self._finalized_view, proposal.view)
                self._view = max(self._view, proposal.view + 1)
            case Certification(view=view, ok=ok):
                self._judge("certification", view, self._find_certification_fault(view))
                self._book.certified[view] = ok
                self._view = max(self._view, view + 1) if ok else self._view

    def _judge_news(self, kind: str, view: int, *, is_held: bool) -> None:
        """A certificate is kept once, and none of a view that finality has passed."""
        passed = f"view {self._finalized_view} was final" if view <= self._finalized_view else ""
        self._judge(kind, view, passed or (_HELD if is_held else ""))

    def _judge(self, kind: str, view: int, fault: str) -> None:
        if fault:
            self._fail(self._node, view, f"validator {self._node} wrote a {kind} of view {view}: {fault}")

    def _find_vote_fault(self, signer: int, view: int) -> str:
        """Return what speaks against any vote to take up or give up a view: it is for the current one alone."""
        if signer != self._node:
            return f"it is by {signer}"
        return f"it was in view {self._view}" if view != self._view else ""

    def _find_notarize_fault(self, signer: int, proposal: Proposal) -> str:
        view, book = proposal.view, self._book
        if fault := self._find_vote_fault(signer, view):
            return fault
        if view in book.own_nullify or view in book.own_notarize:
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
        is_said = view in self._book.own_nullify or view in self._book.own_finalize
        return "it had voted to nullify or finalize that view" if is_said else ""

    def _find_finalize_fault(self, signer: int, proposal: Proposal) -> str:
        view, book = proposal.view, self._book
        if signer != self._node:
            return f"it is by {signer}"
        if view in book.own_nullify or view in book.own_finalize:
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
class VoteRules:
    """Every entry of a journal follows from those before it, over all lives, and is signed by whom it names.

    Args:
        public_keys: Of each validator, by index.
    """

    def __init__(self, public_keys: Sequence[bytes]) -> None:
        self._signatures = Signatures(public_keys)
        self._tally = Tally("vote-rules", "safety")
        self._stories: dict[int, Story] = {}
        self._faults: dict[tuple[int, str], None] = {}

    def story(self, node: int) -> Story:
        """Return the story of a validator."""
        return self._stories.setdefault(node, Story(node, self._signatures, self._fail))

    def result(self) -> CheckResult:
        """Return what came of it."""
        self._tally.compared = sum(story.judged for story in self._stories.values())
        return self._tally.result(
            f"{self._tally.compared:,} votes and certificates in the journals, each allowed by those before it"
        )

    def _fail(self, node: int, view: int, what: str) -> None:
        # A start tells the journal again.
        if (node, what) not in self._faults:
            self._faults[node, what] = None
            self._tally.fail(what, validator=node, view=view)
