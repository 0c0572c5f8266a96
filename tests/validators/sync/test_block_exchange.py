"""Blocks that a validator's own disk has lost: not served, fetched from a peer, and stored again."""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tests.properties.stub_port import DecodingPort
from tests.support.checker_chain import HEIGHTS, run_chain
from validators.consensus.interface import BlockArrived, MessageCheck
from validators.consensus.simplex.kind import SIMPLEX
from validators.costs import Costs
from validators.execution.blocks import Block, block_digest, encode_block, encode_header, encode_sealed
from validators.messages import BlockRequest, BlockResponse, message_codec
from validators.state import mmr_root
from validators.storage import BlockFile, SimulatedDisk
from validators.sync.block_exchange import BlockExchange
from validators.sync.follower import Follower, Goal, Purpose
from validators.sync.seals import STRAY_SEAL, Seals
from validators.sync.serving import TOO_MANY, UNDER_WAY, Serving

SETTINGS = SimpleNamespace(
    node=0, validators=4, fetch_grace_us=1, fetch_timeout_us=10, costs=Costs(), consensus=SIMPLEX
)


@pytest.fixture(scope="module")
def chain():
    return run_chain()


class Keeper:
    """A validator that has finalized and stored a whole chain."""

    def __init__(self, chain, request=None):
        self.wire = DecodingPort(message_codec(SIMPLEX))
        self.disk = SimulatedDisk()
        self.repaired = []
        self.blocks = BlockFile(self.disk)
        for executed in chain.blocks:
            header = executed.header
            self.blocks.append(height=header.height, digest=executed.digest, block=encode_block(executed.block))
        self.follower = Follower(chain.engines[0], execute=None, request=request, settle=None, find_fault=None)
        self.refused = []
        self.serving = Serving(
            self.wire,
            message_codec(SIMPLEX),
            answers_per_second=3,
            refuse=lambda *refusal: self.refused.append(refusal),
        )
        self.exchange = BlockExchange(
            self.wire,
            message_codec(SIMPLEX),
            self.follower,
            self.blocks,
            settings=SETTINGS,
            serving=self.serving,
            seals=Seals(self.wire, SETTINGS, scheme=None),
            refuse=lambda *refusal: self.refused.append(refusal),
            repaired=lambda *repair: self.repaired.append(repair),
        )

    def serve(self, peer, request):
        """Answer a request, all of its virtual time included."""
        self.exchange.serve(peer, request)
        while self.wire.works:
            self.serving.send(self.wire.works.pop(0)[1])

    def damage(self, executed):
        data = self.disk.read("blocks")
        place = data.index(encode_block(executed.block))
        self.disk.overwrite("blocks", place, bytes([data[place] ^ 1]))


def test_a_block_that_turns_out_damaged_is_not_served_but_fetched(chain):
    """The peer hears nothing of it, and another peer is asked for it after the moment of grace."""
    keeper, lost = Keeper(chain), chain.blocks[4]
    keeper.damage(lost)

    keeper.serve(1, BlockRequest(lost.digest, 0))
    assert keeper.wire.sent == []
    keeper.exchange.retry(lost.digest)

    assert keeper.wire.sent == [(1, BlockRequest(lost.digest, HEIGHTS))]


def test_what_is_intact_above_a_damaged_block_is_served(chain):
    """The answer ends where the chain of intact blocks does."""
    keeper = Keeper(chain)
    keeper.damage(chain.blocks[4])

    keeper.serve(1, BlockRequest(chain.blocks[6].digest, 0))

    ((peer, answer),) = keeper.wire.sent
    assert peer == 1
    assert answer == BlockResponse(tuple(encode_block(chain.blocks[index].block) for index in (6, 5)))


def test_a_fetched_block_is_stored_again_and_served(chain):
    """The repair is noted once, and no peer is asked any more."""
    keeper, lost = Keeper(chain), chain.blocks[4]
    keeper.damage(lost)
    keeper.serve(1, BlockRequest(lost.digest, 0))

    keeper.exchange.take(1, (encode_block(lost.block),))
    keeper.exchange.take(1, (encode_block(lost.block),))
    assert keeper.repaired == [("blocks", lost.header.height, "from a peer")]
    assert ("fetch", lost.digest) not in keeper.wire.timers
    keeper.serve(1, BlockRequest(lost.digest, lost.header.height - 1))
    assert keeper.wire.sent == [(1, BlockResponse((encode_block(lost.block),)))]


def test_a_block_that_nobody_lost_is_not_stored(chain):
    """Old blocks that arrive unasked change nothing."""
    keeper = Keeper(chain)
    size = keeper.disk.size("blocks")
    keeper.exchange.take(1, (encode_block(chain.blocks[2].block),))

    assert (keeper.disk.size("blocks"), keeper.repaired) == (size, [])


def test_an_answer_costs_its_blocks_and_a_peer_has_one_at_a_time(chain):
    """Another peer is not held up."""
    keeper, request = Keeper(chain), BlockRequest(chain.blocks[6].digest, 2)

    for peer in (1, 1, 2):
        keeper.exchange.serve(peer, request)

    assert [(cost_us, answer.peer) for cost_us, answer in keeper.wire.works] == [(250, 1), (250, 2)]
    assert keeper.refused == [("BlockRequest", UNDER_WAY)]


