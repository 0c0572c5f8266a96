"""One validator that is wrong, broken or handed something huge: the run goes on, and the verdict says who and what."""

from types import SimpleNamespace

import msgspec
import pytest

from checker.record.streams import iterate_events
from network.events import events_of_type
from tests.support.bad_validators import make_slow_hearted
from tests.support.cluster_runs import check_named, result_of
from validators.consensus.simplex.kind import SIMPLEX
from validators.costs import Costs
from validators.events import MessageRefused
from validators.execution import InvalidBlockError
from validators.execution.blocks import Block, Header, decode_block, encode_block
from validators.identity import TransactionVerifier
from validators.mempool.gossip import Gossip
from validators.mempool.pool import Mempool, Pooled
from validators.messages import BlockRequest, BlockResponse, TransactionGossip, message_codec
from validators.settings import ValidatorFactory, make_engine
from validators.sync.block_exchange import BlockExchange
from validators.sync.serving import Serving

MEBIBYTE = 1024 * 1024


def make_fragile(*arguments):
    """Return an engine that fails an assertion of its own at height 6."""
    engine = make_engine(*arguments)
    execute = engine.execute

    def execute_or_break(block):
        assert block.header.height != 6, "the sixth block is too much"
        return execute(block)

    engine.execute = execute_or_break
    return engine


def test_a_validator_that_executes_differently_splits_the_roots():
    """It computes another root than the header of a final block says: that is safety, whatever it does next."""
    result = result_of("calm", "run.time_limit_ms=40_000", factories={1: ValidatorFactory(layer=make_slow_hearted)})

    check = check_named(result, "equal-roots")
    assert (result.exit_code, check.status) == (1, "failed"), result.headline
    assert dict(check.evidence)["validator"] == 1 or dict(check.evidence)["other_validator"] == 1
    assert dict(check.evidence)["height"] >= 1


def test_a_broken_invariant_ends_its_validator_and_is_named():
    """The others go on; the verdict says which validator broke what and where."""
    result = result_of("calm", "run.time_limit_ms=40_000", factories={3: ValidatorFactory(layer=make_fragile)})

    check = check_named(result, "agreement")
    assert (result.exit_code, check.status) == (1, "failed")
    assert "validator 3 halted: broken invariant" in check.summary
    assert "the sixth block is too much" in check.summary
    assert [row.finalized_height > 6 for row in result.validators] == [True, True, True, False]


def test_a_run_that_does_not_reach_its_goal_has_not_passed():
    """It was still moving when its time was up: nothing is proved, and nothing is refuted."""
    result = result_of("calm", "run.time_limit_ms=9_000")

    check = check_named(result, "finality-regained")
    assert (result.exit_code, check.status) == (3, "inconclusive")
    assert "time-limit" in check.summary
    assert "before its goal" in check.summary


def test_a_start_that_a_fault_made_longer_than_the_run_is_no_failure():
    """Its machine was at work to the end: it proves nothing (found by the swarm, longest-chain seed 436278)."""
    slow = 'slow={kind="slow", validator=3, factor=300, start_ms=5_500, stop_ms=7_000}'
    again = 'again={kind="crash", validator=3, at_ms=6_000, restart_ms=6_500}'
    settings = "costs.block_us=100_000", "run.until_height=60"
    result = result_of("calm", *settings, f"faults={{{slow}, {again}}}", "run.time_limit_ms=45_000")

    check = check_named(result, "finality-regained")
    assert (result.exit_code, check.status) == (3, "inconclusive"), check.summary
    assert "ended by time-limit" in check.summary


class ForgedDatabase:
    """A database that is right in everything but the snapshots that it hands out."""

    def __init__(self, database, forge):
        self._database = database
        self._forge = forge

    def __getattr__(self, name):
        return getattr(self._database, name)

    def __contains__(self, key):
        return key in self._database

    def snapshot(self):
        honest = self._database.snapshot()
        return msgspec.structs.replace(honest, operations=self._forge(honest.operations))


def forging(forge):
    def make(*arguments):
        engine = make_engine(*arguments)
        engine._tree.database = ForgedDatabase(engine.database, forge)
        return engine

    return ValidatorFactory(layer=make)


@pytest.mark.soak
def test_a_wiped_validator_refuses_forged_snapshots_and_joins_a_sound_one():
    """The first changes a byte, the second leaves the last operation out: refused by name, and the third is asked."""
    forgers = {
        3: forging(lambda operations: (operations[0][:-1] + bytes([operations[0][-1] ^ 1]), *operations[1:])),
        0: forging(lambda operations: operations[:-1]),
    }
    result = result_of("wiped-rejoin", "network.loss_ppm=0", factories=forgers)
    events = [event for event in iterate_events(bytes(result.log)) if event.node == 2]
    refusals = [body.reason for _, body in events_of_type(events, MessageRefused) if body.message == "snapshot"]

    # The forgers count as honest, so that refusing them is wrong, and the one that serves too little is seen itself.
    assert [check.name for check in result.checks if check.status != "passed"] == ["refusals", "derived"], (
        result.headline
    )
    assert [reason.split(":")[0] for reason in refusals] == ["of validator 3", "of validator 0"]
    assert "operations" in refusals[0]
    assert "truncated" in refusals[1]
    assert result.figures["snapshots_joined"] == 1


