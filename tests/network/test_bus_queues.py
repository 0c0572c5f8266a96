"""Narrow links on the bus: rates, bounded queues, bursts, channels, resets, replays, and clogs that overlap."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.events import Dropped, Lost, events_of_type
from network.latency import Latency
from network.outcome import ConditionError
from network.queues import UplinkClass
from network.topology import LinkSpec
from network.types import Label
from tests.support.bus_runs import JITTERED, VOTE, cut, degrade, impose, run_bus
from tests.support.network_harness import build_rig
from tests.support.properties import examples

BLOCK = Label("BlockRelay", view=5, height=3)


def sends(rig, count, *, every_us=1, start_us=1, label=VOTE):
    return [(start_us + i * every_us, rig.bus.send, 0, 1, bytes([i]) * 10, label) for i in range(count)]


class TestRate:
    def test_messages_wait_until_the_bytes_before_them_are_through(self):
        """Ten bytes at 1,000 bytes a second are 10 ms; the latency of 1 ms comes on top."""
        rig = build_rig()
        heard = run_bus(rig, (0, degrade(rig, "narrow", bytes_per_second=1_000)), *sends(rig, 3))
        assert [at_us for at_us, _ in heard[1]] == [11_001, 21_001, 31_001]
        assert rig.bus.touched("narrow") == 3

    def test_time_on_a_line_is_rounded_up(self):
        """A part of a microsecond is one; else messages of a fast line would take no time."""
        rig = build_rig()
        heard = run_bus(rig, (0, degrade(rig, "narrow", bytes_per_second=3_000_000)), *sends(rig, 1))
        assert [at_us for at_us, _ in heard[1]] == [1 + 4 + 1_000]

    def test_a_line_that_was_idle_owes_nothing(self):
        """Bytes sent long ago are through."""
        rig = build_rig()
        heard = run_bus(rig, (0, degrade(rig, "narrow", bytes_per_second=1_000)), *sends(rig, 2, every_us=50_000))
        assert [at_us for at_us, _ in heard[1]] == [11_001, 61_001]

    def test_each_direction_of_each_link_is_a_line_of_its_own(self):
        """A broadcast occupies all of its links at once."""
        rig = build_rig(3)
        links = [(0, 1), (0, 2), (1, 0)]
        steps = [(1, rig.bus.broadcast, 0, b"0123456789"), (1, rig.bus.send, 1, 0, b"0123456789")]
        heard = run_bus(rig, (0, degrade(rig, "narrow", links, bytes_per_second=1_000)), *steps)
        assert [heard[node][0][0] for node in (0, 1, 2)] == [11_001, 11_001, 11_001]

    @examples(30)
    @given(rate=st.integers(1, 10**9), lengths=st.lists(st.integers(0, 5_000), min_size=1, max_size=12))
    def test_a_line_never_carries_more_than_its_rate(self, rate, lengths):
        """Whatever is sent: n bytes take at least n / rate, and a microsecond a message less at most."""
        rig = build_rig(latency=Latency("fixed", 1))
        steps = [(1, rig.bus.send, 0, 1, bytes(length), VOTE) for length in lengths]
        heard = run_bus(rig, (0, degrade(rig, "narrow", bytes_per_second=rate)), *steps)
        last_us = heard[1][-1][0] - 2
        assert [len(message.payload) for _, message in heard[1]] == lengths
        assert sum(lengths) * 10**6 <= last_us * rate < (sum(lengths) + len(lengths) * rate // 10**6 + rate) * 10**6


ONE_QUEUE = (UplinkClass((), 1_000),)
CLASSES = (UplinkClass(("Notarize",), 1_000), UplinkClass(("TransactionGossip",), 100))


class TestUplink:
    def test_links_of_a_sender_share_it_and_a_broadcast_passes_once_for_each(self):
        """Ten bytes at 1,000 bytes a second are 10 ms; another sender has a line of its own."""
        rig = build_rig(3, uplink=ONE_QUEUE)
        steps = [(1, rig.bus.broadcast, 0, b"0123456789"), (1, rig.bus.send, 0, 1, b"01234")]
        heard = run_bus(rig, *steps, (1, rig.bus.send, 1, 2, b"0123456789"))

        assert [at_us for at_us, _ in heard[1]] == [11_001, 26_001]
        assert [at_us for at_us, _ in heard[2]] == [11_001, 21_001]
        assert rig.bus.statistics().waited == 2

    def test_a_class_waits_for_itself_alone(self):
        """A second of gossip does not delay a vote; a kind of no class goes with gossip."""
        rig = build_rig(uplink=CLASSES)
        gossip = [(1, rig.bus.send, 0, 1, bytes(50), Label("TransactionGossip")) for _ in range(2)]
        steps = [*gossip, (1, rig.bus.send, 0, 1, bytes(10), VOTE), (1, rig.bus.send, 0, 1, bytes(1), Label("Unknown"))]
        heard = run_bus(rig, *steps)

        assert [(at_us, len(message.payload)) for at_us, message in heard[1]] == [
            (11_001, 10),
            (501_001, 50),
            (1_001_001, 50),
            (1_011_001, 1),
        ]

    def test_a_message_that_is_cut_or_lost_occupies_nothing(self):
        """It is lost as it is sent, as with the line of a link."""
        rig = build_rig(3, uplink=ONE_QUEUE)
        steps = [(1, rig.bus.send, 0, 1, bytes(500), VOTE), (2, rig.bus.send, 0, 2, bytes(10), VOTE)]
        heard = run_bus(rig, (0, cut(rig, "cut")), *steps)
        assert [at_us for at_us, _ in heard[2]] == [11_002]

    def test_the_line_of_a_link_comes_after_it(self):
        """The second message waits for the slower of both."""
        rig = build_rig(uplink=ONE_QUEUE)
        narrow = degrade(rig, "narrow", bytes_per_second=500)
        heard = run_bus(rig, (0, narrow), *sends(rig, 2))
        assert [at_us for at_us, _ in heard[1]] == [1 + 10_000 + 20_000 + 1_000, 1 + 10_000 + 40_000 + 1_000]


class TestOrder:
    LINK = LinkSpec(JITTERED, is_fifo=True)

    def test_messages_of_a_link_arrive_as_they_were_sent(self):
        """With the same draws and without the order they overtake each other."""
        arrived = []
        for link in (self.LINK, JITTERED):
            rig = build_rig(latency=link)
            heard = run_bus(rig, *sends(rig, 60, every_us=500))
            arrived.append([(at_us, message.payload[0]) for at_us, message in heard[1]])
        in_order, as_drawn = arrived

        assert [number for _, number in in_order] == list(range(60))
        assert [number for _, number in as_drawn] != list(range(60))
        latest_us = 0
        for (at_us, _), (drawn_us, _) in zip(in_order, sorted(as_drawn, key=lambda each: each[1]), strict=True):
            latest_us = max(latest_us, drawn_us)
            assert at_us == latest_us

    def test_a_late_message_delays_all_later_ones_of_its_link(self):
        """The other direction and other links go on."""
        rig = build_rig(3, latency=LinkSpec(Latency("fixed", 1_000), is_fifo=True))
        late = impose(rig, "late", "delay", kinds=("Notarize",), delay_us=9_000)
        others = [(5, rig.bus.send, 0, 2, b"other"), (5, rig.bus.send, 1, 0, b"back")]
        steps = [(1, rig.bus.send, 0, 1, b"late", VOTE), (2, rig.bus.send, 0, 1, b"next", BLOCK), *others]
        heard = run_bus(rig, (0, late), *steps)

        assert [(at_us, message.payload) for at_us, message in heard[1]] == [(10_001, b"late"), (10_001, b"next")]
        assert [at_us for at_us, _ in (*heard[2], *heard[0])] == [1_005, 1_005]

    def test_a_released_message_has_its_place_at_its_release(self):
        """It arrives with the message sent before its release, not earlier, and messages sent later come after it."""
        rig = build_rig(latency=LinkSpec(Latency("fixed", 1_000), is_fifo=True))
        steps = [(1, rig.bus.send, 0, 1, b"held", VOTE), (90, rig.bus.send, 0, 1, b"first", BLOCK)]
        again = (101, rig.bus.send, 0, 1, b"last", BLOCK)
        held = impose(rig, "held", "hold", kinds=("Notarize",))
        heard = run_bus(rig, (0, held), *steps, (100, rig.bus.release, "held"), again)
        assert [(at_us, message.payload) for at_us, message in heard[1]] == [
            (1_090, b"held"),
            (1_090, b"first"),
            (1_101, b"last"),
        ]


class TestQueue:
    def test_of_too_many_under_way_a_drawn_one_is_thrown_out(self):
        """The newcomer stays; as many arrive as the queue holds, and each loss is reported at once."""
        rig = build_rig()
        heard = run_bus(rig, (0, degrade(rig, "queue", queue_max=4)), *sends(rig, 10))
        arrived = [message.payload[0] for _, message in heard[1]]
        thrown = [body.ordinal for _, body in events_of_type(rig.events, Dropped)]

        assert len(arrived) == 4
        assert arrived[-1] == 9
        assert sorted(arrived + thrown) == list(range(10))
        assert {(body.reason, body.condition) for _, body in events_of_type(rig.events, Dropped)} == {
            ("queue", "queue")
        }
        assert (rig.bus.touched("queue"), rig.bus.statistics().dropped_queue) == (6, 6)
        assert rig.bus.statistics().in_flight == 0

    def test_what_has_arrived_makes_room(self):
        """A message a millisecond is never one too many."""
        rig = build_rig()
        heard = run_bus(rig, (0, degrade(rig, "queue", queue_max=1)), *sends(rig, 5, every_us=1_000))
        assert len(heard[1]) == 5

    def test_a_message_that_two_queues_throw_out_is_lost_once(self):
        """Both count it as theirs to throw out, the bus as one."""
        rig = build_rig(latency=JITTERED)
        steps = [(0, degrade(rig, name, queue_max=2)) for name in "ab"]
        heard = run_bus(rig, *steps, *sends(rig, 40))
        statistics = rig.bus.statistics()
        assert statistics.dropped_queue + len(heard[1]) == 40
        assert statistics.in_flight == 0


class TestBursts:
    def test_a_burst_takes_all_messages_of_a_link_for_a_while(self):
        """Losses come in whole stretches, at about the stated rate."""
        rig = build_rig()
        bursts = degrade(rig, "bursts", burst_ppm=300_000, burst_us=10)
        heard = run_bus(rig, (0, bursts), *sends(rig, 200, every_us=5, start_us=10))
        arrived = {message.payload[0] for _, message in heard[1]}
        stretches = [{2 * i in arrived, 2 * i + 1 in arrived} for i in range(100)]
        assert all(len(both) == 1 for both in stretches)
        assert 15 <= stretches.count({False}) <= 45

    def test_links_have_bursts_of_their_own(self):
        """Else it would be a partition."""
        rig = build_rig(3)
        bursts = degrade(rig, "bursts", [(0, 1), (0, 2)], burst_ppm=500_000, burst_us=10)
        heard = run_bus(rig, (0, bursts), *[(10 * i, rig.bus.broadcast, 0, bytes([i])) for i in range(1, 60)])
        assert [message.payload for _, message in heard[1]] != [message.payload for _, message in heard[2]]


class TestChannels:
    @pytest.mark.parametrize("rates", [{"loss_ppm": 1_000_000}, {"bytes_per_second": 1}, {"latency": None}])
    def test_a_degradation_of_some_kinds_leaves_the_others_alone(self, rates):
        """Votes are lost or late; blocks take their millisecond."""
        rig = build_rig()
        rates = {**rates, "latency": Latency("fixed", 90_000)} if "latency" in rates else {"latency": None, **rates}
        worse = degrade(rig, "votes", [(0, 1)], **{"loss_ppm": 0, **rates}, kinds=("Notarize",))
        heard = run_bus(rig, (0, worse), *sends(rig, 1), *sends(rig, 1, start_us=2, label=BLOCK))
        assert heard[1][0] == (1_002, heard[1][0][1])
        assert rig.bus.touched("votes") == 1


class TestReset:
    def test_what_is_on_its_way_is_lost_and_what_is_sent_later_is_not(self):
        """A cut alone lets it arrive."""
        rig = build_rig()
        heard = run_bus(
            rig,
            *sends(rig, 2),
            (500, cut(rig, "torn", [(0, 1)])),
            (500, rig.bus.reset, "torn"),
            (600, rig.bus.lift, "torn"),
            *sends(rig, 1, start_us=700),
        )
        assert [at_us for at_us, _ in heard[1]] == [1_700]
        assert [body for _, body in events_of_type(rig.events, Lost)] == [Lost(0, 0, "torn"), Lost(0, 1, "torn")]
        assert (rig.bus.touched("torn"), rig.bus.statistics().dropped_reset) == (2, 2)
        assert rig.bus.statistics().in_flight == 0

    def test_copies_of_what_is_lost_are_lost_as_well(self):
        """They are on the same connection."""
        rig = build_rig()
        steps = [(0, degrade(rig, "double", duplicate_ppm=1_000_000)), *sends(rig, 1)]
        heard = run_bus(rig, *steps, (500, cut(rig, "torn", [(0, 1)])), (500, rig.bus.reset, "torn"))
        assert heard[1] == []
        assert rig.bus.statistics().in_flight == 0

    def test_the_other_direction_is_another_connection(self):
        """Only the links of the condition are reset."""
        rig = build_rig()
        steps = [(1, rig.bus.send, 1, 0, b"back"), (2, cut(rig, "torn", [(0, 1)])), (2, rig.bus.reset, "torn")]
        assert len(run_bus(rig, *steps)[0]) == 1

    def test_what_was_held_before_a_reset_is_lost_too(self):
        """It was sent before."""
        rig = build_rig()
        heard = run_bus(
            rig,
            (0, impose(rig, "jam", "hold")),
            *sends(rig, 1),
            (500, cut(rig, "torn", [(0, 1)])),
            (500, rig.bus.reset, "torn"),
            (600, partial(rig.bus.release, "jam")),
        )
        assert heard[1] == []
        assert rig.bus.statistics().in_flight == 0

    def test_only_a_condition_that_is_set_can_reset(self):
        """The name is checked."""
        with pytest.raises(ConditionError, match="'none'"):
            build_rig().bus.reset("none")


class TestReplay:
    def test_a_replayed_message_arrives_as_always_and_once_more(self):
        """The copies come at the release, in the order of sending, and are counted as copies."""
        rig = build_rig()
        heard = run_bus(
            rig,
            (0, impose(rig, "echo", "replay")),
            *sends(rig, 3),
            (5_000, rig.bus.lift, "echo"),
            (9_000, partial(rig.bus.release, "echo", gap_us=10)),
        )
        assert [(at_us, message.payload[0]) for at_us, message in heard[1]] == [
            *[(1_001, 0), (1_002, 1), (1_003, 2)],
            *[(9_001, 0), (9_011, 1), (9_021, 2)],
        ]
        statistics = rig.bus.statistics()
        assert (statistics.sent, statistics.duplicated, statistics.delivered, statistics.in_flight) == (3, 3, 6, 0)

    def test_two_replays_of_one_message_may_come_in_one_instant(self):
        """The queue can order them."""
        rig = build_rig()
        steps = [(0, impose(rig, name, "replay")) for name in "ab"]
        releases = [(9_000, partial(rig.bus.release, name)) for name in "ab"]
        assert [at for at, _ in run_bus(rig, *steps, *sends(rig, 1), *releases)[1]] == [1_001, 9_001, 9_001]


class TestOverlap:
    def test_what_another_clog_holds_as_well_stays_there(self):
        """A message between two clogged validators comes when both are free, whichever is free first."""
        rig = build_rig()
        heard = run_bus(
            rig,
            *[(0, impose(rig, name, "hold")) for name in "ab"],
            *sends(rig, 1),
            *[(5_000, step) for step in (partial(rig.bus.lift, "a"), partial(rig.bus.release, "a"))],
            *[(9_000, step) for step in (partial(rig.bus.lift, "b"), partial(rig.bus.release, "b"))],
        )
        assert [at_us for at_us, _ in heard[1]] == [9_001]
        assert (rig.bus.touched("a"), rig.bus.touched("b")) == (1, 1)

    def test_a_hold_of_other_messages_lets_them_go(self):
        """It is about votes; this is a block."""
        rig = build_rig()
        heard = run_bus(
            rig,
            (0, impose(rig, "all", "hold")),
            (0, impose(rig, "votes", "hold", kinds=("Notarize",))),
            *sends(rig, 1, label=BLOCK),
            *[(5_000, step) for step in (partial(rig.bus.lift, "all"), partial(rig.bus.release, "all"))],
        )
        assert [at_us for at_us, _ in heard[1]] == [5_001]


@examples(25)
@given(rate=st.sampled_from([0, 300, 100_000]), queue=st.integers(0, 4), burst=st.sampled_from([0, 200_000]))
def test_every_message_is_accounted_for_whatever_narrows_a_link(rate, queue, burst):
    """Nothing is lost silently, nothing twice, also when a reset comes in the midst of it."""
    rig = build_rig(3, latency=Latency("uniform", 400, 300))
    rates = {"bytes_per_second": rate, "queue_max": queue, "burst_ppm": burst, "burst_us": 50}
    run_bus(
        rig,
        (0, degrade(rig, "narrow", [(0, 1), (2, 1)], duplicate_ppm=200_000, **rates)),
        *[(1 + place * 7, rig.bus.broadcast, place % 3, b"0123456789", VOTE) for place in range(60)],
        (300, cut(rig, "torn", [(0, 1), (0, 2)])),
        (300, rig.bus.reset, "torn"),
        (350, rig.bus.lift, "torn"),
    )
    assert rig.bus.statistics().in_flight == 0
    assert rig.bus.statistics().delivered == len(rig.kinds("deliver"))
