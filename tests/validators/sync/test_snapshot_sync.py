"""A snapshot is served in pieces, believed only where its roots are those of a certified header, or refused by name."""

from types import SimpleNamespace

import msgspec
import pytest

from tests.properties.stub_port import DecodingPort
from tests.support.checker_chain import HEIGHTS, run_chain
from tests.support.simplex_bench import KeyedHashScheme, finalization
from validators.actors import PROGRAMS
from validators.consensus.simplex import Proposal
from validators.consensus.simplex.kind import SIMPLEX
from validators.costs import Costs
from validators.execution import ApplyMode, Engine, ProposalContext
from validators.execution.blocks import decode_header, encode_header
from validators.identity import TransactionVerifier
from validators.messages import (
    SnapshotChunk,
    SnapshotChunkRequest,
    SnapshotOffer,
    SnapshotRequest,
    message_codec,
)
from validators.settings import ValidatorSettings
from validators.sync.serving import UNDER_WAY, Answer, Serving
from validators.sync.snapshots import ATTEMPTS, Checked, SnapshotJoin, SnapshotSource, cut_operations

SETTINGS = SimpleNamespace(
    consensus=SIMPLEX,
    consensus_config=None,
    node=0,
    validators=4,
    costs=Costs(),
    fetch_timeout_us=1_000_000,
    snapshot_gap_blocks=2,
    snapshot_chunk_bytes=600,
)


@pytest.fixture(scope="module")
def chain():
    return run_chain()


def certify(engine):
    """Return the certificate of an engine's finalized block."""
    header = engine.finalized
    return finalization(Proposal(header.view, header.view - 1, engine.finalized_digest))


class Source:
    """An honest server of one engine's state."""

    def __init__(self, engine, certificate=None, *, is_sure=True):
        self.wire = DecodingPort(message_codec(SIMPLEX))
        self.refused = []
        self.serving = Serving(
            self.wire,
            message_codec(SIMPLEX),
            answers_per_second=8,
            refuse=lambda _, reason: self.refused.append(reason),
        )
        finality = (lambda: certificate or certify(engine)) if is_sure else lambda: None
        self.source = SnapshotSource(engine, SETTINGS, self.serving, finality=finality)

    def answer(self, request):
        """Return what the server says to validator 0, or None."""
        if isinstance(request, SnapshotRequest):
            self.source.offer(0, request)
        else:
            self.source.serve(0, request)
        while self.wire.works:
            cost_us, token = self.wire.works.pop(0)
            assert cost_us > 0
            self.serving.send(token)
        return self.wire.sent.pop(0)[1] if self.wire.sent else None


class Joiner:
    """A validator at genesis that wants a snapshot, and what came of it."""

    def __init__(self, chain):
        self.wire = DecodingPort(message_codec(SIMPLEX))
        self.engine = Engine(chain.genesis, programs=PROGRAMS, verify_transaction=TransactionVerifier())
        self.joined = []
        self.given_up = 0
        self.refused = []
        self.join = SnapshotJoin(
            self.wire,
            message_codec(SIMPLEX),
            self.engine,
            settings=SETTINGS,
            scheme=KeyedHashScheme(0),
            joined=lambda *proved: self.joined.append(proved),
            give_up=self.give_up,
            refuse=lambda what, reason: self.refused.append(reason),
        )

    def give_up(self):
        self.given_up += 1

    def run(self, peers):
        """Ask the peers, a server or None for each, until nothing more is to be done."""
        self.join.begin(list(peers))
        while self.wire.sent or self.wire.works or self.wire.timers:
            if self.wire.sent:
                peer, request = self.wire.sent.pop(0)
                answer = peers[peer].answer(request) if peers[peer] else None
                if isinstance(answer, SnapshotOffer):
                    self.join.take_offer(peer, answer)
                elif answer is not None:
                    self.join.take_chunk(peer, answer)
            elif self.wire.works:
                cost_us, token = self.wire.works.pop(0)
                assert cost_us > 0
                assert isinstance(token, Checked)
                self.join.check(token)
            else:
                self.wire.timers.clear()
                self.join.retry()
        return self


class Forger(Source):
    """A server that changes what it says."""

    def __init__(self, engine, forge):
        super().__init__(engine)
        self.forge = forge

    def answer(self, request):
        return self.forge(super().answer(request))


