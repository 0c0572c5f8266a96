"""HotStuff's rules one by one: seals, certificates, the commit rule, votes, and what a joiner believes."""

from hashlib import sha256

import msgspec
import pytest

from tests.support.hotstuff_harness import config_of, header_of
from tests.support.simplex_bench import GENESIS, SECOND_US, KeyedHashScheme
from validators.consensus.headers import read_facts
from validators.consensus.hotstuff.casting import Voter
from validators.consensus.hotstuff.certificates import (
    certify_block,
    certify_timeout,
    find_timeout_certificate_fault,
    genesis_certificate,
)
from validators.consensus.hotstuff.engine import HotStuff
from validators.consensus.hotstuff.finality import Commit, verify_commit
from validators.consensus.hotstuff.journal import CastVote, Lock, Memory
from validators.consensus.hotstuff.messages import (
    TIMEOUT_NAMESPACE,
    VOTE_NAMESPACE,
    BlockSeal,
    BlockVote,
    QuorumCertificate,
    TimeoutCertificate,
    ViewTimeout,
    timeout_bytes,
    vote_bytes,
)
from validators.consensus.hotstuff.sealing import check_seal, encode_seal
from validators.consensus.hotstuff.tree import JustifiedBlock, SealedTree
from validators.consensus.interface import (
    Append,
    BlockArrived,
    BlockRef,
    Built,
    CorruptRecordError,
    FloorAdopted,
    Judge,
    Judged,
    Question,
    Received,
    SetTimer,
    Started,
    TimeoutReached,
)

VALIDATORS = 4
SCHEME = KeyedHashScheme(0)


def vote(signer, view, digest):
    return BlockVote(signer, view, digest, KeyedHashScheme(signer).sign(VOTE_NAMESPACE, vote_bytes(view, digest)))


def certify(facts, signers=(0, 1, 2)):
    return certify_block({signer: vote(signer, facts.view, facts.digest) for signer in signers}, VALIDATORS)


def timeouts_of(view, high):
    signatures = {
        signer: KeyedHashScheme(signer).sign(TIMEOUT_NAMESPACE, timeout_bytes(view, high.view)) for signer in (1, 2, 3)
    }
    timeouts = {signer: ViewTimeout(signer, view, high, None, signed) for signer, signed in signatures.items()}
    return certify_timeout(timeouts, VALIDATORS)


def timeout_of(signer, view, high):
    signature = KeyedHashScheme(signer).sign(TIMEOUT_NAMESPACE, timeout_bytes(view, high.view))
    return ViewTimeout(signer, view, high, None, signature)


def engine_of(me, validators=VALIDATORS):
    """Return an engine that was started."""
    engine = HotStuff(
        me=me, validators=validators, scheme=KeyedHashScheme(me), config=config_of("two-chain"), genesis=GENESIS
    )
    engine.step(Started())
    return engine


