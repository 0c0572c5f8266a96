"""The bus: deliveries, losses, conditions and their counts, topology."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.bus import Bus
from network.chance import Chance
from network.conditions import Condition
from network.events import Delivered, Dropped, Sent, events_of_type
from network.latency import Latency
from network.outcome import BusError, ConditionError, UnknownLinkError
from network.port import Delivery
from network.topology import LinkSpec, TopologyError, build_topology
from network.types import SUPERVISOR, EventKind, Label
from tests.support.bus_runs import JITTERED, cut, degrade, run_bus
from tests.support.network_harness import Rig, build_rig, shuffled
from tests.support.properties import examples

FIXED = Latency("fixed", 1_000)


def dropped_of(rig):
    return [body for _, body in events_of_type(rig.events, Dropped)]


class TestDelivery:
    def test_a_message_arrives_after_its_latency(self):
        """Source and payload arrive unchanged."""
        rig = build_rig()
        heard = run_bus(rig, (5, rig.bus.send, 0, 1, b"hello"))
        assert heard == {0: [], 1: [(1_005, Delivery(0, b"hello"))]}

    def test_a_broadcast_reaches_all_others(self):
        """The sender does not hear itself."""
        rig = build_rig(3)
        heard = run_bus(rig, (0, rig.bus.broadcast, 1, b"hello"))
        assert heard == {0: [(1_000, Delivery(1, b"hello"))], 1: [], 2: [(1_000, Delivery(1, b"hello"))]}

    def test_sends_and_deliveries_are_traced_with_label_length_and_checksum(self):
        """The sender's chain has the send, the receiver's the delivery, with one checksum."""
        rig = build_rig(3)
        run_bus(
            rig,
            (0, rig.bus.broadcast, 1, b"hello", Label("greeting")),
            (0, rig.bus.send, 1, 2, b"hallo", Label("greeting", view=4)),
        )
        sends, deliveries = rig.kinds("send"), rig.kinds("deliver")
        checksum, other = sends[0].values[4], sends[2].values[4]

        assert [(event.node, event.values) for event in sends] == [
            (1, (0, 0, "greeting", 5, checksum, None, None)),
            (1, (2, 0, "greeting", 5, checksum, None, None)),
            (1, (2, 1, "greeting", 5, other, 4, None)),
        ]
        assert [(event.node, event.values) for event in deliveries] == [
            (0, (1, 0, "greeting", 5, checksum)),
            (2, (1, 0, "greeting", 5, checksum)),
            (2, (1, 1, "greeting", 5, other)),
        ]
        assert len(checksum) == 8
        assert checksum != other

    def test_nobody_home_is_a_drop(self):
        """It is decided when the message arrives, and counted."""
        rig = build_rig()
        rig.kernel.post(0, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 0, rig.bus.send, 0, 1, b"hello")
        rig.run(rig.port(0).receive)
        assert rig.bus.statistics().dropped_down == 1
        assert dropped_of(rig) == [Dropped(1, 0, "down", "")]

    def test_an_oversize_message_is_dropped_when_it_is_sent(self):
        """The limit itself still passes."""
        rig = build_rig(size_limit=10)
        heard = run_bus(rig, (0, rig.bus.send, 0, 1, bytes(11)), (0, rig.bus.send, 0, 1, bytes(10)))
        assert heard[1] == [(1_000, Delivery(0, bytes(10)))]
        assert rig.bus.statistics().dropped_oversize == 1

    def test_there_is_no_link_to_oneself_or_to_nobody(self):
        """The message names the link."""
        rig = build_rig()
        for destination in (0, 2):
            with pytest.raises(UnknownLinkError, match=f"0->{destination}"):
                rig.bus.send(0, destination, b"")
        with pytest.raises(UnknownLinkError, match="node 2"):
            rig.bus.attach(2, None)

    def test_a_node_has_one_receiver(self):
        """A restart without a crash is a mistake of the caller."""
        rig = build_rig()
        rig.port(0)
        with pytest.raises(BusError, match="node 0 already has a receiver"):
            rig.port(0, incarnation=1)

    @examples(20)
    @given(
        st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.integers(0, 3)), max_size=60),
        st.sampled_from([FIXED, Latency("uniform", 20, 15), JITTERED]),
        st.sampled_from([1, 2, None]),
    )
    def test_deliveries_come_in_canonical_order_whatever_trio_does(self, sends, latency, shuffle):
        """By time, then source, then ordinal; and the digest is the same under another shuffle."""

        def play(seed: int | None) -> Rig:
            rig = build_rig(4, latency=latency)
            steps = [(at, rig.bus.send, s, d, b"%d" % place) for place, (at, s, d) in enumerate(sends) if s != d]
            with shuffled(seed):
                heard = run_bus(rig, *steps)
            assert sum(len(messages) for messages in heard.values()) == len(steps)
            return rig

        rig = play(0)
        for node in range(4):
            found = events_of_type(rig.events, Delivered)
            arrivals = [(event.at_us, body.source, body.ordinal) for event, body in found if event.node == node]
            assert arrivals == sorted(arrivals)
        assert play(shuffle).trace.digest == rig.trace.digest


class TestConditions:
    def test_a_cut_drops_what_is_sent_and_lets_pass_what_is_on_its_way(self):
        """Each direction is a link of its own; mending ends it."""
        rig = build_rig()
        heard = run_bus(
            rig,
            (0, rig.bus.send, 0, 1, b"before"),
            (10, cut(rig, "split", [(0, 1)])),
            (20, rig.bus.send, 0, 1, b"during"),
            (20, rig.bus.send, 1, 0, b"back"),
            (30, rig.bus.lift, "split"),
            (40, rig.bus.send, 0, 1, b"after"),
        )
        assert [message.payload for _, message in heard[1]] == [b"before", b"after"]
        assert [message.payload for _, message in heard[0]] == [b"back"]
        assert (rig.bus.touched("split"), rig.bus.statistics().dropped_cut) == (1, 1)
        assert dropped_of(rig) == [Dropped(1, 1, "cut", "split")]

    @pytest.mark.parametrize("link", [(0, 1), (1, 0), (2, 1)])
    def test_a_cut_is_of_the_links_that_it_names_whatever_their_direction(self, link):
        """Every other link carries on."""
        rig = build_rig(3)
        run_bus(rig, (0, cut(rig, "one-way", [link])), *((1, rig.bus.broadcast, node, b"x") for node in range(3)))
        (dropped,) = rig.kinds("drop")
        assert (dropped.node, dropped.values[0]) == link

    def test_stacked_cuts_end_one_by_one(self):
        """A link works again when the last cut on it is mended; each counts what it would have dropped."""
        rig = build_rig()
        heard = run_bus(
            rig,
            (0, cut(rig, "one", [(0, 1)])),
            (0, cut(rig, "two", [(0, 1), (0, 1)])),
            (1, rig.bus.send, 0, 1, b"a"),
            (2, rig.bus.lift, "one"),
            (3, rig.bus.send, 0, 1, b"b"),
            (4, rig.bus.lift, "two"),
            (5, rig.bus.send, 0, 1, b"c"),
        )
        assert heard[1] == [(1_005, Delivery(0, b"c"))]
        assert (rig.bus.touched("one"), rig.bus.touched("two"), rig.bus.statistics().dropped_cut) == (1, 2, 2)

    def test_a_degradation_replaces_the_latency_until_it_is_restored(self):
        """It counts the messages that it delayed; the newest one counts."""
        rig = build_rig()
        worsen = degrade(rig, "slow", [(0, 1)], latency=Latency("fixed", 500_000), loss_ppm=0)
        slower = degrade(rig, "slower", [(0, 1)], latency=Latency("fixed", 700_000), loss_ppm=0)
        heard = run_bus(
            rig,
            (0, worsen),
            (1, rig.bus.send, 0, 1, b"slow"),
            (2, slower),
            (3, rig.bus.send, 0, 1, b"slower"),
            (4, rig.bus.lift, "slower"),
            (4, rig.bus.lift, "slow"),
            (5, rig.bus.send, 0, 1, b"fast"),
        )
        assert [at_us for at_us, _ in heard[1]] == [1_005, 500_001, 700_003]
        assert (rig.bus.touched("slow"), rig.bus.touched("slower")) == (2, 1)

    def test_loss_takes_about_the_share_that_was_asked_for_and_counts_it(self):
        """Of 2,000 messages half are lost, and each lost one is counted by its condition."""
        rig = build_rig()
        lose = degrade(rig, "lossy", [(0, 1)], loss_ppm=500_000)
        heard = run_bus(rig, (0, lose), *[(1 + i, rig.bus.send, 0, 1, b"") for i in range(2_000)])
        lost = 2_000 - len(heard[1])
        assert 900 < lost < 1_100
        assert lost == rig.bus.touched("lossy") == rig.bus.statistics().dropped_loss

    def test_a_link_may_lose_by_itself(self):
        """Then no condition is named."""
        rig = build_rig(latency=LinkSpec(FIXED, loss_ppm=1_000_000))
        assert run_bus(rig, (0, rig.bus.send, 0, 1, b""))[1] == []
        assert dropped_of(rig) == [Dropped(1, 0, "loss", "")]

    @pytest.mark.parametrize("way", ["link", "condition"])
    def test_reordering_lets_later_messages_overtake(self, way):
        """Held back messages arrive later by the extra time."""
        spec = LinkSpec(FIXED, reorder_ppm=300_000, reorder_extra_us=5_000)
        rig = build_rig(latency=spec if way == "link" else FIXED)
        hold = degrade(rig, "jumble", [(0, 1)], reorder_ppm=300_000, reorder_extra_us=5_000)
        sends = [(1 + i, rig.bus.send, 0, 1, bytes([i])) for i in range(200)]
        heard = run_bus(rig, *sends) if way == "link" else run_bus(rig, (0, hold), *sends)
        order = [message.payload[0] for _, message in heard[1]]
        late = [at_us for at_us, message in heard[1] if at_us - message.payload[0] == 6_001]

        assert sorted(order) == list(range(200))
        assert order != list(range(200))
        assert 30 < len(late) < 90
        if way == "condition":
            assert rig.bus.touched("jumble") == len(late)

    def test_taking_one_fault_out_leaves_every_other_draw(self):
        """Without the cut, all messages that were not cut fare exactly as before."""

        def play(*, with_cut: bool) -> list[tuple[object, ...]]:
            rig = build_rig(3, latency=JITTERED)
            links = [(0, 1), (0, 2)]
            steps: list[tuple[object, ...]] = [
                (0, degrade(rig, "lossy", links, loss_ppm=400_000)),
                (0, degrade(rig, "jumble", links, loss_ppm=200_000)),
            ]
            if with_cut:
                steps += [(300, cut(rig, "split", [(0, 1)])), (600, rig.bus.lift, "split")]
            steps += [(1 + place * 10, rig.bus.broadcast, 0, b"%d" % place) for place in range(100)]
            run_bus(rig, *steps)
            fates = [(event.at_us, event.kind, event.node, *event.values[:4]) for event in rig.events]
            return [fate for fate in fates if fate[1] in {"deliver", "drop"} and "cut" not in fate]

        with_cut, without = play(with_cut=True), play(with_cut=False)
        assert set(with_cut) < set(without)
        assert len(without) - len(with_cut) == 30

    def test_two_conditions_do_not_lose_the_same_messages(self):
        """Their draws are independent: two losses of one half let a quarter pass."""
        rig = build_rig()
        steps = [(0, degrade(rig, name, [(0, 1)], loss_ppm=500_000)) for name in "ab"]
        heard = run_bus(rig, *steps, *[(1 + i, rig.bus.send, 0, 1, b"") for i in range(1_000)])
        assert 200 < len(heard[1]) < 300

    def test_names_of_conditions_are_checked(self):
        """A name is set once at a time, and only what is set can end."""
        bus = build_rig().bus
        bus.impose(Condition(name="split", is_cut=True), [(0, 1)])
        with pytest.raises(ConditionError, match="'split' is already set"):
            bus.impose(Condition(name="split"), [(0, 1)])
        for call in (bus.lift, bus.touched):
            with pytest.raises(ConditionError, match="'none'"):
                call("none")
        with pytest.raises(UnknownLinkError, match="0->9"):
            bus.impose(Condition(name="far", is_cut=True), [(0, 9)])
        with pytest.raises(TopologyError, match="loss_ppm=1000001"):
            Condition(name="wrong", loss_ppm=1_000_001)

    def test_a_condition_that_could_not_be_set_leaves_nothing_behind(self):
        """An unknown link is found before any link is touched."""
        rig = build_rig()
        with pytest.raises(UnknownLinkError):
            rig.bus.impose(Condition(name="far", is_cut=True), [(0, 1), (0, 9)])
        assert run_bus(rig, (0, rig.bus.send, 0, 1, b"x"))[1] == [(1_000, Delivery(0, b"x"))]


class TestStatistics:
    @examples(20)
    @given(st.integers(0, 1_000_000), st.integers(0, 40), st.integers(0, 100))
    def test_every_message_is_accounted_for(self, loss_ppm, cut_from, seed):
        """Sent is delivered plus dropped when nothing is on its way."""
        rig = build_rig(3, latency=LinkSpec(JITTERED, loss_ppm=loss_ppm), seed=seed)
        steps = [(place, rig.bus.broadcast, place % 3, b"x") for place in range(40)]
        run_bus(rig, *steps, (cut_from, cut(rig, "split", [(0, 1), (2, 1)])))
        statistics = rig.bus.statistics()
        dropped = statistics.dropped_cut + statistics.dropped_loss
        assert (statistics.sent, statistics.in_flight) == (80, 0)
        assert statistics.delivered + dropped == 80
        assert len(rig.kinds("drop")) == dropped


class TestTopology:
    def test_overrides_replace_one_direction(self):
        """The way back keeps the default."""
        slow = LinkSpec(Latency("fixed", 9_000))
        graph = build_topology(3, FIXED, {(0, 1): slow})
        assert graph.edges[0, 1]["link"] == slow
        assert graph.edges[1, 0]["link"] == LinkSpec(FIXED)
        assert graph.number_of_edges() == 6

    def test_the_bus_does_not_follow_later_changes_of_the_graph(self):
        """It copies what it needs at the start."""
        rig = build_rig()
        graph = build_topology(2, FIXED)
        bus = Bus(rig.kernel, graph, Chance(0), rig.trace, size_limit=10)
        graph.remove_edge(0, 1)
        bus.send(0, 1, b"")
        assert bus.statistics().sent == 1

    @pytest.mark.parametrize(
        ("nodes", "overrides", "message"),
        [
            (0, {}, "at least 1 node"),
            (2, {(0, 2): LinkSpec(FIXED)}, "no link 0->2"),
            (2, {(1, 1): LinkSpec(FIXED)}, "1->1"),
        ],
    )
    def test_impossible_topologies_are_refused(self, nodes, overrides, message):
        """The message has the values."""
        with pytest.raises(TopologyError, match=message):
            build_topology(nodes, FIXED, overrides)

    def test_rates_are_shares_of_a_million(self):
        """More than all, or less than none, is refused."""
        for arguments in ({"loss_ppm": -1}, {"reorder_ppm": 1_000_001}, {"reorder_extra_us": -1}):
            with pytest.raises(TopologyError, match=next(iter(arguments))):
                LinkSpec(FIXED, **arguments)


class TestTwins:
    """Node 3 sends and receives under the number of node 1."""

    def test_a_message_of_a_twin_comes_from_its_identity(self):
        """The trace has the machine. The machines of one identity have no link."""
        rig = build_rig(4, twins={3: 1})
        heard = run_bus(rig, (0, rig.bus.broadcast, 3, b"other"), (0, rig.bus.send, 3, 1, b"self"))
        other = [(1_000, Delivery(1, b"other"))]
        assert heard == {0: other, 1: [], 2: other, 3: []}
        assert [(event.node, sent.destination) for event, sent in events_of_type(rig.events, Sent)] == [(3, 0), (3, 2)]
        assert [(event.node, came.source) for event, came in events_of_type(rig.events, Delivered)] == [(0, 3), (2, 3)]

    def test_a_message_to_an_identity_reaches_both_machines(self):
        """Whether it is sent to it alone or to all; a cut of one link leaves the other machine."""
        rig = build_rig(4, twins={3: 1})
        heard = run_bus(
            rig,
            (0, rig.bus.send, 0, 1, b"one"),
            (0, rig.bus.broadcast, 2, b"all"),
            (5, cut(rig, "apart", links=((0, 1),))),
            (6, rig.bus.send, 0, 1, b"cut"),
        )
        both = [(1_000, Delivery(0, b"one")), (1_000, Delivery(2, b"all"))]
        assert heard == {0: both[1:], 1: both, 2: [], 3: [*both, (1_006, Delivery(0, b"cut"))]}

    def test_a_broadcast_one_by_one_sends_each_machine_one_message(self):
        """A port that reports its first message sends to each neighbour itself."""
        rig = build_rig(4, twins={3: 1})
        port = rig.port(0)
        port.on_sent = lambda _label: None
        rig.kernel.post(0, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 0, port.broadcast, b"hello")
        rig.run(port.receive)
        assert [sent.destination for _, sent in events_of_type(rig.events, Sent)] == [1, 3, 2]
