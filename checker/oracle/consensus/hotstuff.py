"""The rules of chained HotStuff by number (docs/hotstuff.md), as a replica that follows them exactly.

Messages and records are msgpack arrays. Blocks and votes are lists in the order of their arrival, and every other value
is computed from them at each use. This module shares no code with the engine.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar, Final, NamedTuple

from checker.oracle.consensus import calls
from checker.oracle.consensus.hotstuff_messages import (
    CastVote,
    Certificate,
    Lock,
    Proof,
    Record,
    Seal,
    Timeout,
    TimeoutCertificate,
    Vote,
    bitmap_of,
    decode,
    decode_header,
    decode_message,
    decode_record,
    decode_seal,
    encode,
    encode_record,
    signers_of,
    view_of,
)
from checker.oracle.consensus.signatures import Signatures, encode_varint

VOTE_NAMESPACE: Final = b"stampede_HOTSTUFF_VOTE"
TIMEOUT_NAMESPACE: Final = b"stampede_HOTSTUFF_TIMEOUT"

VIEW_TIMER: Final = "view"
VERIFY: Final = "verify"
CERTIFY: Final = "certify"
STALE: Final = "stale"

VIEWS_OF_A_TURN: Final = 2
VIEWS_AHEAD_MAX: Final = 64
BLOCKS_OF_A_VIEW_MAX: Final = 4
CHAIN_LENGTH: Final = {"three-chain": 3, "two-chain": 2}


class Block(NamedTuple):
    """A stored block with its seal."""

    facts: calls.Facts
    seal: Seal


class Asked(NamedTuple):
    """A certified block sent to the application, and the application's answer."""

    view: int
    digest: bytes
    is_sound: bool | None