def chain_of(*views):
    """Return justified blocks of these views, each on the one before, and the certificate of the last."""
    blocks, justify, parent = [], genesis_certificate(GENESIS), GENESIS
    for height, view in enumerate(views, 1):
        facts = read_facts(header_of(view, height, parent, view // 2 % VALIDATORS))
        blocks.append(JustifiedBlock(facts, justify, None))
        justify, parent = certify(facts), facts.digest
    return blocks, justify


def tree_of(blocks):
    tree = SealedTree()
    for block in blocks:
        tree.add(block)
    return tree


class TestCommitRule:
    @pytest.mark.parametrize(
        ("views", "length", "final"),
        [
            ((1, 2, 3), 3, 1),
            ((1, 2, 3, 4), 3, 2),
            ((1, 2, 4), 3, None),
            ((1, 2, 3, 5), 3, 1),
            ((1, 2), 2, 1),
            ((1, 3), 2, None),
        ],
    )
    def test_only_consecutive_views_make_a_block_final(self, views, length, final):
        """A chain further down counts as well: its certificate may have come before its blocks."""
        blocks, certificate = chain_of(*views)
        commit = tree_of(blocks).find_commit(certificate, 0, length)

        assert (None if commit is None else commit.view) == final

    def test_a_missing_block_hides_the_chain_until_it_comes(self):
        blocks, certificate = chain_of(1, 2, 3)
        tree = tree_of([blocks[0], blocks[2]])
        assert tree.find_commit(certificate, 0, 3) is None
        tree.add(blocks[1])

        assert tree.find_commit(certificate, 0, 3).digest == blocks[0].facts.digest

    def test_what_is_final_is_not_made_final_again(self):
        blocks, certificate = chain_of(1, 2, 3)

        assert tree_of(blocks).find_commit(certificate, 1, 3) is None


class TestProof:
    def test_a_proof_holds_in_its_own_profile_only(self):
        """Two blocks prove nothing to a joiner of three-chain: the first may still be abandoned."""
        blocks, certificate = chain_of(1, 2)
        proof = Commit(tuple(block.facts.header for block in blocks), certificate)

        assert verify_commit(SCHEME, proof, VALIDATORS, config_of("two-chain"))
        assert not verify_commit(SCHEME, proof, VALIDATORS, config_of("three-chain"))

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda headers, certificate: (headers[::-1], certificate),
            lambda headers, certificate: ((headers[0], headers[0]), certificate),
            lambda headers, certificate: ((b"\xc0", headers[1]), certificate),
            lambda headers, certificate: (headers, msgspec.structs.replace(certificate, signers=b"\x03")),
            lambda headers, certificate: (headers, msgspec.structs.replace(certificate, signatures=(b"", b"", b""))),
            lambda headers, certificate: (headers, msgspec.structs.replace(certificate, view=3)),
        ],
    )
    def test_a_spoilt_proof_proves_nothing(self, spoil):
        blocks, certificate = chain_of(1, 2)
        headers, certificate = spoil(tuple(block.facts.header for block in blocks), certificate)

        assert not verify_commit(SCHEME, Commit(headers, certificate), VALIDATORS, config_of("two-chain"))


class TestSeal:
    def facts_and_seal(self, **changes):
        (parent,), justify = chain_of(1)
        facts = read_facts(header_of(2, 2, parent.facts.digest, 1))
        seal = BlockSeal(justify, vote(1, 2, facts.digest).signature, None)
        return facts, msgspec.structs.replace(seal, **changes)

    def reason(self, facts, seal):
        return check_seal(SCHEME, facts, encode_seal(seal), VALIDATORS).reason

    def test_a_true_seal_is_sound_and_counts_its_signatures(self):
        facts, seal = self.facts_and_seal()
        scheme = KeyedHashScheme(3)
        checked = check_seal(scheme, facts, encode_seal(seal), VALIDATORS)

        assert (checked.ok, checked.reason, checked.signatures_verified) == (True, "", 4)

    def test_only_the_certificate_of_the_parent_justifies(self):
        """Another sound certificate could be exchanged on the way."""
        others, certificate = chain_of(1, 3)
        facts, seal = self.facts_and_seal(justify=certificate)
        assert self.reason(facts, seal) == "seal: not of the parent"
        _, seal = self.facts_and_seal(justify=genesis_certificate(GENESIS))

        assert self.reason(facts, seal) == "seal: not of the parent"
        assert others

    def test_the_proposer_has_to_lead_and_to_have_signed(self):
        facts, seal = self.facts_and_seal(vote=b"")
        assert self.reason(facts, seal) == "seal: invalid signature"
        stranger = read_facts(header_of(2, 2, facts.parent, 3))

        assert self.reason(stranger, seal) == "seal: not the leader's"

    def test_bytes_that_are_no_seal_are_refused(self):
        facts, _ = self.facts_and_seal()

        assert check_seal(SCHEME, facts, b"", VALIDATORS).reason == "seal: malformed"

    def test_a_timeout_certificate_of_another_view_is_refused(self):
        (parent,), justify = chain_of(1)
        facts, seal = self.facts_and_seal(timeout=timeouts_of(3, justify))

        assert self.reason(facts, seal) == "seal: timeout of another view"
        assert parent