def on_offer(**changes):
    return lambda said: msgspec.structs.replace(said, **changes) if isinstance(said, SnapshotOffer) else said


def on_outline(change):
    def forge(said):
        if isinstance(said, SnapshotOffer):
            return msgspec.structs.replace(said, outline=change(said.outline))
        return said

    return forge


def flip(data):
    return bytes([data[0] ^ 1]) + data[1:]


def on_last_piece(change):
    """Change the operations of the piece that holds the last commit."""

    def forge(said):
        if isinstance(said, SnapshotChunk):
            return msgspec.structs.replace(said, operations=change(said.operations))
        return said

    return forge


def alter(name, change):
    return on_outline(lambda outline: msgspec.structs.replace(outline, **{name: change(getattr(outline, name))}))


def test_an_honest_peers_snapshot_is_joined_in_pieces(chain):
    """The joined state has the same roots, the same timers due, and the same next block."""
    peer = chain.engines[1]
    joiner = Joiner(chain).run({1: Source(peer)})
    ((header, snapshot, finality),) = joiner.joined

    assert (header, finality) == (peer.finalized, certify(peer))
    assert joiner.refused == []
    engine = Engine(
        chain.genesis, programs=PROGRAMS, verify_transaction=TransactionVerifier(), header=header, base=snapshot
    )
    assert engine.database.canonical_root == peer.database.canonical_root
    assert dict(engine.live_values()) == dict(peer.live_values())
    assert engine.due_heights(10**6) == peer.due_heights(10**6)
    assert len(list(cut_operations(snapshot.operations, SETTINGS.snapshot_chunk_bytes))) > 2


FORGERIES = {
    "header": (on_offer(header=b"\x00"), "header"),
    "another header": (lambda said: on_offer(header=_other_header(said))(said), "the certificate is of another block"),
    "quorum": (lambda said: on_offer(certificate=_weaken(said))(said), "certificate"),
    "witness": (alter("witness", flip), "witness"),
    "root": (alter("root", flip), "witness"),
    "size": (alter("size", lambda size: size + 1), "truncated"),
    "floor": (alter("floor", lambda floor: floor + 1), "floor"),
    "start": (alter("start", lambda start: start + 1), "truncated"),
    "peaks": (alter("peaks", lambda peaks: (*peaks, bytes(32))), "peaks"),
    "negative": (alter("start", lambda start: -1), "outline"),
    "endless": (alter("size", lambda size: 1 << 62), "truncated"),
    "operations in the outline": (alter("operations", lambda operations: (b"x",)), "outline"),
    "no pieces": (on_offer(chunks=0), "outline"),
    "too few pieces": (on_offer(chunks=1), "truncated"),
    "a byte": (on_last_piece(lambda operations: (flip(operations[0]), *operations[1:])), "operations"),
    "an operation left out": (on_last_piece(lambda operations: operations[1:]), "truncated"),
    "an empty piece": (on_last_piece(lambda operations: ()), "empty or too long"),
    "too much": (on_last_piece(lambda operations: operations * 100), "empty or too long"),
    "silence": (lambda said: None, "unanswered"),
    "silence in the midst": (lambda said: None if isinstance(said, SnapshotChunk) else said, "unanswered"),
}


def _other_header(said):
    if not isinstance(said, SnapshotOffer):
        return b""
    return encode_header(msgspec.structs.replace(decode_header(said.header), timestamp_ms=1))


def _weaken(said):
    """Return the certificate with one signature broken."""
    if not isinstance(said, SnapshotOffer):
        return None
    signatures = said.certificate.signatures
    return msgspec.structs.replace(said.certificate, signatures=(flip(signatures[0]), *signatures[1:]))


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_or_truncated_snapshot_makes_it_ask_another_peer(chain, name):
    """The refusal names the peer and the part; the next peer's snapshot is joined."""
    forge, part = FORGERIES[name]
    joiner = Joiner(chain).run({2: Forger(chain.engines[2], forge), 3: Source(chain.engines[3])})

    assert [reason.startswith("of validator 2: ") for reason in joiner.refused] == [True]
    assert part in joiner.refused[0]
    assert [header for header, _, _ in joiner.joined] == [chain.engines[3].finalized]
    assert joiner.given_up == 0


