"""One consensus engine on a bench: votes and certificates of the others are made by hand, effects are looked at."""

from hashlib import sha256
from typing import TypeVar

from validators.consensus.interface import (
    Append,
    BlockRef,
    Build,
    Built,
    CancelTimer,
    Effect,
    Finalized,
    Judge,
    Judged,
    Question,
    Received,
    ReportActivity,
    Send,
    SetTimer,
    Started,
    TimeoutReached,
)
from validators.consensus.quorum import quorum_of
from validators.consensus.signing import Scheme, signed_bytes
from validators.consensus.simplex import (
    Artifact,
    Certificate,
    CertificateRequest,
    ConsensusMessage,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    Simplex,
    SimplexConfig,
    decode_artifact,
    encode_artifact,
)
from validators.consensus.simplex.certificates import assemble
from validators.consensus.simplex.messages import encode_proposal, encode_round
from validators.consensus.simplex.signing import FINALIZE_NAMESPACE, NOTARIZE_NAMESPACE, NULLIFY_NAMESPACE

EffectType = TypeVar("EffectType")

GENESIS = sha256(b"genesis").digest()
SECOND_US = 1_000_000

CONFIG = SimplexConfig(
    leader_timeout_us=1 * SECOND_US,
    certification_timeout_us=2 * SECOND_US,
    timeout_retry_us=10 * SECOND_US,
    fetch_timeout_us=1 * SECOND_US,
    skip_timeout_us=12 * SECOND_US,
    view_retention=10,
)


class KeyedHashScheme:
    """Signs with a keyed hash whose keys everybody knows: fast, and good enough where no signature is forged."""

    name = "keyed-hash"

    def __init__(self, me: int) -> None:
        self._me = me
        self.verified = 0

    def sign(self, namespace: bytes, message: bytes) -> bytes:
        return _keyed_hash(self._me, namespace, message)

    def verify(self, signer: int, namespace: bytes, message: bytes, signature: bytes) -> bool:
        self.verified += 1
        return signature == _keyed_hash(signer, namespace, message)


def _keyed_hash(signer: int, namespace: bytes, message: bytes) -> bytes:
    return sha256(b"key of %d" % signer + signed_bytes(namespace, message)).digest()


def payload_of(label: str) -> bytes:
    return sha256(label.encode()).digest()


def proposal_of(view: int, parent_view: int, label: str = "") -> Proposal:
    return Proposal(view, parent_view, payload_of(label or f"payload of view {view}"))


def notarize(signer: int, proposal: Proposal) -> Notarize:
    return Notarize(signer, proposal, _keyed_hash(signer, NOTARIZE_NAMESPACE, encode_proposal(proposal)))


def nullify(signer: int, view: int) -> Nullify:
    return Nullify(signer, view, _keyed_hash(signer, NULLIFY_NAMESPACE, encode_round(view)))


def finalize(signer: int, proposal: Proposal) -> Finalize:
    return Finalize(signer, proposal, _keyed_hash(signer, FINALIZE_NAMESPACE, encode_proposal(proposal)))


def notarization(proposal: Proposal, validators: int = 4) -> Notarization:
    votes = {signer: notarize(signer, proposal) for signer in _last(validators)}
    certificate = assemble(votes, validators)
    assert isinstance(certificate, Notarization)
    return certificate


def nullification(view: int, validators: int = 4) -> Nullification:
    votes = {signer: nullify(signer, view) for signer in _last(validators)}
    certificate = assemble(votes, validators)
    assert isinstance(certificate, Nullification)
    return certificate


def finalization(proposal: Proposal, validators: int = 4) -> Finalization:
    votes = {signer: finalize(signer, proposal) for signer in _last(validators)}
    certificate = assemble(votes, validators)
    assert isinstance(certificate, Finalization)
    return certificate


def _last(validators: int) -> range:
    """The quorum of the highest indexes, so that validator 0, which most tests are about, is no part of it."""
    return range(validators - quorum_of(validators), validators)