class Wire:
    """Notes what is sent."""

    def __init__(self):
        self.sent = []
        self.works = []

    def send(self, destination, payload, label):
        self.sent.append((destination, payload))

    def broadcast(self, payload, label):
        self.sent.append(("all", payload))

    def set_timer(self, key, after_us):
        pass

    def work(self, cost_us, token):
        self.works.append(token)


def chain_of(*sizes):
    """Return blocks of about these many bytes, the oldest first, each on the one before."""
    blocks, parent = [], bytes(32)
    for height, size in enumerate(sizes, start=1):
        header = Header(1, height, 0, height, parent, 0, 0, height, bytes(32), bytes(32), bytes(32))
        blocks.append(Block(header, (bytes(size),)))
        parent = height.to_bytes(32, "big")
    return blocks


def test_an_answer_with_blocks_never_outgrows_the_wire():
    """The block that was asked for goes out; an ancestor that does not fit beside it is left for the next request."""
    blocks = chain_of(12 * MEBIBYTE, 7 * MEBIBYTE)
    by_digest = {(1).to_bytes(32, "big"): blocks[0], (2).to_bytes(32, "big"): blocks[1]}
    wire, codec = Wire(), message_codec(SIMPLEX)
    follower = SimpleNamespace(block=by_digest.get, seal_of=lambda _digest: b"")
    settings = SimpleNamespace(node=0, validators=2, costs=Costs())
    serving = Serving(wire, codec, answers_per_second=1, refuse=None)
    exchange = BlockExchange(
        wire, codec, follower, None, settings=settings, seals=None, serving=serving, refuse=None, repaired=None
    )

    exchange.serve(1, BlockRequest((2).to_bytes(32, "big"), 0))
    serving.send(wire.works.pop())

    ((peer, payload),) = wire.sent
    answer = codec.decode(payload)
    assert peer == 1
    assert isinstance(answer, BlockResponse)
    assert [decode_block(encoded).header.height for encoded in answer.blocks] == [2]
    assert encode_block(blocks[1]) == answer.blocks[0]


def test_a_large_transaction_at_the_head_does_not_stop_the_gossip():
    """It is repeated alone, and what stands behind it in later turns."""
    wire, codec = Wire(), message_codec(SIMPLEX)
    settings = SimpleNamespace(node=0, validators=2, regossip_us=1, is_validator=True)
    pool = Mempool(lambda _key: 0, TransactionVerifier())
    gossip = Gossip(wire, codec, pool, settings, refuse=None)
    for number, size in enumerate((3 * MEBIBYTE // 2, 100, 100)):
        transaction = SimpleNamespace(public_key=bytes([number]) * 32, nonce=0, priority_fee_per_cycle=1)
        pool.add(Pooled(transaction, bytes([number]) * size, bytes([number])))

    gossip.regossip()

    ((_, payload),) = wire.sent
    said = codec.decode(payload)
    assert isinstance(said, TransactionGossip)
    assert [len(encoded) for encoded in said.transactions] == [3 * MEBIBYTE // 2]


def make_unreadable(*arguments):
    """Return an engine whose memory cannot be read at the end."""
    engine = make_engine(*arguments)

    def fail():
        raise IndexError("the index points behind the log")

    engine.live_values = fail
    return engine


def make_refusing(*arguments):
    """Return an engine that takes no block of height 4."""
    engine = make_engine(*arguments)
    execute = engine.execute

    def execute_or_refuse(block):
        if block.header.height == 4:
            raise InvalidBlockError("the fourth block is not to its liking")
        return execute(block)

    engine.execute = execute_or_refuse
    return engine


def test_memory_that_cannot_be_read_is_a_finding_about_its_validator():
    result = result_of("calm", "run.until_height=3", factories={2: ValidatorFactory(layer=make_unreadable)})

    check = check_named(result, "live-values")
    assert (result.exit_code, check.status) == (1, "failed")
    assert "validator 2: its memory cannot be read: IndexError: the index points behind the log" in check.summary


def test_a_validator_that_cannot_execute_what_is_final_does_not_agree():
    """Its state would be another one, whatever the reason: that is safety, and the others do not wait for it."""
    result = result_of("calm", factories={3: ValidatorFactory(layer=make_refusing)})

    check = check_named(result, "agreement")
    assert (result.exit_code, check.status) == (1, "failed")
    assert "validator 3 halted: finalized block of view" in check.summary
    assert "the fourth block is not to its liking" in check.summary
    assert result.figures["end"] == "stopped"
    assert [row.finalized_height >= 10 for row in result.validators] == [True, True, True, False]
