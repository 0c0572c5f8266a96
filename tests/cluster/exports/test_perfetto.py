"""Perfetto traces: bytes made by hand, and traces read back by a decoder of their own."""

from cluster.exports.perfetto import PerfettoTrace
from cluster.exports.protobuf import Fixed64, message, varint
from cluster.exports.window import ExportWindow
from faults.events import Crashed, FaultEdge
from network.events import Delivered, Event, Sent
from network.types import SUPERVISOR
from tests.support.protobuf import decode
from validators.events import BlockFinalized, Entered

CHECKSUM = b"12345678"


def packets(events, **settings):
    """Return the descriptors and the track events of a trace of two replicas, decoded."""
    encoded = PerfettoTrace(["validator 0", "validator 1"], [], **settings).encode(events)
    found = [decode(packet) for packet in decode(encoded)[1]]
    described = {decode(each[60][0])[1][0]: decode(each[60][0]) for each in found if 60 in each}
    return described, [(each[8][0], decode(each[11][0])) for each in found if 11 in each]


def named(described, fields):
    return described[fields[11][0]][2][0].decode()


class TestWireFormat:
    """The examples of the specification of protocol buffers."""

    def test_numbers_have_seven_bits_a_byte(self):
        assert [varint(number).hex() for number in (0, 1, 150, 300)] == ["00", "01", "9601", "ac02"]
        assert varint(-1).hex() == "ff" * 9 + "01"

    def test_a_message_is_its_fields_in_order(self):
        assert message((1, 150)).hex() == "089601"
        assert message((2, "testing")).hex() == "120774657374696e67"
        assert message((3, message((1, 150)))).hex() == "1a03089601"
        assert message((47, Fixed64(5))).hex() == "f902" + "0500000000000000"


def test_a_trace_has_the_bytes_that_were_made_by_stratum():
    """Nothing but the packet of one event: timestamp 2,000 ns, sequence 1, an instant on track 20."""
    instant = "4803" + "5814" + "ba010a" + b"power lost".hex()
    event = "40d00f" + "5001" + "5a" + f"{len(bytes.fromhex(instant)):02x}" + instant
    packet = "0a" + f"{len(bytes.fromhex(event)):02x}" + event

    encoded = PerfettoTrace(["validator 0"], []).encode([Event(2, SUPERVISOR, Crashed(0, 9))])

    assert encoded.hex().endswith(packet)


def test_each_replica_is_a_process_with_its_tracks_and_counters():
    described, _ = packets([])

    names = {fields[2][0].decode(): fields for fields in described.values()}
    assert decode(names["validator 1"][3][0])[6] == [b"validator 1"]
    assert {"consensus", "execution", "messages", "timers waiting", "clean-up debt", "faults"} <= names.keys()
    assert (8 in names["clean-up debt"], 8 in names["consensus"]) == (True, False)
    assert names["consensus"][5][0] in described


def test_a_view_is_a_slice_that_ends_where_the_next_begins():
    described, found = packets([Event(1_000, 0, Entered(1, 0)), Event(3_000, 0, Entered(2, 1))])

    assert [(at, fields[9][0]) for at, fields in found] == [
        (1_000_000, 1),
        (3_000_000, 2),
        (3_000_000, 1),
        (3_000_000, 2),
    ]
    assert found[0][1][23] == [b"view 1, leads"]
    assert {named(described, fields) for _, fields in found} == {"consensus"}


def test_a_message_that_arrived_is_a_flow():
    sent = [Event(10, 0, Sent(1, ordinal, "Vote", 9, CHECKSUM)) for ordinal in (1, 2)]
    arrived = Event(50, 1, Delivered(0, 2, "Vote", 9, CHECKSUM))

    _, found = packets([*sent, arrived])

    first, second, ending = (fields for _, fields in found)
    assert ending[48] == second[47] != first[47]


def test_a_fault_is_a_slice_on_a_track_of_its_own():
    edges = [Event(at, SUPERVISOR, FaultEdge("split", edge)) for at, edge in ((5, "start"), (9, "stop"))]

    described, found = packets(edges)

    assert [(at, fields[9][0], named(described, fields)) for at, fields in found] == [
        (5_000, 1, "split"),
        (9_000, 2, "split"),
    ]


def test_a_window_and_a_limit_leave_events_out():
    events = [Event(at, 0, BlockFinalized(at, at, b"d", b"r")) for at in range(1, 9)]
    trace = PerfettoTrace(["validator 0"], [], ExportWindow(3, 7), events_max=2)

    encoded = trace.encode(events)

    kept = [decode(packet) for packet in decode(encoded)[1]]
    assert [each[8][0] for each in kept if 11 in each] == [3_000, 4_000]
    assert trace.left_out == 2
