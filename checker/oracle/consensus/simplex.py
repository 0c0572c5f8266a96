"""Simplex by the numbered rules of docs/simplex.md: the specification for the comparison with an engine's calls.

Votes, certificates and results are kept in dictionaries by view, and every other value is computed from them at each
use. A rule is a function, and its docstring begins with the rule's number.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from checker.oracle.consensus import calls
from checker.oracle.consensus.signatures import Signatures, encode_varint
from checker.oracle.consensus.simplex_messages import (
    CERTIFICATE_TAG,
    CERTIFICATION_TAG,
    FINALIZE,
    JOURNAL_TAGS,
    NOTARIZE,
    NULLIFY,
    REQUEST_TAG,
    RESPONSE_TAG,
    VOTE_NAMES,
    Certificate,
    Entry,
    Parent,
    Subject,
    Vote,
    as_certificate,
    block_of,
    certificate_in,
    decode_record,
    decode_vote,
    encode,
    encode_certificate_record,
    encode_vote,
    signers_of,
    view_of,
    wire_certificate,
)

NAMESPACES: Final = (b"stampede_NOTARIZE", b"stampede_NULLIFY", b"stampede_FINALIZE")
PENDING, PASSED, FAILED = "pending", "passed", "failed"
"""States of a certification; a block without a request has no state."""

VIEW_LIMIT: Final = 2**62
TICKS_IN_SKIP: Final = 4
STALE: Final = "stale"
OUT_OF_RANGE: Final = "view out of range"


class Simplex:
    """The rules of Simplex in a life of a replica; see `calls.Specification`."""

    MESSAGE_PARTS: ClassVar[Mapping[int, str]] = dict(
        enumerate(("vote", "vote", "vote", "certificate", "certificate", "certificate", "request", "certificate"))
    )

    def __init__(self, life: calls.Life, signatures: Signatures) -> None:
        self.me = life.me
        self.validators = len(life.public_keys)
        self.is_observer = life.is_observer
        self.config: dict[str, int] = {name: int(value) for name, value in life.config.items()}
        self.genesis = life.genesis
        self.signatures = signatures
        self.view = 1
        self.finality: Certificate | None = None
        self.is_restarted = False
        self.votes: dict[tuple[int, int], dict[int, Vote]] = {}
        """By kind and view, the first vote of each signer."""
        self.evidence: dict[tuple[str, int, int], tuple[Vote, Vote]] = {}
        """By activity, view and signer, two votes that exclude each other."""
        self.own: dict[tuple[int, int], Vote] = {}
        """By kind and view, the votes of this replica."""
        self.certificates: dict[tuple[int, int], Certificate] = {}
        """By kind and view, notarizations and nullifications."""
        self.certified: dict[int, str] = {}
        """By view, the state of the certification."""
        self.parent_asked: dict[int, int] = {}
        """By view, the view of the parent on which a block was asked for."""
        self.verifying: dict[int, Parent] = {}
        """By view, the proposal that the application was asked to verify."""
        self.verified: dict[int, bool] = {}
        """Views whose proposal the application has verified."""
        self.reasons: dict[int, str] = {}
        """By view, the reason for giving it up."""
        self.tick = 0
        self.heard = [0] * self.validators
        """By validator, the last tick in which it was heard."""
        self.helped: dict[int, tuple[int, int]] = {}
        """By helped replica, the view in which it was stuck, and the current view then."""
        self.wanted: int | None = None
        """The view whose certificate is requested."""
        self.peers: list[int] = []
        """The peers to ask for it, the next first."""
        self.is_changed = False
        self.effects: list[calls.Effect] = []

    # -- calls ---------------------------------------------------------------------------------

    def replay(self, records: Sequence[bytes], floor: bytes | None) -> str:
        """SX-60: the highest finality of the journal comes first, then all entries above it, oldest first."""
        self.is_restarted = bool(records)
        entries = [decode_record(record) for record in records]
        known = [*([] if floor is None else [decode_record(floor)]), *entries]
        finalities = [each for each in known if isinstance(each, Certificate) and each.kind == FINALIZE]
        if finalities:
            self.finality = max(finalities, key=view_of)
        for entry in entries:
            if view_of(entry) > self.final_view():
                fault = self.restore(entry)
                if fault:
                    return fault
        self.view = self.first_view()
        return ""

    def check(self, sender: int, message: bytes) -> calls.Answer:
        """SX-10, SX-3: the permitted and the heard senders; the rest of a message is verified only where needed."""
        decoded = msgspec.msgpack.decode(message)
        is_request = decoded[0] == REQUEST_TAG
        if sender < 0 or (sender >= self.validators and not is_request):
            return calls.Answer("unknown sender", 0)
        before = self.signatures.verified
        if is_request:
            reason = self.request_fault(decoded[1])
        elif decoded[0] < CERTIFICATE_TAG:
            reason = self.vote_fault(sender, decode_vote(decoded))
        else:
            reason = self.certificate_fault(certificate_in(decoded))
        if reason in {"", STALE} and not is_request:
            self.heard[sender] = self.tick
        return calls.Answer(reason, self.signatures.verified - before)

    def check_seal(self, _block: calls.Facts, _seal: bytes) -> calls.Answer:
        """SX-62: no block of Simplex has a seal, so that no seal is checked."""
        return calls.Answer("no seals", 0)

    def verify_finality(self, finality: bytes) -> bool:
        """SX-61: a finality from outside is a finalization that is well formed and wholly signed."""
        found = decode_record(finality)
        if not isinstance(found, Certificate) or found.kind != FINALIZE:
            return False
        return not self.form_fault(found) and self.is_signed_by_all(found)

    def step(self, event: calls.Event) -> Sequence[calls.Effect]:
        """SX-20: an event is taken; then the current view is looked at until nothing changes any more."""
        self.effects = []
        if isinstance(event, calls.Started):
            self.start()
        elif isinstance(event, calls.Received):
            self.receive(event.sender, msgspec.msgpack.decode(event.message))
        elif isinstance(event, calls.Built):
            self.take_block(event.view, event.digest)
        elif isinstance(event, calls.Judged) and event.question == "verify":
            self.take_verification(Parent(event.view, event.digest), is_valid=event.ok)
        elif isinstance(event, calls.Judged) and event.ok is not None:
            self.take_certification(Parent(event.view, event.digest), is_good=event.ok)
        elif isinstance(event, calls.TimeoutReached):
            self.take_timeout(event.name, event.number)
        elif isinstance(event, calls.FloorAdopted):
            self.receive_certificate(as_certificate(decode_record(event.finality)))
        elif isinstance(event, calls.AskAgain):
            self.ask_again()
        while self.is_changed:
            self.is_changed = False
            self.look_at_view()
        return self.effects

    def emit(self, effect: calls.Effect) -> None:
        """Add an effect to those of the step."""
        self.effects.append(effect)

    # -- validators and their activity ---------------------------------------------------------

    def quorum(self) -> int:
        """SX-1: of n validators f = (n - 1) // 3 may be Byzantine; a quorum is n - f."""
        return self.validators - (self.validators - 1) // 3

    def leader(self, view: int) -> int:
        """SX-2: view v is led by validator v mod n."""
        return view % self.validators

    def set_tick_timer(self) -> None:
        """SX-4: a tick is a quarter of the skip timeout, and its timer has the number of the tick to come."""
        self.emit(calls.SetTimer("activity", self.tick + 1, max(1, self.config["skip_timeout_us"] // TICKS_IN_SKIP)))

    def is_active(self, validator: int) -> bool:
        """SX-5: a validator is active if it was heard in this tick or in the four before."""
        return self.tick - self.heard[validator] <= TICKS_IN_SKIP

    def is_skipped(self, leader: int) -> bool:
        """SX-6: another leader that is inactive is skipped if a quorum minus 1 of the other validators is active."""
        others = [each for each in range(self.validators) if each not in {self.me, leader}]
        enough = sum(self.is_active(each) for each in others) >= self.quorum() - 1
        return leader != self.me and not self.is_active(leader) and enough

    # -- checks of messages --------------------------------------------------------------------

    def request_fault(self, view: int) -> str:
        """SX-11: a request is about a view from 1 to 2^62 - 1."""
        return "" if 1 <= view < VIEW_LIMIT else OUT_OF_RANGE

    def content_fault(self, content: Vote | Certificate) -> str:
        """SX-12: a view is from 1 to 2^62 - 1, and a digest has 32 bytes."""
        if not 1 <= view_of(content) < VIEW_LIMIT:
            return OUT_OF_RANGE
        if content.kind == NULLIFY:
            return ""
        _, parent_view, digest = content.subject
        return OUT_OF_RANGE if parent_view < 0 else "" if len(digest) == 32 else "payload length"

    def vote_fault(self, sender: int, vote: Vote) -> str:
        """SX-13: a vote is its sender's, sound, useful or a request for help, and signed; checked in this order."""
        if vote.signer != sender:
            return "signer is not the sender"
        if fault := self.content_fault(vote):
            return fault
        if not self.is_vote_of_use(vote):
            return "" if vote.kind == NULLIFY and self.is_help_due(sender, view_of(vote)) else STALE
        return "" if self.is_signed(vote.signer, vote, vote.signature) else "invalid signature"

    def certificate_fault(self, certificate: Certificate) -> str:
        """SX-14: a certificate is sound, well formed, useful, and signed; checked in this order."""
        if fault := self.content_fault(certificate) or self.form_fault(certificate):
            return fault
        if not self.is_certificate_of_use(certificate):
            return STALE
        return "" if self.is_signed_by_all(certificate) else "invalid certificate"

    def form_fault(self, certificate: Certificate) -> str:
        """SX-15: the bitmap has a bit for each validator and no other, a quorum of them set, each with a signature."""
        signers = signers_of(certificate)
        if len(certificate.bitmap) != (self.validators + 7) // 8:
            return "bitmap length"
        if signers and signers[-1] >= self.validators:
            return "stray bits"
        if len(signers) < self.quorum():
            return "no quorum"
        return "" if len(certificate.signatures) == len(signers) else "signature count"

    def is_vote_of_use(self, vote: Vote) -> bool:
        """SX-16: a vote is useful above the final view, up to the view after the current, if it may count or convict.

        A notarize or nullify whose certificate is held is useless.
        """
        if not self.final_view() < view_of(vote) <= self.view + 1:
            return False
        return (vote.kind, view_of(vote)) not in self.certificates and self.is_news(vote)

    def is_news(self, vote: Vote) -> bool:
        """SX-17: news is a signer's first vote of a kind, and another proposal's vote until the signer is convicted."""
        first = self.votes.get((vote.kind, view_of(vote)), {}).get(vote.signer)
        if first is None or vote.kind == NULLIFY:
            return first is None
        is_convicted = (f"Conflicting{VOTE_NAMES[vote.kind]}", view_of(vote), vote.signer) in self.evidence
        return first.subject != vote.subject and not is_convicted

    def is_certificate_of_use(self, certificate: Certificate) -> bool:
        """SX-18: a certificate is useful in any view above the final view if none of its kind and view is held."""
        place = (certificate.kind, view_of(certificate))
        return view_of(certificate) > self.final_view() and place not in self.certificates

    def is_help_due(self, peer: int, stuck_view: int) -> bool:
        """SX-19: help is due in a view that was left: once for each view of ours and each step of the peer."""
        helped_view, our_view = self.helped.get(peer, (-1, -1))
        return stuck_view < self.view and (our_view != self.view or stuck_view > helped_view)

    # -- signatures ----------------------------------------------------------------------------

    def signed_message(self, content: Vote | Certificate) -> bytes:
        """SX-7: signed are epoch 0 and the view, and of a proposal its parent's view and digest."""
        view, *proposal = content.subject
        message = encode_varint(0) + encode_varint(view)
        return message + encode_varint(proposal[0]) + proposal[1] if proposal else message

    def is_signed(self, signer: int, content: Vote | Certificate, signature: bytes) -> bool:
        """SX-8: a signature is verified once and remembered; an own signature is remembered when made."""
        return self.signatures.verify(signer, NAMESPACES[content.kind], self.signed_message(content), signature)

    def is_signed_by_all(self, certificate: Certificate) -> bool:
        """SX-9: the signatures of a certificate are verified in the order of the signers, up to the first invalid."""
        pairs = zip(signers_of(certificate), certificate.signatures, strict=True)
        return all(self.is_signed(signer, certificate, signature) for signer, signature in pairs)

    # -- what is known of views ----------------------------------------------------------------

    def final_view(self) -> int:
        """SX-50: the final view is the view of the highest finalization, and 0 before the first."""
        return 0 if self.finality is None else view_of(self.finality)

    def final_block(self) -> Parent:
        """SX-50: the final block is the block of the highest finalization, and genesis before the first."""
        return Parent(0, self.genesis) if self.finality is None else block_of(self.finality.subject)

    def proposals(self, view: int) -> list[Subject]:
        """SX-51: known proposals of a view by weight: of the quorum, of the own vote, of the leader.

        The leader proposes with its first notarize, and again with a second notarize that convicts it.
        """
        leader = self.leader(view)
        notarization, own = self.certificates.get((NOTARIZE, view)), self.own.get((NOTARIZE, view))
        first = self.votes.get((NOTARIZE, view), {}).get(leader)
        convicting = self.evidence.get(("ConflictingNotarize", view, leader), ())
        return [each.subject for each in (notarization, own, first, *convicting) if each is not None]

    def is_equivocated(self, view: int) -> bool:
        """SX-52: a view is equivocated if two different proposals of it are known."""
        return len(set(self.proposals(view))) > 1

    def is_unverified(self, view: int) -> bool:
        """SX-53: a proposal is unverified until it is asked about, voted for, or notarized."""
        is_settled = (NOTARIZE, view) in self.certificates or (NOTARIZE, view) in self.own or view in self.verified
        return bool(self.proposals(view)) and not is_settled and view not in self.verifying

    def has_voted(self, view: int) -> bool:
        """SX-60: a view has an own vote if it has an own vote of any kind."""
        return any((kind, view) in self.own for kind in (NOTARIZE, NULLIFY, FINALIZE))

    def certified_block(self, view: int) -> Parent | None:
        """SX-54: a block can be built on when it is notarized and its certification has passed."""
        notarization = self.certificates.get((NOTARIZE, view))
        return block_of(notarization.subject) if notarization and self.certified.get(view) == PASSED else None

    def views(self) -> list[int]:
        """SX-55: the views with a vote or certificate above the final view, the lowest first."""
        known = {view for _, view in (*self.votes, *self.own, *self.certificates)}
        return sorted(view for view in known if view > self.final_view())

    # -- the start -----------------------------------------------------------------------------

    def restore(self, entry: Entry) -> str:
        """SX-60: a journal entry is restored; another's vote and a certification without a block are refused."""
        view = view_of(entry)
        if isinstance(entry, Vote):
            if entry.signer != self.me:
                return f"{VOTE_NAMES[entry.kind]} of view {view} is by {entry.signer}, not by {self.me}"
            self.own[entry.kind, view] = entry
            self.convictions(entry)
        elif isinstance(entry, Certificate):
            # The highest finalization is known, and of two notarizations the first stays.
            if entry.kind == NULLIFY or (entry.kind == NOTARIZE and (NOTARIZE, view) not in self.certificates):
                self.certificates[entry.kind, view] = entry
        elif (NOTARIZE, view) not in self.certificates:
            return f"view {view} is certified but was never notarized"
        else:
            self.certified[view] = PASSED if entry.is_good else FAILED
        return ""

    def first_view(self) -> int:
        """SX-60: a life begins after the best certificate and in no view below an own vote."""
        first = self.final_view() + 1
        for view in self.views():
            is_left = (NULLIFY, view) in self.certificates or self.certified.get(view) == PASSED
            first = max(first, view + 1 if is_left else view if self.has_voted(view) else 0)
        return first

    def start(self) -> None:
        """SX-21: enter, count ticks, certify, vote again, wait, give up, complete own votes; in this order."""
        started = self.view
        self.emit(calls.Entered(started, self.leader(started)))
        self.set_tick_timer()
        for view in self.views():
            self.request_certification(view)
        own = self.own.get((NOTARIZE, started))
        if own is not None:
            self.emit(calls.Send(None, encode_vote(own)))
        self.begin_view()
        if self.is_restarted and self.leader(started) == self.me and own is None:
            self.give_up("MissingProposal")
        kinds = (NOTARIZE, NULLIFY, FINALIZE)
        for vote in [self.own[kind, view] for view in self.views() for kind in kinds if (kind, view) in self.own]:
            self.complete(vote)
        self.is_changed = True

    # -- messages ------------------------------------------------------------------------------

    def receive(self, sender: int, message: Any) -> None:  # noqa: ANN401 - a decoded message
        """SX-22: a request is answered; a nullify of a view that was left gets help; a useful message counts."""
        if message[0] == REQUEST_TAG:
            for certificate in self.answers(message[1]):
                self.emit(calls.Send(sender, encode([RESPONSE_TAG, message[1], wire_certificate(certificate)])))
        elif message[0] >= CERTIFICATE_TAG:
            self.receive_certificate(certificate_in(message))
        else:
            vote = decode_vote(message)
            if vote.kind == NULLIFY and self.is_help_due(sender, view_of(vote)):
                self.help(sender, view_of(vote))
            if self.is_vote_of_use(vote):
                self.count(vote)

    def receive_certificate(self, certificate: Certificate) -> None:
        """SX-23: a useful certificate is journaled and applied, and not sent on."""
        if self.is_certificate_of_use(certificate):
            self.emit(calls.Append(encode_certificate_record(certificate)))
            self.apply(certificate)

    def answers(self, view: int) -> list[Certificate]:
        """SX-24: the answer is the certified notarization and the nullification of a view, else the finalization.

        At or below the final view the answer is the finalization.
        """
        floor = [] if self.finality is None else [self.finality]
        held = []
        if view > self.final_view():
            if self.certified.get(view) == PASSED:
                held.append(self.certificates[NOTARIZE, view])
            if (NULLIFY, view) in self.certificates:
                held.append(self.certificates[NULLIFY, view])
        return held or floor

    def help(self, peer: int, stuck_view: int) -> None:
        """SX-25: help is the finalization, if it is at or above the peer's view, and then the entry certificate."""
        self.helped[peer] = (stuck_view, self.view)
        given = [self.finality] if self.finality is not None and stuck_view <= self.final_view() else []
        entry = self.entry_certificate()
        if entry is not None and entry not in given:
            given.append(entry)
        for certificate in given:
            self.emit(calls.Send(peer, encode(wire_certificate(certificate))))

    def entry_certificate(self) -> Certificate | None:
        """SX-26: into a view leads the finality of the view before, else its nullification, else its notarization."""
        before = self.view - 1
        if self.finality is not None and before == self.final_view():
            return self.finality
        return self.certificates.get((NULLIFY, before)) or self.certificates.get((NOTARIZE, before))

    # -- answers of the application ------------------------------------------------------------

    def take_block(self, view: int, digest: bytes | None) -> None:
        """SX-27: an own block for the current view ends the wait, is relayed, and then notarized."""
        if view != self.view or view not in self.parent_asked or not self.may_propose(view):
            return
        if digest is None:
            self.give_up("MissingProposal")
            return
        self.verified[view] = True
        self.emit(calls.CancelTimer("leader", view))
        self.emit(calls.Relay(digest, b""))
        self.cast(NOTARIZE, (view, self.parent_asked[view], digest))

    def take_verification(self, block: Parent, *, is_valid: bool | None) -> None:
        """SX-28: a valid proposal of the current view is notarized; an invalid or ignored one gives the view up."""
        view = self.view
        is_notarized = (NOTARIZE, view) in self.certificates or (NOTARIZE, view) in self.own
        if self.verifying.get(view) != block or view in self.verified or is_notarized:
            return
        if not is_valid:
            self.give_up("IgnoredProposal" if is_valid is None else "InvalidProposal")
            return
        self.verified[view] = True
        if self.may_notarize(view):
            self.cast(NOTARIZE, self.proposals(view)[0])

    def take_certification(self, block: Parent, *, is_good: bool) -> None:
        """SX-29: a result is journaled; a good result leads to the finalize and the next view, a bad result out."""
        view = block.view
        notarization = self.certificates.get((NOTARIZE, view))
        if view <= self.final_view() or notarization is None or self.certified.get(view) != PENDING:
            return
        if block_of(notarization.subject) != block:
            return
        self.emit(calls.Append(bytes([CERTIFICATION_TAG]) + encode([view, is_good])))
        self.certified[view] = PASSED if is_good else FAILED
        self.is_changed = True
        if is_good:
            if self.may_finalize(view):
                self.cast(FINALIZE, notarization.subject)
            self.enter(view + 1)
        elif view == self.view:
            self.give_up("FailedCertification")

    def ask_again(self) -> None:
        """SX-30: certifications without a result are requested again, the lowest view first."""
        for view in self.views():
            if self.certified.get(view) == PENDING:
                del self.certified[view]
                self.request_certification(view)

    # -- timers --------------------------------------------------------------------------------

    def take_timeout(self, name: str, number: int) -> None:
        """SX-31: a timer of a view counts while the view is current: it gives the view up, or repeats the nullify."""
        if name == "fetch":
            self.ask_next_peer(number)
        elif name == "activity":
            self.count_tick(number)
        elif number == self.view:
            if name == "leader" and not self.proposals(number):
                self.give_up("LeaderTimeout")
            elif name == "certification":
                self.give_up("CertificationTimeout")
            elif name == "retry" and (NULLIFY, number) in self.own:
                self.repeat_nullify()

    def count_tick(self, number: int) -> None:
        """SX-4: a tick counts once, and the timer of the next is set."""
        if number == self.tick + 1:
            self.tick += 1
            self.set_tick_timer()

    def repeat_nullify(self) -> None:
        """SX-32: the nullify of the current view is sent again, then its entry certificate, and the retry timer set."""
        self.emit(calls.Send(None, encode_vote(self.own[NULLIFY, self.view])))
        entry = self.entry_certificate()
        if entry is not None:
            self.emit(calls.Send(None, encode(wire_certificate(entry))))
        self.emit(calls.SetTimer("retry", self.view, self.config["timeout_retry_us"]))

    # -- going through views -------------------------------------------------------------------

    def enter(self, view: int) -> None:
        """SX-33: a later view is entered: the timers of the view before are cancelled, and its own waits begin."""
        if view <= self.view:
            return
        for name in ("leader", "certification", "retry"):
            self.emit(calls.CancelTimer(name, self.view))
        self.view = view
        self.is_changed = True
        self.emit(calls.Entered(view, self.leader(view)))
        self.begin_view()

    def begin_view(self) -> None:
        """SX-34: wait for the certification, and for a proposal that is not here; in a view given up, repeat that."""
        if (NULLIFY, self.view) in self.own:
            self.repeat_nullify()
            return
        self.emit(calls.SetTimer("certification", self.view, self.config["certification_timeout_us"]))
        if not self.proposals(self.view):
            self.emit(calls.SetTimer("leader", self.view, self.config["leader_timeout_us"]))
        reason = self.reason_to_leave()
        if reason:
            self.give_up(reason)

    def reason_to_leave(self) -> str:
        """SX-35: a view is given up as it is entered if it failed certification, or its leader left it, or is skipped.

        A leader with a single known proposal is not skipped.
        """
        view, leader = self.view, self.leader(self.view)
        if self.certified.get(view) == FAILED:
            return "FailedCertification"
        if leader in self.votes.get((NULLIFY, view), {}):
            return "LeaderNullify"
        is_proposed = bool(self.proposals(view)) and not self.is_equivocated(view)
        return "Inactivity" if self.is_skipped(leader) and not is_proposed else ""

    def give_up(self, reason: str) -> None:
        """SX-36: the current view is given up once: a report, the waits cancelled, the retry timer, the nullify."""
        view = self.view
        if not self.may_nullify(view) or view in self.reasons:
            return
        self.reasons[view] = reason
        self.emit(calls.ReportActivity("TimedOut", self.leader(view), view, reason, ()))
        self.emit(calls.CancelTimer("leader", view))
        self.emit(calls.CancelTimer("certification", view))
        self.emit(calls.SetTimer("retry", view, self.config["timeout_retry_us"]))
        if not self.is_observer:
            self.cast(NULLIFY, (view,))

    def look_at_view(self) -> None:
        """SX-37: after a start, view, certificate, result or first proposal: build, verify, then fetch.

        If a step changes the view again, the rule repeats before the fetch.
        """
        view = self.view
        parent = self.parent_to_build_on(view)
        missing = parent if isinstance(parent, int) else None
        if isinstance(parent, Parent):
            self.request_block(parent)
        if self.is_unverified(view):
            missing = self.request_verification(view) or missing
        if not self.is_changed:
            self.fetch(missing)

    def parent_to_build_on(self, view: int) -> Parent | int:
        """SX-38: a leader builds on the highest certified or final block with only nullified views above it.

        A lower view that is neither certified nor nullified is missing, and is returned.
        """
        for before in range(view - 1, self.final_view(), -1):
            block = self.certified_block(before)
            if block is not None:
                return block
            if (NULLIFY, before) not in self.certificates:
                return before
        return self.final_block()

    def request_block(self, parent: Parent) -> None:
        """SX-39: the leader of the current view asks once for a block."""
        is_leader = self.leader(self.view) == self.me and not self.is_observer
        if is_leader and self.may_propose(self.view) and self.view not in self.parent_asked:
            self.parent_asked[self.view] = parent.view
            self.emit(calls.Build(self.view, *parent))

    def request_verification(self, view: int) -> int | None:
        """SX-40: a proposal on a sound ancestry is verified, a refuted proposal ends the view; else a view is missing.

        No proposal of a view that was given up or is equivocated is verified.
        """
        if (NULLIFY, view) in self.own or self.is_equivocated(view):
            return None
        proposal = self.proposals(view)[0]
        parent = self.parent_of(proposal)
        if isinstance(parent, str):
            if parent == "invalid":
                self.give_up("InvalidProposal")
            return None
        if isinstance(parent, int):
            return parent
        if self.leader(view) != self.me:
            self.verifying[view] = block_of(proposal)
            self.emit(calls.Judge("verify", *block_of(proposal), *parent))
        return None

    def parent_of(self, proposal: Subject) -> Parent | int | str:
        """SX-41: the parent is final or certified, and every view between is nullified; else the lowest missing view.

        "invalid" is a parent at or above the proposal, below the final view, or failed;
        "pending" is a parent in certification.
        """
        view, parent_view, _ = proposal
        if parent_view >= view or parent_view < self.final_view() or self.certified.get(parent_view) == FAILED:
            return "invalid"
        parent = self.final_block() if parent_view == self.final_view() else self.certified_block(parent_view)
        if parent is None:
            return "pending" if (NOTARIZE, parent_view) in self.certificates else parent_view
        gaps = [each for each in range(parent_view + 1, view) if (NULLIFY, each) not in self.certificates]
        return gaps[0] if gaps else parent

    # -- fetching ------------------------------------------------------------------------------

    def fetch(self, missing: int | None) -> None:
        """SX-42: one view at a time is requested, from the current leader first and the next peers in turn."""
        if missing == self.wanted:
            return
        if self.wanted is not None:
            self.emit(calls.CancelTimer("fetch", self.wanted))
        self.wanted = missing
        first = self.leader(self.view)
        turns = [(first + step) % self.validators for step in range(self.validators)]
        self.peers = [peer for peer in turns if peer != self.me]
        self.request_certificate()

    def ask_next_peer(self, view: int) -> None:
        """SX-43: a peer whose time is over comes last, and the next peer is asked, in a cycle."""
        if view == self.wanted:
            self.peers = self.peers[1:] + self.peers[:1]
            self.request_certificate()

    def request_certificate(self) -> None:
        """SX-43: a request goes to a single peer, which has the fetch timeout."""
        if self.wanted is not None and self.peers:
            self.emit(calls.Send(self.peers[0], encode([REQUEST_TAG, self.wanted])))
            self.emit(calls.SetTimer("fetch", self.wanted, self.config["fetch_timeout_us"]))

    # -- voting --------------------------------------------------------------------------------

    def may_propose(self, view: int) -> bool:
        """SX-44: a leader proposes if it has not voted in the view and no proposal of it is known."""
        return not self.is_observer and not self.has_voted(view) and not self.proposals(view)

    def may_notarize(self, view: int) -> bool:
        """SX-45: a verified proposal is notarized once, unless the view is given up, equivocated or notarized."""
        is_free = (NOTARIZE, view) not in self.own and (NULLIFY, view) not in self.own
        is_open = (NOTARIZE, view) not in self.certificates and not self.is_equivocated(view)
        return not self.is_observer and is_free and is_open and view in self.verified

    def may_nullify(self, view: int) -> bool:
        """SX-46: a replica nullifies a view once, and never after its finalize; it may have notarized."""
        return (NULLIFY, view) not in self.own and (FINALIZE, view) not in self.own

    def may_finalize(self, view: int) -> bool:
        """SX-47: a certified view is finalized once, unless it was nullified, by us or a quorum, or is equivocated."""
        is_free = (FINALIZE, view) not in self.own and (NULLIFY, view) not in self.own
        is_open = (NULLIFY, view) not in self.certificates and not self.is_equivocated(view)
        return not self.is_observer and is_free and is_open and self.certified.get(view) == PASSED

    def cast(self, kind: int, subject: Subject) -> None:
        """SX-48: an own vote is signed, journaled, sent to all, and counted, in this order."""
        unsigned = Vote(kind, self.me, subject, b"")
        signature = self.signatures.sign(NAMESPACES[kind], self.signed_message(unsigned))
        vote = unsigned._replace(signature=signature)
        self.own[kind, subject[0]] = vote
        self.emit(calls.Append(bytes([JOURNAL_TAGS[kind][0]]) + encode_vote(vote)))
        self.emit(calls.Send(None, encode_vote(vote)))
        self.count(vote)

    def count(self, vote: Vote) -> None:
        """SX-49: a vote counts: evidence is reported; then the leader's vote names its proposal; then a quorum.

        The leader's first notarize of the current view ends the wait for it; its nullify gives the current view up.
        """
        view = view_of(vote)
        is_leader = vote.signer == self.leader(view)
        had_proposal = bool(self.proposals(view))
        for activity, votes in self.convictions(vote):
            evidence = tuple(encode_vote(each) for each in votes)
            self.emit(calls.ReportActivity(activity, vote.signer, view, "", evidence))
        if view == self.view and is_leader:
            if vote.kind == NOTARIZE and not had_proposal:
                self.emit(calls.CancelTimer("leader", view))
                self.is_changed = True
            if vote.kind == NULLIFY:
                self.give_up("LeaderNullify")
        self.complete(vote)

    def convictions(self, vote: Vote) -> list[tuple[str, tuple[Vote, Vote]]]:
        """SX-56: a signer's first vote of a kind is kept; contradicting votes are evidence, once for each kind."""
        view, first = view_of(vote), self.votes.setdefault((vote.kind, view_of(vote)), {})
        activity = "NullifyFinalize"
        if vote.signer in first:
            activity, earlier = f"Conflicting{VOTE_NAMES[vote.kind]}", first.get(vote.signer)
            earlier = None if earlier is None or earlier.subject == vote.subject else earlier
        else:
            first[vote.signer] = vote
            excluded = {NULLIFY: FINALIZE, FINALIZE: NULLIFY}.get(vote.kind)
            earlier = None if excluded is None else self.votes.get((excluded, view), {}).get(vote.signer)
        if earlier is None or (activity, view, vote.signer) in self.evidence:
            return []
        self.evidence[activity, view, vote.signer] = (earlier, vote)
        return [(activity, (earlier, vote))]

    def complete(self, vote: Vote) -> None:
        """SX-57: a quorum of votes for a subject is journaled, sent to all and applied, unless it is held or past."""
        place = (vote.kind, view_of(vote))
        if view_of(vote) <= self.final_view() or place in self.certificates:
            return
        equal = [each for each in self.votes.get(place, {}).values() if each.subject == vote.subject]
        if len(equal) >= self.quorum():
            certificate = self.certificate_of(equal)
            self.emit(calls.Append(encode_certificate_record(certificate)))
            self.emit(calls.Send(None, encode(wire_certificate(certificate))))
            self.apply(certificate)

    def certificate_of(self, votes: Sequence[Vote]) -> Certificate:
        """SX-15: a certificate has the bits of its signers, the lowest first, and their signatures in that order."""
        ordered = sorted(votes, key=lambda vote: vote.signer)
        bits = sum(1 << vote.signer for vote in ordered)
        bitmap = bits.to_bytes((self.validators + 7) // 8, "little")
        return Certificate(ordered[0].kind, ordered[0].subject, bitmap, tuple(vote.signature for vote in ordered))

    def apply(self, certificate: Certificate) -> None:
        """SX-58: a notarization ends the wait and is certified; a nullification or finalization leads to the next view.

        A finality is reported before the view that it leads to.
        """
        self.is_changed = True
        view = view_of(certificate)
        if certificate.kind == FINALIZE:
            self.finality = certificate
            self.forget()
            self.emit(calls.Finalized(encode_certificate_record(certificate)))
            self.enter(view + 1)
            return
        self.certificates[certificate.kind, view] = certificate
        if certificate.kind == NULLIFY:
            self.enter(view + 1)
            return
        if view == self.view:
            self.emit(calls.CancelTimer("leader", view))
        self.request_certification(view)

    def forget(self) -> None:
        """SX-55: votes and certificates of views at or below the final view are forgotten."""
        final = self.final_view()
        self.votes = {place: votes for place, votes in self.votes.items() if place[1] > final}
        self.own = {place: vote for place, vote in self.own.items() if place[1] > final}
        self.certificates = {place: held for place, held in self.certificates.items() if place[1] > final}
        self.evidence = {key: votes for key, votes in self.evidence.items() if key[1] > final}
        self.certified = {view: state for view, state in self.certified.items() if view > final}

    def request_certification(self, view: int) -> None:
        """SX-59: a notarized block is certified once, also of a view that is nullified or was never entered."""
        notarization = self.certificates.get((NOTARIZE, view))
        if notarization is not None and view not in self.certified:
            self.certified[view] = PENDING
            self.emit(calls.Judge("certify", *block_of(notarization.subject), None, None))
