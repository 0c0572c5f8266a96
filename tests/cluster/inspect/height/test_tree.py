"""The part of each replica at a height, by made-up events, and the blocks of a record without executed ones."""

from types import SimpleNamespace

import pytest

from checker.record.streams import BlockRecord, DamagedRecordError
from cluster.inspect.height.tree import HeightTrace, RecordedTree
from network.events import Event
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    BlockRolledBack,
    BlockUndone,
    Booted,
    CertificateHeld,
    Halted,
    SnapshotJoined,
    Uncertified,
)
from validators.execution import Block, Header
from validators.execution.blocks import encode_block, header_digest

A, B, ROOT, OTHER = (bytes([number]) * 32 for number in range(1, 5))
HEIGHT = 7


def traced(*events):
    """Return the trace of events, each a replica's."""
    trace = HeightTrace(HEIGHT)
    logged = [Event(index, node, body) for index, (node, body) in enumerate(events)]
    trace.read(SimpleNamespace(path="here", events=lambda *_: iter(logged)))
    return trace


def test_executions_and_final_blocks_of_the_height_alone_count():
    part = traced(
        (0, BlockExecuted(HEIGHT, 9, A, ROOT, "verify")),
        (0, BlockExecuted(HEIGHT + 1, 10, B, ROOT, "verify")),
        (0, BlockFinalized(HEIGHT, 9, A, ROOT)),
        (0, BlockFinalized(HEIGHT + 1, 10, B, ROOT)),
    ).replicas[0]

    assert [body.digest for _, body in part.executed] == [body.digest for _, body in part.final] == [A]
    assert (part.root_of(A), part.root_of(B), part.finalized) == (ROOT, None, HEIGHT + 1)


def test_a_root_of_its_own_is_a_refusal():
    part = traced((3, BlockExecuted(HEIGHT, 9, A, OTHER, "diverged")), (3, Uncertified(9, B))).replicas[3]

    assert (part.refused, part.root_of(A), part.has_kept(A)) == ([A, B], OTHER, False)


def test_the_last_execution_says_the_root():
    """A replica that lost its state executes the block again."""
    part = traced(
        (1, BlockExecuted(HEIGHT, 9, A, OTHER, "verify")), (1, BlockExecuted(HEIGHT, 9, A, ROOT, "recover"))
    ).replicas[1]

    assert (part.root_of(A), part.has_kept(A)) == (ROOT, True)


def test_blocks_that_were_dropped_or_taken_back_are_left():
    part = traced(
        (2, BlockRolledBack(HEIGHT, A)), (2, BlockUndone(HEIGHT, B)), (2, BlockUndone(HEIGHT - 1, B))
    ).replicas[2]

    assert [digest for _, digest in part.left] == [A, B]


def test_a_snapshot_above_the_height_replaces_its_execution():
    trace = traced((0, SnapshotJoined(HEIGHT, A, ROOT)), (1, SnapshotJoined(HEIGHT - 1, B, ROOT)))

    assert (trace.replicas[0].joined, trace.replicas[1].joined) == (HEIGHT, 0)
    assert (trace.replicas[0].finalized, trace.replicas[1].finalized) == (HEIGHT, HEIGHT - 1)


def test_a_start_after_a_halt_ends_it():
    trace = traced((0, Halted("disk full")), (1, Halted("disk full")), (1, Booted(1, 9, HEIGHT, ROOT)))

    assert (trace.replicas[0].halted, trace.replicas[1].halted, trace.replicas[1].booted) == ("disk full", "", HEIGHT)


def test_a_certificate_has_its_most_signers_by_holder():
    trace = traced(
        (0, CertificateHeld("notarization", 9, A, (0, 1, 2))),
        (0, CertificateHeld("notarization", 9, A, (0, 1, 2, 3))),
        (1, CertificateHeld("notarization", 9, A, (1, 2, 3))),
    )

    assert trace.certificates == {(A, "notarization"): {0: 4, 1: 3}}


class TestOlderRecord:
    """A record of format 1 has final blocks, and no executed ones."""

    @staticmethod
    def tree(*encoded):
        digests = [bytes([number]) * 32 for number, _ in enumerate(encoded, start=1)]
        records = [
            BlockRecord(height, digest, ROOT, block)
            for height, (digest, block) in enumerate(zip(digests, encoded, strict=True), start=1)
        ]
        manifest = SimpleNamespace(files={})
        reader = SimpleNamespace(path="here", manifest=manifest, blocks=lambda: iter(records))
        return RecordedTree(reader, bytes(32))

    def test_its_final_blocks_are_a_chain(self):
        block = Block(Header(1, 1, 0, 1, bytes(32), 0, 1, 1_000, ROOT, ROOT, ROOT), ())
        tree = self.tree(encode_block(block), encode_block(block))
        (one,), (two,) = tree.levels()

        assert (one.height, two.height, two.parent.digest) == (1, 2, one.digest)
        assert (one.is_on_chain, two.is_on_chain, one.kept_by) == (True, True, None)
        assert header_digest(two.read().header) == header_digest(block.header)
        assert [each.header.height for each in tree.past_of(two)] == [1]

    def test_a_block_that_is_none_is_a_damaged_record(self):
        (one,) = next(self.tree(b"no block").levels())

        with pytest.raises(DamagedRecordError, match=r"here: blocks\.msgpack at height 1: Block of 8 bytes: "):
            one.read()