class TestTimeouts:
    def test_views_of_a_certificate_stand_by_signer(self):
        """Each signature covers the view of its signer's highest certificate, whoever came first."""
        _, high = chain_of(1)
        signed = {1: high, 2: genesis_certificate(GENESIS), 3: high}
        timeouts = {signer: timeout_of(signer, 2, signed[signer]) for signer in (2, 3, 1)}
        certificate = certify_timeout(timeouts, VALIDATORS)

        assert certificate.high_views == (1, 0, 1)
        assert find_timeout_certificate_fault(SCHEME, certificate, VALIDATORS) == ""

    def test_a_timeout_with_a_certificate_that_nobody_signed_is_refused(self):
        """The timeout's own signature covers the view of that certificate and no more."""
        _, high = chain_of(1)
        engine = engine_of(0)
        forged = msgspec.structs.replace(high, signatures=(bytes(32),) * 3)
        checks = [engine.check(1, timeout_of(1, 2, each)) for each in (forged, high)]

        assert [(check.ok, check.reason) for check in checks] == [(False, "invalid certificate"), (True, "")]

    def test_who_joined_without_it_keeps_the_certificate_of_the_view_before(self):
        """Three of seven have led it into view 5; the block of view 5 brings the timeouts of view 4."""
        engine = engine_of(0, validators=7)
        genesis = genesis_certificate(GENESIS)
        for signer in (1, 3, 4):
            engine.step(Received(signer, timeout_of(signer, 5, genesis)))
        before = certify_timeout({signer: timeout_of(signer, 4, genesis) for signer in (1, 2, 3, 4, 5)}, 7)
        facts = read_facts(header_of(5, 1, GENESIS, 2))
        seal = BlockSeal(genesis, vote(2, 5, facts.digest).signature, before)
        effects = engine.step(BlockArrived(2, facts, encode_seal(seal)))
        written = [effect.record for effect in effects if isinstance(effect, Append)]

        assert engine.position.view == 5
        assert before in written


class TestVoting:
    def voter(self, profile):
        memory = Memory(high=genesis_certificate(GENESIS), locked=BlockRef(0, GENESIS))
        return Voter(3, KeyedHashScheme(3), config_of(profile)), memory

    def test_a_block_below_the_lock_gets_no_vote(self):
        """Of the locked view the locked block alone may be extended."""
        voter, memory = self.voter("three-chain")
        blocks, _ = chain_of(1, 2, 5)
        memory.view = 5
        assert voter.may_vote_for(memory, blocks[2])
        memory.take(Lock(*blocks[1].ref))
        assert voter.may_vote_for(memory, blocks[2])
        memory.take(Lock(2, sha256(b"other").digest()))
        assert not voter.may_vote_for(memory, blocks[2])
        memory.take(Lock(3, sha256(b"later").digest()))

        assert not voter.may_vote_for(memory, blocks[2])

    def test_two_chain_asks_for_the_view_before_or_for_its_timeouts(self):
        voter, memory = self.voter("two-chain")
        blocks, _ = chain_of(1, 2, 5)
        memory.view = 5
        late = blocks[2]
        assert not voter.may_vote_for(memory, late)
        shown = timeouts_of(4, blocks[2].justify)
        assert voter.may_vote_for(memory, JustifiedBlock(late.facts, late.justify, shown))
        _, higher = chain_of(1, 2, 3)
        hidden = timeouts_of(4, higher)

        assert not voter.may_vote_for(memory, JustifiedBlock(late.facts, late.justify, hidden))

    @pytest.mark.parametrize("profile", ["three-chain", "two-chain"])
    def test_no_vote_in_a_view_that_was_voted_or_given_up(self, profile):
        voter, memory = self.voter(profile)
        memory.view = 2
        given_up = voter.timeout(memory)
        assert voter.may_vote(memory, 2)
        memory.take(given_up)

        assert not voter.may_vote(memory, 2)
        assert voter.may_vote(memory, 3)
        memory.take(voter.vote(BlockRef(3, GENESIS), 0))
        assert not voter.may_vote(memory, 3)

    def test_a_vote_of_an_earlier_life_waits_for_its_block_from_the_own_disk(self):
        """A crash in the middle of a sync can keep the vote and lose the block."""
        voter, _ = self.voter("three-chain")
        voter.found = vote(3, 5, GENESIS)

        assert voter.take_found(3, sha256(b"another").digest()) is None
        assert voter.take_found(2, GENESIS) is None
        assert voter.take_found(3, GENESIS) == vote(3, 5, GENESIS)
        assert voter.take_found(3, GENESIS) is None