@pytest.mark.parametrize("name", ["another header", "quorum", "witness", "root", "negative"])
def test_no_piece_is_fetched_of_what_is_not_certified(chain, name):
    """Header, certificate and witness are judged first: a forger cannot make anybody download."""
    forger = Forger(chain.engines[2], FORGERIES[name][0])
    joiner = Joiner(chain)
    joiner.join.begin([2])
    joiner.join.take_offer(2, forger.answer(SnapshotRequest(0)))

    assert [type(request) for _, request in joiner.wire.sent] == [SnapshotRequest]
    assert joiner.given_up == 1


def test_a_snapshot_that_is_not_above_the_own_height_is_refused(chain):
    """An old state, however true, is no way forward."""
    joiner = Joiner(chain)
    joiner.engine._tree = chain.engines[0]._tree
    joiner.join.begin([1])
    joiner.join.take_offer(1, Source(chain.engines[1]).answer(SnapshotRequest(0)))

    assert joiner.refused == [f"of validator 1: header: height {HEIGHTS} is not above {HEIGHTS}"]


def test_a_final_block_without_its_proof_is_offered_to_nobody(chain):
    """A validator of the longest chain that has just restarted knows its final block from its journal alone."""
    assert Source(chain.engines[0], SimpleNamespace(is_proved=False)).answer(SnapshotRequest(0)) is None


def test_when_nobody_can_help_it_gives_up(chain):
    """Then the blocks are fetched; it has asked each peer, and the silent one several times."""
    forge, _ = FORGERIES["a byte"]
    joiner = Joiner(chain).run({1: None, 2: Forger(chain.engines[2], forge)})

    assert (joiner.given_up, joiner.joined) == (1, [])
    assert [reason.split(":")[0] for reason in joiner.refused] == ["of validator 1", "of validator 2"]


def test_a_lost_message_is_asked_for_again(chain):
    """A peer that answers in time for the last attempt is not refused."""
    losses = iter([True] * (ATTEMPTS - 1))
    joiner = Joiner(chain).run({1: Forger(chain.engines[1], lambda said: None if next(losses, False) else said)})

    assert joiner.refused == []
    assert len(joiner.joined) == 1


def test_what_was_not_asked_for_is_refused_and_changes_nothing(chain):
    """An offer or a piece from another peer, or of another snapshot, does not disturb the one under way."""
    joiner, source = Joiner(chain), Source(chain.engines[1])
    offer = source.answer(SnapshotRequest(0))
    joiner.join.begin([1])

    joiner.join.take_offer(2, offer)
    assert [peer for peer, _ in joiner.wire.sent] == [1]
    joiner.join.take_offer(1, offer)
    joiner.join.take_offer(1, offer)
    joiner.join.take_chunk(1, SnapshotChunk(bytes(32), 0, (b"x",)))
    joiner.join.take_chunk(1, SnapshotChunk(chain.engines[1].finalized_digest, 1, (b"x",)))
    assert joiner.refused == ["was not asked for"] * 2 + ["piece was not asked for"] * 2

    joiner.wire.sent.clear()
    request = SnapshotChunkRequest(chain.engines[1].finalized_digest, 0)
    joiner.join.take_chunk(1, source.answer(request))
    assert joiner.wire.sent == [(1, replace_index(request, 1))]


def replace_index(request, index):
    return msgspec.structs.replace(request, index=index)


@pytest.mark.parametrize(("node", "is_bounded"), [(0, False), (4, True)])
def test_a_replica_that_is_no_validator_may_ask_all_of_them(chain, monkeypatch, node, is_bounded):
    monkeypatch.setattr(SETTINGS, "node", node)
    joiner = Joiner(chain)
    joiner.join.begin(range(4))

    (peers,) = joiner.join.derived().sizes
    assert (peers.found <= peers.bound) is is_bounded


