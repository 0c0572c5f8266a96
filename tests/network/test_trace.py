"""The trace: the order of the log, its digest, its sinks."""

import hashlib

import msgspec
import pytest

from network.events import Event
from network.trace import Trace, UnknownNodeError
from network.types import SUPERVISOR
from tests.support.events import Mark


class TestTrace:
    def test_chains_fold_in_node_order_whoever_wrote_first(self):
        """The supervisor's events come first, then the validators' by id."""
        trace = Trace([0, 1])
        for node in (1, SUPERVISOR, 0):
            trace.chain(node).add(7, Mark(node))
        trace.fold()
        assert [msgspec.msgpack.decode(record) for record in trace.events()] == [
            [7, node, "mark", node] for node in (SUPERVISOR, 0, 1)
        ]
        assert trace.count == 3

    def test_the_digest_is_the_hash_of_the_log(self):
        """A holder of the log can check the digest, also if it was asked for in between."""
        trace = Trace([0])
        for value in range(5_000):
            trace.chain(0).add(value, Mark((value, b"payload", None, True, ("nested", [1]))))
            trace.fold()
            if value % 1_000 == 0:
                assert trace.digest == hashlib.sha256(trace.log).digest()
        assert trace.digest == hashlib.sha256(trace.log).digest()

    def test_the_digest_depends_on_values(self):
        """Not only on kinds."""
        digests = set()
        for value in (1, True, "1", b"1", None, (1,)):
            trace = Trace([0])
            trace.chain(0).add(7, Mark(value))
            trace.fold()
            digests.add(trace.digest)
        assert len(digests) == 6

    def test_sinks_see_the_events_in_the_order_of_the_log(self):
        """They get time, node, kind and values."""
        seen = []
        trace = Trace([0, 1], [seen.append])
        trace.chain(1).add(7, Mark("x"))
        trace.chain(0).add(7, Mark("y"))
        trace.fold()
        assert seen == [Event(7, 0, Mark("y")), Event(7, 1, Mark("x"))]

    def test_without_recording_there_is_no_log_but_sinks_see_all(self):
        """The cost of the digest is measured against this."""
        seen = []
        trace = Trace([0], [seen.append], recording=False)
        trace.chain(0).add(7, Mark())
        trace.fold()
        assert (len(seen), bytes(trace.log), trace.count) == (1, b"", 1)

    def test_an_unknown_node_has_no_chain(self):
        """The message says which there are."""
        with pytest.raises(UnknownNodeError, match=r"node 4 .* \[-1, 0\]"):
            Trace([0]).chain(4)