class TestASingleValidator:
    def test_its_vote_is_a_certificate_only_when_the_block_is_stored(self):
        """Power that goes in between would leave a certificate that nothing can follow."""
        lone = HotStuff(me=0, validators=1, scheme=KeyedHashScheme(0), config=config_of("three-chain"), genesis=GENESIS)
        lone.step(Started())
        block = BlockRef(1, sha256(b"block").digest())
        cast = lone.step(Built(*block))
        written = [effect.record for effect in cast if isinstance(effect, Append)]
        assert [type(record) for record in written] == [CastVote]
        assert Judge(Question.CERTIFY, block) in cast

        certified = lone.step(Judged(Question.CERTIFY, block, ok=True))
        written = [effect.record for effect in certified if isinstance(effect, Append)]
        assert [(type(record), record.view) for record in written] == [(QuorumCertificate, 1)]
        assert lone.position.view == 2

    def test_its_timeout_of_an_earlier_life_is_a_certificate(self):
        """The power went between the two records: without a second one nobody would ever leave the view."""
        lone = HotStuff(me=0, validators=1, scheme=KeyedHashScheme(0), config=config_of("three-chain"), genesis=GENESIS)
        lone.replay([timeout_of(0, 1, genesis_certificate(GENESIS))], None)

        written = [effect.record for effect in lone.step(Started()) if isinstance(effect, Append)]

        assert [(type(record), record.view) for record in written] == [(TimeoutCertificate, 1)]
        assert lone.position.view == 2


def test_a_joiner_waits_no_longer_after_a_proof_from_outside():
    """The certificate in the proof is a new highest one, which makes the wait the first one again."""
    blocks, certificate = chain_of(6, 7)
    engine = engine_of(3)
    waits = [effect.after_us for _ in range(3) for effect in engine.step(TimeoutReached("view", 1))[:1]]
    assert waits == [6 * SECOND_US, 12 * SECOND_US, 12 * SECOND_US]

    commit = Commit(tuple(block.facts.header for block in blocks), certificate)
    (timer,) = [effect for effect in engine.step(FloorAdopted(commit)) if isinstance(effect, SetTimer)]
    assert (timer.number, timer.after_us) == (8, 3 * SECOND_US)


def test_a_block_too_far_ahead_is_voted_for_where_its_certificate_leads():
    """Views were missed: the block of the view that its own certificate begins is the one to vote for there."""
    config = config_of("two-chain", retention=1)
    late = HotStuff(me=3, validators=VALIDATORS, scheme=KeyedHashScheme(3), config=config, genesis=GENESIS)
    late.step(Started())
    blocks, _ = chain_of(1, 2, 3)
    for block in (blocks[2], blocks[1]):
        facts = block.facts
        signature = KeyedHashScheme(facts.proposer).sign(VOTE_NAMESPACE, vote_bytes(facts.view, facts.digest))
        late.step(BlockArrived(facts.proposer, facts, encode_seal(BlockSeal(block.justify, signature, None))))
    asked = late.step(Judged(Question.CERTIFY, blocks[1].ref, ok=True))

    assert late.position.view == 3
    assert Judge(Question.VERIFY, blocks[2].ref, blocks[1].ref) in asked


@pytest.mark.parametrize(
    ("record", "named"),
    [
        (CastVote(vote(1, 2, bytes(32)), 1), "CastVote of view 2 is by 1, not by 0"),
        (ViewTimeout(1, 2, genesis_certificate(GENESIS), None, b""), "ViewTimeout of view 2 is by 1, not by 0"),
    ],
)
def test_a_journal_with_a_record_of_another_signer_is_refused(record, named):
    lone = HotStuff(
        me=0, validators=VALIDATORS, scheme=KeyedHashScheme(0), config=config_of("two-chain"), genesis=GENESIS
    )
    with pytest.raises(CorruptRecordError, match=named):
        lone.replay([record])