class TestSource:
    def test_nothing_is_offered_at_or_below_the_peers_height(self, chain):
        """A snapshot brings forward."""
        source = Source(chain.engines[0])
        assert source.answer(SnapshotRequest(HEIGHTS)) is None
        assert source.answer(SnapshotRequest(HEIGHTS - 1)) is not None

    def test_a_snapshot_of_no_use_to_the_peer_gives_way_to_a_newer_one(self):
        """However young it is; the peer may have joined from the very one that stands there."""
        chain = run_chain()
        engine = chain.engines[0]
        source = Source(engine)
        assert decode_header(source.answer(SnapshotRequest(0)).header).height == HEIGHTS
        tip = engine.finalized
        context = ProposalContext(
            parent=engine.finalized_digest, view=tip.view + 1, proposer=0, timestamp_ms=tip.timestamp_ms + 1_000
        )
        engine.finalize(engine.propose(context, ()).digest)

        assert decode_header(source.answer(SnapshotRequest(0)).header).height == HEIGHTS
        assert decode_header(source.answer(SnapshotRequest(HEIGHTS)).header).height == HEIGHTS + 1

    def test_nothing_is_offered_without_a_certificate(self, chain):
        """The joiner could not believe it."""
        assert Source(chain.engines[0], is_sure=False).answer(SnapshotRequest(0)) is None

    def test_one_answer_at_a_time_is_prepared_for_a_peer(self, chain):
        """A peer that asks without waiting costs no more than one that waits; another peer is not held up."""
        source = Source(chain.engines[0])
        for peer in (1, 1, 1, 2):
            source.source.offer(peer, SnapshotRequest(0))
        assert [token.peer for _, token in source.wire.works] == [1, 2]
        assert all(isinstance(token, Answer) for _, token in source.wire.works)
        assert source.refused == [UNDER_WAY, UNDER_WAY]

    def test_what_is_served_follows_from_its_outline(self, chain):
        source = Source(chain.engines[1])
        assert source.source.derived().kept == {}

        source.answer(SnapshotRequest(0))
        whole = source.source.derived()
        assert whole.kept == whole.rebuilt
        assert all(size.found <= size.bound for size in whole.sizes)

        source.source._cut.chunks.pop()
        shorter = source.source.derived()
        assert shorter.kept["operations"] < shorter.rebuilt["operations"]
        source.source._cut.chunks[:] = [tuple(operation for chunk in source.source._cut.chunks for operation in chunk)]
        assert source.source.derived().sizes[1].found > source.source.derived().sizes[1].bound

    def test_a_piece_that_does_not_exist_is_not_answered(self, chain):
        """Of this snapshot or of another."""
        source = Source(chain.engines[0])
        digest = chain.engines[0].finalized_digest
        assert source.answer(SnapshotChunkRequest(digest, 0)) is None
        offer = source.answer(SnapshotRequest(0))
        assert source.answer(SnapshotChunkRequest(digest, offer.chunks)) is None
        assert source.answer(SnapshotChunkRequest(digest, -1)) is None
        assert source.answer(SnapshotChunkRequest(bytes(32), 0)) is None
        assert source.answer(SnapshotChunkRequest(digest, offer.chunks - 1)) is not None

    def test_an_old_snapshot_is_replaced_and_a_young_one_kept(self):
        """A joiner in the midst of its pieces is not disturbed by every new block."""
        chain = run_chain()
        engine = SimpleNamespace(
            finalized=chain.engines[0].finalized,
            finalized_digest=chain.engines[0].finalized_digest,
            snapshot=chain.engines[0].snapshot,
        )
        source = Source(engine, certify(chain.engines[0]))
        first = source.answer(SnapshotRequest(0))
        engine.finalized = msgspec.structs.replace(engine.finalized, height=HEIGHTS + 1)
        assert source.answer(SnapshotRequest(0)) == first
        engine.finalized = msgspec.structs.replace(engine.finalized, height=HEIGHTS + 2)
        assert source.answer(SnapshotRequest(0)) != first

    def test_what_was_applied_early_is_no_part_of_the_snapshot(self):
        """A validator that applies certified blocks serves the finalized state like any other."""
        chain = run_chain()
        mode = ApplyMode(apply="certified")
        verifier = TransactionVerifier()
        engine = Engine(chain.genesis, programs=PROGRAMS, verify_transaction=verifier, apply_mode=mode)
        for executed in chain.blocks:
            engine.execute(executed.block)
        engine.finalize(chain.blocks[2].digest)
        engine.certify(chain.blocks[4].digest)
        assert engine.database.canonical_root == chain.blocks[4].header.state_root
        joiner = Joiner(chain).run({1: Source(engine)})

        assert [header for header, _, _ in joiner.joined] == [chain.blocks[2].header]
        engine.finalize(chain.blocks[-1].digest)
        assert engine.database.canonical_root == chain.blocks[-1].header.state_root


def test_settings_of_this_test_are_those_of_a_validator():
    """The stand-in names nothing that a validator's settings have not."""

    assert set(vars(SETTINGS)) <= set(ValidatorSettings.__dataclass_fields__)