class HotStuff:
    """A replica that follows the rules in one life.

    Args:
        life: Its index, the validators' keys, the block of view 0, and its times.
        signatures: Signs as the replica has signed, and verifies.
    """

    MESSAGE_PARTS: ClassVar[Mapping[int, str]] = {0: "vote", 1: "vote"}

    def __init__(self, life: calls.Life, signatures: Signatures) -> None:
        self.me = life.me
        self.validators = len(life.public_keys)
        self.is_observer = life.is_observer
        self.genesis = life.genesis
        self.is_two_chain = life.config["profile"] == "two-chain"
        self.chain_length = CHAIN_LENGTH[str(life.config["profile"])]
        self.first_wait_us = int(life.config["view_timeout_us"])
        self.longest_wait_us = int(life.config["view_timeout_max_us"])
        self.view_retention = int(life.config["view_retention"])
        self.signatures = signatures
        self.effects: list[calls.Effect] = []

        # State restored from the journal.
        self.view = 1
        self.last_voted = 0
        self.vote: Vote | None = None
        self.timeout: Timeout | None = None
        self.high = Certificate(0, life.genesis, b"", ())
        self.lock = Lock(0, life.genesis)
        self.entry: TimeoutCertificate | None = None
        self.final_view = 0

        # State lost with the life.
        self.blocks: list[Block] = []
        self.votes: list[Vote] = []
        self.reported: list[tuple[int, int]] = []
        self.timeouts: dict[int, Timeout] = {}
        self.asked: list[Asked] = []
        self.found: Vote | None = None
        self.ended_timers = 0
        self.building_on: Certificate | None = None
        self.verifying: bytes | None = None

    # -- who signs, and over which bytes -----------------------------------------------------------

    @property
    def faults(self) -> int:
        """HS-1: the number of validators that may be Byzantine."""
        return (self.validators - 1) // 3

    @property
    def quorum(self) -> int:
        """HS-1: the number of votes of a certificate."""
        return self.validators - self.faults

    def leader(self, view: int) -> int:
        """HS-2: the validator that leads a view."""
        return view // VIEWS_OF_A_TURN % self.validators

    def signed_vote(self, view: int, digest: bytes) -> bytes:
        """HS-3: the bytes that a vote signs."""
        return encode_varint(view) + digest

    def signed_timeout(self, view: int, high_view: int) -> bytes:
        """HS-4: the bytes that a TIMEOUT signs."""
        return encode_varint(view) + encode_varint(high_view)

    def certificate_of(self, votes: Iterable[Vote]) -> Certificate:
        """HS-5: the certificate of the votes for a block."""
        ordered = sorted(votes, key=lambda vote: vote.signer)
        bitmap = bitmap_of((vote.signer for vote in ordered), self.validators)
        return Certificate(ordered[0].view, ordered[0].digest, bitmap, tuple(vote.signature for vote in ordered))

    def timeout_certificate_of(self, timeouts: Iterable[Timeout]) -> TimeoutCertificate:
        """HS-6: the timeout certificate of the TIMEOUTs of a view."""
        ordered = sorted(timeouts, key=lambda timeout: timeout.signer)
        bitmap = bitmap_of((timeout.signer for timeout in ordered), self.validators)
        views = tuple(timeout.high.view for timeout in ordered)
        return TimeoutCertificate(ordered[0].view, bitmap, views, tuple(timeout.signature for timeout in ordered))

    # -- whether a message is sound and of use -----------------------------------------------------

    def fault_of_signers(self, bitmap: bytes, signatures: Sequence[bytes]) -> str:
        """HS-10: the fault of a certificate's signers."""
        signers = signers_of(bitmap)
        if len(bitmap) != (self.validators + 7) // 8:
            return "bitmap length"
        if any(signer >= self.validators for signer in signers):
            return "stray bits"
        if len(signers) < self.quorum:
            return "no quorum"
        return "" if len(signatures) == len(signers) else "signature count"

    def fault_of_signatures(
        self, signers: Sequence[int], namespace: bytes, messages: Sequence[bytes], signatures: Sequence[bytes]
    ) -> str:
        """HS-11: the fault of a certificate's signatures."""
        for signer, message, signature in zip(signers, messages, signatures, strict=True):
            if not self.signatures.verify(signer, namespace, message, signature):
                return "invalid certificate"
        return ""

    def fault_of_certificate(self, certificate: Certificate) -> str:
        """HS-12: the fault of the certificate of a block."""
        if certificate.view == 0:
            return "view out of range" if certificate.signers or certificate.signatures else ""
        if fault := self.fault_of_signers(certificate.signers, certificate.signatures):
            return fault
        signers = signers_of(certificate.signers)
        messages = [self.signed_vote(certificate.view, certificate.digest) for _ in signers]
        return self.fault_of_signatures(signers, VOTE_NAMESPACE, messages, certificate.signatures)

    def fault_of_timeout_certificate(self, certificate: TimeoutCertificate) -> str:
        """HS-13: the fault of a timeout certificate."""
        if certificate.view == 0 or any(view >= certificate.view for view in certificate.views):
            return "view out of range"
        if fault := self.fault_of_signers(certificate.signers, certificate.signatures):
            return fault
        signers = signers_of(certificate.signers)
        if len(certificate.views) != len(signers):
            return "signature count"
        messages = [self.signed_timeout(certificate.view, view) for view in certificate.views]
        return self.fault_of_signatures(signers, TIMEOUT_NAMESPACE, messages, certificate.signatures)

    def check(self, sender: int, message: bytes) -> calls.Answer:
        """HS-14: whether a message is sound and useful."""
        before, found = self.signatures.verified, decode_message(message)
        if not 0 <= sender < self.validators:
            reason = "unknown sender"
        elif found.signer != sender:
            reason = "signer is not the sender"
        elif found.view < 1:
            reason = "view out of range"
        else:
            reason = self.fault_of_vote(found) if isinstance(found, Vote) else self.fault_of_timeout(found)
        return calls.Answer(reason, self.signatures.verified - before)

    def fault_of_vote(self, vote: Vote) -> str:
        """HS-15: the reason to refuse a vote."""
        if not self.view - 1 <= vote.view <= self.view + VIEWS_AHEAD_MAX:
            return STALE
        first = self.first_vote(vote.view, vote.signer)
        if first is not None and (first.digest == vote.digest or (vote.view, vote.signer) in self.reported):
            return STALE
        signed = self.signed_vote(vote.view, vote.digest)
        is_signed = self.signatures.verify(vote.signer, VOTE_NAMESPACE, signed, vote.signature)
        return "" if is_signed else "invalid signature"

    def fault_of_timeout(self, timeout: Timeout) -> str:
        """HS-16: the reason to refuse a TIMEOUT."""
        if timeout.high.view >= timeout.view:
            return "view out of range"
        if timeout.view < self.view or not self.is_later(timeout):
            return STALE
        signed = self.signed_timeout(timeout.view, timeout.high.view)
        if not self.signatures.verify(timeout.signer, TIMEOUT_NAMESPACE, signed, timeout.signature):
            return "invalid signature"
        return self.fault_of_certificate(timeout.high) or self.fault_of_entry(timeout)

    def is_later(self, timeout: Timeout) -> bool:
        """HS-16: whether a TIMEOUT is later than its signer's last, or as late with a later certificate."""
        last = self.timeouts.get(timeout.signer)
        return last is None or (timeout.view, timeout.high.view) > (last.view, last.high.view)

    def fault_of_entry(self, timeout: Timeout) -> str:
        """HS-17: the fault of the timeout certificate that a TIMEOUT shows."""
        if timeout.entry is None:
            return ""
        if timeout.entry.view != timeout.view - 1 or any(view > timeout.high.view for view in timeout.entry.views):
            return "timeout of another view"
        return self.fault_of_timeout_certificate(timeout.entry)

    def check_seal(self, block: calls.Facts, seal: bytes) -> calls.Answer:
        """HS-8, HS-18, HS-19: whether the seal of a block is sound."""
        before, found = self.signatures.verified, decode_seal(seal)
        fault = "malformed" if found is None else self.fault_of_form(block, found) or self.fault_of_seal(block, found)
        return calls.Answer(f"seal: {fault}" if fault else "", self.signatures.verified - before)

    def fault_of_form(self, block: calls.Facts, seal: Seal) -> str:
        """HS-18: the fault of a seal's form."""
        if not 1 <= block.view < 2**62:
            return "view out of range"
        if block.proposer != self.leader(block.view):
            return "not the leader's"
        justify, timeout = seal.justify, seal.timeout
        is_of_parent = justify.digest == block.parent and justify.view < block.view
        if not is_of_parent or (justify.view == 0) != (block.height == 1):
            return "not of the parent"
        if timeout is None:
            return ""
        is_of_view_before = timeout.view == block.view - 1
        return "" if is_of_view_before and self.names_none_above(timeout, justify.view) else "timeout of another view"

    def names_none_above(self, timeout: TimeoutCertificate, view: int) -> bool:
        """HS-18, HS-50, HS-53: whether no signer of a timeout certificate names a certificate above a view."""
        return all(named <= view for named in timeout.views)

    def fault_of_seal(self, block: calls.Facts, seal: Seal) -> str:
        """HS-19: the fault of a seal's signatures."""
        signed = self.signed_vote(block.view, block.digest)
        if not self.signatures.verify(block.proposer, VOTE_NAMESPACE, signed, seal.vote):
            return "invalid signature"
        fault = self.fault_of_certificate(seal.justify)
        return fault or ("" if seal.timeout is None else self.fault_of_timeout_certificate(seal.timeout))

    def verify_finality(self, finality: bytes) -> bool:
        """HS-9, HS-20: whether a proof of finality holds."""
        proof = decode(finality[1:], Proof)
        blocks = [decode_header(header) for header in proof.headers]
        found = [block for block in blocks if block is not None]
        if len(proof.headers) != self.chain_length or len(found) != len(blocks):
            return False
        return self.is_final_chain(found, proof.certificate) and not self.fault_of_certificate(proof.certificate)

    def is_final_chain(self, blocks: Sequence[calls.Facts], certificate: Certificate) -> bool:
        """HS-20: whether blocks are of consecutive views, each the parent of the next, and the last is certified."""
        return all(
            child.parent == parent.digest and child.view == parent.view + 1 for parent, child in pairwise(blocks)
        ) and (blocks[-1].view, blocks[-1].digest) == (certificate.view, certificate.digest)

    # -- what is remembered ------------------------------------------------------------------------

    def replay(self, records: Sequence[bytes], floor: bytes | None) -> str:
        """HS-7, HS-21: the fault of a refused journal, empty for an accepted journal."""
        for record in map(decode_record, (*(() if floor is None else (floor,)), *records)):
            own = record.vote if isinstance(record, CastVote) else record
            if isinstance(own, Vote | Timeout) and own.signer != self.me:
                name = "CastVote" if isinstance(own, Vote) else "ViewTimeout"
                return f"{name} of view {own.view} is by {own.signer}, not by {self.me}"
            self.remember(record)
            self.view = max(self.view, self.view_after(record))
        return ""

    def view_after(self, record: Record) -> int:
        """HS-22: the view that a record leads to."""
        if isinstance(record, Proof):
            return record.certificate.view + 1
        if isinstance(record, CastVote):
            return record.vote.view
        return record.view + 1 if isinstance(record, Certificate | TimeoutCertificate) else record.view

    def remember(self, record: Record) -> None:
        """HS-23: the last record of each kind, the highest certificate and the last voted view."""
        if isinstance(record, CastVote):
            self.vote, self.last_voted = record.vote, max(self.last_voted, record.vote.view)
        elif isinstance(record, Timeout):
            self.timeout, self.last_voted = record, max(self.last_voted, record.view)
        elif isinstance(record, TimeoutCertificate):
            self.entry = record
        elif isinstance(record, Lock):
            self.lock = record
        else:
            certificate = record.certificate if isinstance(record, Proof) else record
            self.high = max(self.high, certificate, key=lambda each: each.view)
            self.final_view = view_of(record) if isinstance(record, Proof) else self.final_view

    def write(self, record: Record) -> None:
        """Remember a record, and append it by the rule that calls this."""
        self.remember(record)
        self.emit(calls.Append(encode_record(record)))

    def emit(self, effect: calls.Effect) -> None:
        """HS-24: give an effect in its place."""
        self.effects.append(effect)

    def forget_below_final(self) -> None:
        """HS-25: blocks of the final view and below, and questions about them, are forgotten."""
        self.blocks = [block for block in self.blocks if block.facts.view > self.final_view]
        self.asked = [asked for asked in self.asked if asked.view > self.final_view]

    def forget_votes(self) -> None:
        """HS-26: votes of views before the last view are forgotten."""
        self.votes = [vote for vote in self.votes if vote.view >= self.view - 1]
        self.reported = [(view, signer) for view, signer in self.reported if view >= self.view - 1]

    # -- starting, and what comes from outside -----------------------------------------------------

    def step(self, event: calls.Event) -> Sequence[calls.Effect]:
        """HS-48: carry out an event, then propose, then vote, if possible."""
        self.effects = []
        self.take(event)
        self.try_to_propose()
        self.try_to_vote()
        return self.effects

    def take(self, event: calls.Event) -> None:
        """HS-48: give an event to its rule."""
        match event:
            case calls.Started():
                self.start()
            case calls.Received(_, message):
                received = decode_message(message)
                self.count_vote(received) if isinstance(received, Vote) else self.take_timeout(received)
            case calls.BlockArrived(sender, block, seal):
                self.send_found_vote(sender, block)
                self.take_block(block, seal)
            case calls.Built(view, digest):
                self.propose(view, digest)
            case calls.Judged(question, view, digest, ok) if question == VERIFY:
                self.take_verification(view, digest, is_sound=ok is True)
            case calls.Judged(_, view, digest, bool(ok)):
                self.take_certification(view, digest, is_sound=ok)
            case calls.TimeoutReached(name, number) if name == VIEW_TIMER and number == self.view:
                self.end_timer()
            case calls.FloorAdopted(finality):
                self.adopt_floor(decode(finality[1:], Proof))
            case calls.AskAgain():
                self.ask_again()

    def start(self) -> None:
        """HS-27: report the view, set the timer, ask about the highest certificate, repeat and count the TIMEOUT."""
        self.emit(calls.Entered(self.view, self.leader(self.view)))
        self.set_timer()
        self.ask(self.high.view, self.high.digest)
        self.found = self.vote if self.vote is not None and self.vote.view >= self.view - 1 else None
        if self.timeout is not None and self.timeout.view == self.view:
            self.emit(calls.Send(None, encode(self.timeout)))
            self.keep_timeout(self.timeout)
            self.certify_timeouts(self.view)

    def send_found_vote(self, sender: int, block: calls.Facts) -> None:
        """HS-28: send the last vote of an earlier life once its block comes from the own disk."""
        if self.found is not None and sender == self.me and self.found.digest == block.digest and not self.is_observer:
            found, self.found = self.found, None
            self.send_vote(found)

    def adopt_floor(self, proof: Proof) -> None:
        """HS-29: take a finality from outside."""
        if view_of(proof) > self.final_view:
            is_higher = proof.certificate.view > self.high.view
            self.make_final(proof)
            self.ended_timers = 0 if is_higher else self.ended_timers
            self.take_certificate(proof.certificate)

    def ask_again(self) -> None:
        """HS-30: ask a new application everything again."""
        self.asked = [Asked(asked.view, asked.digest, None) for asked in self.asked]
        for asked in self.asked:
            self.emit(calls.Judge(CERTIFY, asked.view, asked.digest, None, None))
        self.building_on, self.verifying = None, None

    # -- certificates, lock and finality -----------------------------------------------------------

    def take_certificate(self, certificate: Certificate) -> None:
        """HS-31: take the certificate of a block from any source."""
        if certificate.view > self.high.view:
            self.write(certificate)
            self.move_up()
            self.ended_timers = 0
        self.ask(certificate.view, certificate.digest)
        self.enter(certificate.view + 1)

    def ask(self, view: int, digest: bytes) -> None:
        """HS-32: ask the application once whether a certified block can be built on."""
        is_asked = any((asked.view, asked.digest) == (view, digest) for asked in self.asked)
        if view > self.final_view and not is_asked:
            self.asked.append(Asked(view, digest, None))
            self.emit(calls.Judge(CERTIFY, view, digest, None, None))

    def is_sound(self, view: int, digest: bytes) -> bool:
        """HS-50, HS-52: whether a certified block is not above the final block, or has passed certification."""
        return view <= self.final_view or Asked(view, digest, is_sound=True) in self.asked

    def block(self, digest: bytes) -> Block | None:
        """HS-25, HS-36: a stored block."""
        return next((block for block in self.blocks if block.facts.digest == digest), None)

    def move_up(self) -> None:
        """HS-33, HS-34: lock the parent of the highest certificate's block, and find new final blocks."""
        certified = self.block(self.high.digest)
        if certified is not None:
            self.raise_lock(certified.seal.justify.view, certified.seal.justify.digest)
        proof = self.find_proof()
        if proof is not None:
            self.make_final(proof)

    def raise_lock(self, view: int, digest: bytes) -> None:
        """HS-33: lock a block, upwards only; two-chain has no lock."""
        if not self.is_two_chain and view > self.lock.view:
            self.write(Lock(view, digest))

    def find_proof(self) -> Proof | None:
        """HS-34: the proof of the highest block that stored blocks and certificates make final."""
        certificate = self.high
        while certificate.view > self.final_view:
            chain: list[calls.Facts] = []
            digest = certificate.digest
            while len(chain) < self.chain_length and (block := self.block(digest)) is not None:
                chain.insert(0, block.facts)
                digest = block.facts.parent
            if len(chain) == self.chain_length and self.is_final_chain(chain, certificate):
                return Proof(tuple(facts.header for facts in chain), certificate)
            below = self.block(certificate.digest)
            if below is None:
                return None
            certificate = below.seal.justify
        return None

    def make_final(self, proof: Proof) -> None:
        """HS-35: record a proof, lock by it, forget lower blocks, and report its first block final."""
        self.write(proof)
        second = decode_header(proof.headers[-2])
        assert second is not None, "a proof is verified or made here"
        self.raise_lock(second.view, second.digest)
        self.forget_below_final()
        self.emit(calls.Finalized(encode_record(proof)))

    # -- blocks, votes and timeouts that arrive ----------------------------------------------------

    def take_block(self, block: calls.Facts, encoded: bytes) -> None:
        """HS-36, HS-37: take a block and the certificates of its seal."""
        seal = decode_seal(encoded)
        if seal is None or (seal.justify.view == 0 and seal.justify.digest != self.genesis):
            return
        if not self.is_near(block.view):
            self.take_certificate(seal.justify)
        siblings = [known for known in self.blocks if known.facts.view == block.view]
        is_new = self.block(block.digest) is None and len(siblings) < BLOCKS_OF_A_VIEW_MAX
        if self.is_near(block.view) and is_new:
            self.blocks.append(Block(block, seal))
            self.take_certificate(seal.justify)
            if seal.timeout is not None:
                self.take_timeout_certificate(seal.timeout)
            self.count_vote(Vote(0, block.proposer, block.view, block.digest, seal.vote))
            self.move_up()

    def is_near(self, view: int) -> bool:
        """HS-36: whether a block of a view is above the final block and not too far ahead."""
        return self.final_view < view <= self.view + self.view_retention

    def first_vote(self, view: int, signer: int) -> Vote | None:
        """HS-38: the vote of a signer that counts in a view."""
        return next((vote for vote in self.votes if (vote.view, vote.signer) == (view, signer)), None)

    def count_vote(self, vote: Vote) -> None:
        """HS-38: count a vote; report a second vote for another block."""
        if vote.view < self.view - 1:
            return
        first = self.first_vote(vote.view, vote.signer)
        if first is None:
            self.votes.append(vote)
        elif first.digest != vote.digest and (vote.view, vote.signer) not in self.reported:
            self.reported.append((vote.view, vote.signer))
            evidence = (encode(first), encode(vote))
            self.emit(calls.ReportActivity("ConflictingVotes", vote.signer, vote.view, "", evidence))
        self.certify(vote.view, vote.digest)

    def certify(self, view: int, digest: bytes) -> None:
        """HS-39: make a certificate of a quorum's votes for a block."""
        votes = [vote for vote in self.votes if (vote.view, vote.digest) == (view, digest)]
        if len(votes) < self.quorum or view <= self.high.view:
            return
        if self.quorum == 1:
            self.ask(view, digest)
            if not self.is_sound(view, digest):
                return
        self.take_certificate(self.certificate_of(votes))

    def take_timeout_certificate(self, certificate: TimeoutCertificate) -> None:
        """HS-40: take a timeout certificate."""
        is_later = self.entry is None or certificate.view > self.entry.view
        if is_later and certificate.view >= self.view - 1:
            self.write(certificate)
            self.enter(certificate.view + 1)

    def enter(self, view: int) -> None:
        """HS-41: enter a later view."""
        if view > self.view:
            self.emit(calls.CancelTimer(VIEW_TIMER, self.view))
            self.view = view
            self.forget_votes()
            self.building_on, self.verifying = None, None
            self.emit(calls.Entered(view, self.leader(view)))
            self.set_timer()

    def keep_timeout(self, timeout: Timeout) -> None:
        """HS-42: keep a TIMEOUT in place of its signer's last TIMEOUT."""
        if self.is_later(timeout):
            self.timeouts[timeout.signer] = timeout

    def take_timeout(self, timeout: Timeout) -> None:
        """HS-42: take a TIMEOUT and its certificates."""
        self.keep_timeout(timeout)
        self.take_certificate(timeout.high)
        if timeout.entry is not None:
            self.take_timeout_certificate(timeout.entry)
        self.follow_others()
        self.certify_timeouts(timeout.view)

    # -- views and their end -----------------------------------------------------------------------

    def set_timer(self) -> None:
        """HS-43: set the timer of the current view."""
        wait_us = self.first_wait_us
        for _ in range(self.ended_timers):
            wait_us = min(2 * wait_us, self.longest_wait_us)
        self.emit(calls.SetTimer(VIEW_TIMER, self.view, wait_us))

    def end_timer(self) -> None:
        """HS-44: give the view up because its time is over."""
        self.ended_timers += 1
        self.give_up("ViewExpired")

    def give_up(self, reason: str) -> None:
        """HS-44: give the current view up, and repeat an earlier TIMEOUT."""
        self.set_timer()
        if self.timeout is not None and self.timeout.view >= self.view:
            self.emit(calls.Send(None, encode(self.timeout)))
        else:
            self.say_timeout(reason)
            self.certify_timeouts(self.view)

    def follow_others(self) -> None:
        """HS-45: enter the view that f + 1 other validators have reached, and give it up."""
        views = sorted((each.view for signer, each in self.timeouts.items() if signer != self.me), reverse=True)
        if len(views) <= self.faults:
            return
        view = views[self.faults]
        is_unsaid = not self.is_observer and (self.timeout is None or self.timeout.view < view)
        if view > self.view or (view == self.view and is_unsaid):
            self.enter(view)
            self.give_up("PeerTimeouts")

    def certify_timeouts(self, view: int) -> None:
        """HS-46: make a timeout certificate of a quorum's TIMEOUTs."""
        timeouts = [timeout for timeout in self.timeouts.values() if timeout.view == view]
        if len(timeouts) >= self.quorum and view >= self.view:
            self.take_timeout_certificate(self.timeout_certificate_of(timeouts))

    def say_timeout(self, reason: str) -> None:
        """HS-47: report that a view is given up, and send a TIMEOUT to all."""
        self.emit(calls.ReportActivity("TimedOut", self.leader(self.view), self.view, reason, ()))
        if self.is_observer:
            return
        is_by_timeouts = self.entry is not None and self.entry.view == self.view - 1 != self.high.view
        signed = self.signed_timeout(self.view, self.high.view)
        signature = self.signatures.sign(TIMEOUT_NAMESPACE, signed)
        timeout = Timeout(1, self.me, self.view, self.high, self.entry if is_by_timeouts else None, signature)
        self.write(timeout)
        self.emit(calls.Send(None, encode(timeout)))
        self.keep_timeout(timeout)

    # -- proposals and own votes -------------------------------------------------------------------

    def may_vote(self) -> bool:
        """HS-49: whether a vote may be cast in the current view."""
        return not self.is_observer and self.view > self.last_voted

    def try_to_propose(self) -> None:
        """HS-50: ask for a block, as the leader of the current view."""
        high, entry = self.high, self.entry
        if self.leader(self.view) != self.me or self.building_on is not None or not self.may_vote():
            return
        is_shown = entry is not None and entry.view == self.view - 1 and self.names_none_above(entry, high.view)
        if (high.view == self.view - 1 or is_shown) and self.is_sound(high.view, high.digest):
            self.building_on = high
            self.emit(calls.Build(self.view, high.view, high.digest))

    def propose(self, view: int, digest: bytes | None) -> None:
        """HS-51: vote for the own block, and relay it with its seal."""
        justify = self.building_on
        if view == self.view and justify is not None and digest is not None and self.may_vote():
            vote = self.cast_vote(digest, justify.view)
            timeout = None if justify.view == view - 1 else self.entry
            self.emit(calls.Relay(digest, encode(Seal(justify, vote.signature, timeout))))
            self.send_vote(vote)

    def try_to_vote(self) -> None:
        """HS-52: request the verification of the current view's first block that may get the vote."""
        block = next((block for block in self.blocks if self.may_vote_for(block)), None)
        if block is None or self.verifying is not None or block.facts.proposer == self.me:
            return
        parent = block.seal.justify
        is_here = parent.view <= self.final_view or self.block(parent.digest) is not None
        if is_here and self.is_sound(parent.view, parent.digest):
            self.verifying = block.facts.digest
            self.emit(calls.Judge(VERIFY, block.facts.view, block.facts.digest, parent.view, parent.digest))

    def may_vote_for(self, block: Block) -> bool:
        """HS-49, HS-53: whether a block may get the vote."""
        if block.facts.view != self.view or not self.may_vote():
            return False
        justify, timeout = block.seal.justify, block.seal.timeout
        if not self.is_two_chain:
            return justify.view > self.lock.view or (justify.view, justify.digest) == self.lock
        is_shown = timeout is not None and timeout.view == self.view - 1
        return justify.view == self.view - 1 or (
            is_shown and timeout is not None and self.names_none_above(timeout, justify.view)
        )

    def cast_vote(self, digest: bytes, parent_view: int) -> Vote:
        """HS-51, HS-55: sign a vote in the current view, and record it."""
        signature = self.signatures.sign(VOTE_NAMESPACE, self.signed_vote(self.view, digest))
        vote = Vote(0, self.me, self.view, digest, signature)
        self.write(CastVote(vote, parent_view))
        return vote

    def send_vote(self, vote: Vote) -> None:
        """HS-54: send a vote to the leader of the next view, and count it."""
        self.emit(calls.Send(self.leader(vote.view + 1), encode(vote)))
        self.count_vote(vote)

    def take_verification(self, view: int, digest: bytes, *, is_sound: bool) -> None:
        """HS-55: vote for a block that was found sound in time."""
        block = self.block(digest)
        if not is_sound or view != self.view or self.verifying != digest or block is None:
            return
        if self.may_vote_for(block):
            if block.seal.timeout is not None and block.seal.timeout != self.entry:
                self.write(block.seal.timeout)
            self.send_vote(self.cast_vote(digest, block.seal.justify.view))

    def take_certification(self, view: int, digest: bytes, *, is_sound: bool) -> None:
        """HS-32, HS-39: note an answer, and count a single validator's vote again."""
        self.asked = [
            Asked(view, digest, is_sound) if (asked.view, asked.digest) == (view, digest) else asked
            for asked in self.asked
        ]
        if self.quorum == 1:
            self.certify(view, digest)