def test_a_peer_has_so_many_answers_a_second(chain):
    """Requests beyond the share are refused with a reason; each peer has its own share, renewed every second."""
    keeper, request = Keeper(chain), BlockRequest(chain.blocks[6].digest, 0)
    for peer in (1, 1, 1, 1, 1, 2):
        keeper.serve(peer, request)
    assert [peer for peer, _ in keeper.wire.sent] == [1, 1, 1, 2]
    assert keeper.refused == [("BlockRequest", TOO_MANY)] * 2

    assert keeper.wire.timers[("answers",)] == 1_000_000
    keeper.serving.begin_second()
    keeper.serve(1, request)

    assert len(keeper.wire.sent) == 5


def test_a_request_for_an_absent_block_takes_no_answer_away(chain):
    """A peer that asks for two at one pace, the absent one first, would never get the other; found by seed 302492."""
    keeper, digest = Keeper(chain), chain.blocks[6].digest
    for wanted in (bytes(32), bytes(32), bytes(32), digest):
        keeper.serve(1, BlockRequest(wanted, 0))

    assert [peer for peer, _ in keeper.wire.sent] == [1]
    assert keeper.refused == []


class SealedKeeper(Keeper):
    """A validator of an engine that seals its blocks: two signatures are verified, and b"sound" is sound."""

    def __init__(self, chain):
        settings = SimpleNamespace(
            **{**vars(SETTINGS), "consensus": SimpleNamespace(check_seal=self.check_seal), "consensus_config": None}
        )
        self.checked = []
        super().__init__(chain)
        self.exchange._seals = Seals(self.wire, settings, scheme=None)

    def check_seal(self, _scheme, block, seal, validators, *, config):
        self.checked.append((block, seal, validators))
        return MessageCheck(ok=seal == b"sound", reason="" if seal == b"sound" else "unsound", signatures_verified=2)


class TestSeals:
    def test_a_forged_seal_costs_its_sender_the_block(self, chain):
        """Nothing is kept, so that the same block with a sound seal is not in anybody's way."""
        keeper, lost = SealedKeeper(chain), chain.blocks[4]
        keeper.damage(lost)
        keeper.serve(1, BlockRequest(lost.digest, 0))

        keeper.exchange.take(1, (encode_sealed(lost.block, b"forged"),))
        assert (keeper.refused, keeper.repaired) == ([("block", "unsound")], [])
        keeper.exchange.take(2, (encode_sealed(lost.block, b"sound"),))

        assert keeper.repaired == [("blocks", lost.header.height, "from a peer")]
        assert keeper.blocks.get(lost.digest) == encode_sealed(lost.block, b"sound")

    def test_consensus_reads_the_fields_of_the_header(self, chain):
        keeper, block = SealedKeeper(chain), chain.blocks[4].block
        keeper.exchange.take(1, (encode_sealed(block, b"sound"),))
        header = block.header

        ((facts, seal, validators),) = keeper.checked
        encoded = encode_header(header)
        digest = chain.blocks[4].digest
        assert facts == (header.view, digest, header.parent, header.height, header.proposer, encoded)
        assert (seal, validators) == (b"sound", 4)

    def test_verifying_a_seal_takes_virtual_time(self, chain):
        keeper = SealedKeeper(chain)
        keeper.exchange.take(1, (encode_sealed(chain.blocks[4].block, b"forged"),))

        assert keeper.wire.spent_us == 2 * Costs().verify_signature_us

    def test_a_stray_seal_is_refused_where_no_block_is_sealed(self, chain):
        keeper = Keeper(chain)
        keeper.exchange.take(1, (encode_sealed(chain.blocks[4].block, b"sound"),))

        assert keeper.refused == [("block", STRAY_SEAL)]


def test_an_unfinalized_block_is_reported_and_served_with_its_seal():
    """Consensus learns of it once, whoever sends it again."""
    chain = run_chain()
    keeper = SealedKeeper(chain)
    child = ahead_of(chain)
    encoded = encode_sealed(child, b"sound")

    for peer in (1, 2):
        keeper.exchange.take(peer, (encoded,))

    ((_, arrived),) = keeper.wire.works
    assert (type(arrived), arrived.sender) == (BlockArrived, 1)
    keeper.wire.works.clear()
    keeper.serve(3, BlockRequest(block_digest(child), HEIGHTS))
    assert keeper.wire.sent == [(3, BlockResponse((encoded,)))]


def ahead_of(chain):
    """Return a block above the final one, which nobody has to execute."""
    tip = chain.blocks[-1]
    header = replace(tip.header, height=HEIGHTS + 1, parent=tip.digest, tx_root=mmr_root(()))
    return Block(header, ())


@pytest.mark.parametrize(("purpose", "sizes"), [(Purpose.CERTIFY, 1), (Purpose.ADOPT, 0)])
def test_blocks_asked_for_are_bounded_where_a_view_has_one_block(purpose, sizes):
    """A leader of a slot can seal any number of branches, and all are fetched; found by the swarm (seed 412812)."""
    chain = run_chain()
    keeper = Keeper(chain, request=lambda digest, _goal: keeper.exchange.request(digest, None))
    for digest in (b"a" * 32, b"b" * 32):
        keeper.follower.want(Goal(purpose, 1, digest))

    assert len(keeper.exchange.derived(1).sizes) == sizes