class Bench:
    """One engine, its journal, and everything that it has wanted so far. Leaders: view v is led by v % validators."""

    def __init__(
        self,
        me: int = 0,
        validators: int = 4,
        *,
        is_observer: bool = False,
        journal: list[bytes] | None = None,
        scheme: Scheme | None = None,
    ) -> None:
        self.engine = Simplex(
            me=me,
            validators=validators,
            scheme=scheme or KeyedHashScheme(me),
            config=CONFIG,
            genesis=GENESIS,
            is_observer=is_observer,
        )
        self.journal = list(journal or [])
        self.step: list[Effect] = []
        self.all: list[Effect] = []
        self.engine.replay([decode_artifact(record) for record in self.journal])
        self.take(self.engine.step(Started()))

    @property
    def view(self) -> int:
        return self.engine.position.view

    @property
    def finalized_view(self) -> int:
        return self.engine.finality.view if self.engine.finality else 0

    def restarted(self, me: int = 0, validators: int = 4) -> "Bench":
        """Return the next life on this one's journal."""
        return Bench(me, validators, journal=self.journal)

    def take(self, effects: list[Effect]) -> list[Effect]:
        self.step = effects
        self.all += effects
        self.journal += [encode_artifact(effect.record) for effect in effects if isinstance(effect, Append)]
        return effects

    def hear(self, message: ConsensusMessage, sender: int | None = None) -> list[Effect]:
        """Check a message, which must be found good, and receive it; votes come from their signers."""
        if sender is None:
            sender = message.signer if isinstance(message, Notarize | Nullify | Finalize) else 3
        verdict = self.engine.check(sender, message)
        assert verdict.ok, verdict.reason
        return self.take(self.engine.step(Received(sender, message)))

    def refusal(self, message: ConsensusMessage, sender: int | None = None) -> str:
        """Return why a message is refused; it must be."""
        if sender is None:
            sender = message.signer if isinstance(message, Notarize | Nullify | Finalize) else 3
        verdict = self.engine.check(sender, message)
        assert not verdict.ok
        return verdict.reason

    def fire(self, name: str, view: int) -> list[Effect]:
        return self.take(self.engine.step(TimeoutReached(name, view)))

    def propose(self, view: int, payload: bytes | None) -> list[Effect]:
        return self.take(self.engine.step(Built(view, payload)))

    def verify(self, proposal: Proposal, ok: bool | None = True) -> list[Effect]:
        return self.take(self.engine.step(Judged(Question.VERIFY, proposal.ref, ok)))

    def certify(self, proposal: Proposal, ok: bool = True) -> list[Effect]:
        return self.take(self.engine.step(Judged(Question.CERTIFY, proposal.ref, ok)))

    def pass_view(self, proposal: Proposal) -> list[Effect]:
        """Notarize and certify a proposal: the ordinary way to the next view."""
        self.hear(notarization(proposal))
        return self.certify(proposal)

    def go_to(self, view: int) -> None:
        """Nullify every view below `view`."""
        for passed in range(self.view, view):
            self.hear(nullification(passed))
        assert self.view == view

    def of(self, kind: type[EffectType]) -> list[EffectType]:
        """Return the last step's effects of one kind."""
        return [effect for effect in self.step if isinstance(effect, kind)]

    def all_of(self, kind: type[EffectType]) -> list[EffectType]:
        """Return the effects of one kind since the start."""
        return [effect for effect in self.all if isinstance(effect, kind)]

    def said(self, kind: type[ConsensusMessage]) -> list[ConsensusMessage]:
        """Return the messages of one kind that the last step broadcasts."""
        return [effect.message for effect in self.of(Send) if effect.to is None and isinstance(effect.message, kind)]

    def ever_said(self, kind: type[ConsensusMessage]) -> list[ConsensusMessage]:
        """Return the messages of one kind broadcast since the start."""
        sent = [effect.message for effect in self.all_of(Send) if effect.to is None]
        return [message for message in sent if isinstance(message, kind)]

    def appended(self, kind: type[Artifact]) -> list[Artifact]:
        """Return the artifacts of one kind that the last step appends."""
        return [effect.record for effect in self.of(Append) if isinstance(effect.record, kind)]

    def reasons(self) -> list[str]:
        """Return why this validator gave views up, since the start."""
        return [report.detail for report in self.all_of(ReportActivity) if report.activity == "TimedOut"]

    def activities(self) -> list[tuple[str, int]]:
        """Return the evidence reported since the start as (activity, signer)."""
        return [
            (report.activity, report.node) for report in self.all_of(ReportActivity) if report.activity != "TimedOut"
        ]

    def sent_to(self, peer: int) -> list[ConsensusMessage]:
        return [effect.message for effect in self.of(Send) if effect.to == peer]

    def requests(self) -> list[tuple[int, int]]:
        """Return the certificate requests of the last step as (peer, view)."""
        return [
            (effect.to, effect.message.view)
            for effect in self.of(Send)
            if isinstance(effect.message, CertificateRequest)
        ]

    def armed(self) -> list[str]:
        """Return the names of the timers that the last step sets, without the activity tick."""
        return [effect.name for effect in self.of(SetTimer) if effect.name != "activity"]

    def cancelled(self) -> list[str]:
        return [effect.name for effect in self.of(CancelTimer)]

    def asked(self) -> list[BlockRef]:
        """Return the blocks that the last step wants verified."""
        return [effect.ref for effect in self.of(Judge) if effect.question is Question.VERIFY]

    def ever_asked(self) -> list[BlockRef]:
        """Return the blocks that were to be verified since the start."""
        return [effect.ref for effect in self.all_of(Judge) if effect.question is Question.VERIFY]

    def certifying(self) -> list[BlockRef]:
        """Return the blocks that the last step wants certified."""
        return [effect.ref for effect in self.of(Judge) if effect.question is Question.CERTIFY]

    def building(self) -> list[tuple[int, int]]:
        """Return what the last step wants built, as (view, parent view)."""
        return [(effect.view, effect.parent.view) for effect in self.of(Build)]

    def finalized(self) -> list[Proposal]:
        return [effect.finality.proposal for effect in self.of(Finalized)]


def served(messages: list[ConsensusMessage]) -> list[Certificate]:
    """Return the certificates inside responses."""
    return [message.certificate for message in messages if hasattr(message, "certificate")]
