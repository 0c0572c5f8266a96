"""Copies, damage and rules by message on the bus: what they touch, count and leave alone."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.chance import Chance
from network.conditions import Condition, MessageRule, flip_bytes
from network.events import Delivered, events_of_type
from network.latency import Latency
from network.outcome import ConditionError
from network.topology import TopologyError
from network.types import Label
from tests.support.bus_runs import JITTERED, VOTE, cut, degrade, impose, run_bus
from tests.support.network_harness import build_rig
from tests.support.properties import examples


class TestCopies:
    def test_a_copy_arrives_besides_the_message_with_a_latency_of_its_own(self):
        """Both are delivered, the copy is counted, nothing is left on its way."""
        rig = build_rig(latency=JITTERED)
        heard = run_bus(rig, (0, degrade(rig, "double", duplicate_ppm=1_000_000)), (1, rig.bus.send, 0, 1, b"x"))
        statistics = rig.bus.statistics()

        assert [message.payload for _, message in heard[1]] == [b"x", b"x"]
        assert heard[1][0][0] != heard[1][1][0]
        assert (statistics.sent, statistics.duplicated, statistics.delivered, statistics.in_flight) == (1, 1, 2, 0)
        assert rig.bus.touched("double") == 1

    def test_a_copy_may_arrive_in_the_instant_of_the_message(self):
        """A fixed latency brings both at once; the queue can still order them."""
        rig = build_rig()
        heard = run_bus(rig, (0, degrade(rig, "double", duplicate_ppm=1_000_000)), (1, rig.bus.send, 0, 1, b"x"))
        assert [at_us for at_us, _ in heard[1]] == [1_001, 1_001]
        assert len({body.ordinal for _, body in events_of_type(rig.events, Delivered)}) == 2

    def test_two_conditions_make_two_copies(self):
        """They are drawn independently."""
        rig = build_rig()
        steps = [(0, degrade(rig, name, duplicate_ppm=500_000)) for name in "ab"]
        heard = run_bus(rig, *steps, *[(1 + i, rig.bus.send, 0, 1, bytes([i])) for i in range(60)])
        payloads = [message.payload for _, message in heard[1]]
        assert {payloads.count(bytes([i])) for i in range(60)} == {1, 2, 3}


class TestDamage:
    def test_a_damaged_message_differs_in_one_byte(self):
        """Length, label and source are as they were; the trace has the checksum of what arrived."""
        rig = build_rig()
        heard = run_bus(rig, (0, degrade(rig, "rot", corrupt_ppm=1_000_000)), (1, rig.bus.send, 0, 1, bytes(50), VOTE))
        ((_, message),) = heard[1]
        (sent,), (delivered,) = rig.kinds("send"), rig.kinds("deliver")

        assert len(message.payload) == 50
        assert sum(byte != 0 for byte in message.payload) == 1
        assert sent.values[2] == delivered.values[2] == "Notarize"
        assert sent.values[4] != delivered.values[4]
        assert rig.bus.touched("rot") == 1

    def test_other_receivers_of_a_broadcast_get_the_true_bytes(self):
        """Damage belongs to one link."""
        rig = build_rig(3)
        heard = run_bus(rig, (0, degrade(rig, "rot", corrupt_ppm=1_000_000)), (1, rig.bus.broadcast, 0, b"abc"))
        assert heard[1][0][1].payload != b"abc"
        assert heard[2][0][1].payload == b"abc"

    @given(st.binary(min_size=1, max_size=40), st.integers(0, 2**64 - 1))
    def test_flipping_changes_exactly_one_byte(self, payload, draw):
        """Whatever the draw is."""
        damaged = flip_bytes(payload, [draw])
        assert sum(old != new for old, new in zip(payload, damaged, strict=True)) == 1

    def test_damage_falls_on_every_place_and_on_every_bit(self):
        """A check of a message's first byte alone would miss the damage."""
        damaged = [flip_bytes(bytes(4), [Chance(0).draw("flip", "0->1", ordinal)]) for ordinal in range(200)]
        assert [max(column) > 0 for column in zip(*damaged, strict=True)] == [True] * 4
        assert {bit for message in damaged for byte in message for bit in range(8) if byte >> bit & 1} == set(range(8))

    def test_an_empty_message_cannot_be_damaged(self):
        """There is no byte to change."""
        assert flip_bytes(b"", [7]) == b""

    def test_rates_are_shares_of_a_million(self):
        """More than all is refused."""
        with pytest.raises(TopologyError, match="1000001"):
            Condition(name="wrong", corrupt_ppm=1_000_001)


class TestMatching:
    @pytest.mark.parametrize(
        ("matching", "is_match"),
        [
            ({}, True),
            ({"kinds": ("Notarize", "Nullify")}, True),
            ({"kinds": ("Nullify",)}, False),
            ({"views": ((1, 4), (5, 5))}, True),
            ({"views": ((1, 4), (6, 9))}, False),
            ({"heights": ((3, 9),)}, True),
            ({"heights": ((4, 9),)}, False),
            ({"kinds": ("Notarize",), "views": ((5, 5),), "heights": ((9, 9),)}, False),
        ],
    )
    def test_all_that_a_rule_names_must_match(self, matching, is_match):
        """Kinds, views and heights; what is left out admits all."""
        assert MessageRule("drop", **matching).matches(VOTE) is is_match

    def test_a_message_about_no_view_is_in_no_range_of_views(self):
        """Nor is one whose sender does not know the height."""
        assert not MessageRule("drop", views=((0, 99),)).matches(Label("TransactionGossip"))
        assert not MessageRule("drop", heights=((0, 99),)).matches(Label("Nullify", view=5))


class TestRules:
    def test_a_rule_drops_what_it_matches_and_nothing_else(self):
        """By label, never by payload; it counts what it dropped."""
        rig = build_rig()
        heard = run_bus(
            rig,
            (0, impose(rig, "mute", "drop", views=((5, 5),))),
            (1, rig.bus.send, 0, 1, b"lost", VOTE),
            (2, rig.bus.send, 0, 1, b"kept", VOTE._replace(view=6)),
            (3, rig.bus.lift, "mute"),
            (4, rig.bus.send, 0, 1, b"after", VOTE),
        )
        assert [message.payload for _, message in heard[1]] == [b"kept", b"after"]
        assert (rig.bus.touched("mute"), rig.bus.statistics().dropped_rule) == (1, 1)

    def test_a_delay_comes_on_top_of_the_latency(self):
        """Two rules that match add up."""
        rig = build_rig()
        steps = [(0, impose(rig, name, "delay", delay_us=500)) for name in "ab"]
        assert [at for at, _ in run_bus(rig, *steps, (1, rig.bus.send, 0, 1, b"x", VOTE))[1]] == [2_001]

    def test_held_messages_are_released_in_the_order_of_sending(self):
        """Across links as well, whatever the latency; the gap lies between two of one receiver."""
        rig = build_rig(3, latency=JITTERED)
        links = [(0, 2), (1, 2), (0, 1)]
        sends = [(1 + i, rig.bus.send, i % 2, 2, bytes([i]), VOTE) for i in range(20)]
        heard = run_bus(
            rig,
            (0, impose(rig, "jam", "hold", links)),
            *sends,
            (30, rig.bus.send, 0, 1, b"other", VOTE),
            (50_000, rig.bus.lift, "jam"),
            (60_000, partial(rig.bus.release, "jam", gap_us=10)),
        )
        assert [message.payload[0] for _, message in heard[2]] == list(range(20))
        assert [at for at, _ in heard[2]] == [60_001 + 10 * i for i in range(20)]
        assert [at for at, _ in heard[1]] == [60_001]
        assert rig.bus.touched("jam") == 21
        assert rig.bus.statistics().in_flight == 0
        assert (len(rig.kinds("hold")), len(rig.kinds("release"))) == (21, 21)

    def test_what_is_held_in_one_instant_is_released_by_sender(self):
        """The order in which trio ran the senders does not show."""
        rig = build_rig(3)

        def send_both():
            rig.bus.send(1, 2, b"second", VOTE)
            rig.bus.send(0, 2, b"first", VOTE)

        heard = run_bus(
            rig,
            (0, impose(rig, "jam", "hold", [(0, 2), (1, 2)])),
            (1, send_both),
            (9_000, rig.bus.lift, "jam"),
            (9_000, partial(rig.bus.release, "jam")),
        )
        assert [message.payload for _, message in heard[2]] == [b"first", b"second"]

    def test_a_first_release_is_for_the_chosen_receivers_only(self):
        """For them the rule is over; the others wait on, and go on being held."""
        rig = build_rig(3)
        heard = run_bus(
            rig,
            (0, impose(rig, "jam", "hold", [(0, 1), (0, 2)])),
            (1, rig.bus.broadcast, 0, b"early", VOTE),
            (5_000, partial(rig.bus.release, "jam", [1])),
            (5_001, rig.bus.broadcast, 0, b"late", VOTE),
            (9_000, rig.bus.lift, "jam"),
            (9_000, partial(rig.bus.release, "jam")),
        )
        assert [(at, message.payload) for at, message in heard[1]] == [(5_001, b"early"), (6_001, b"late")]
        assert [(at, message.payload) for at, message in heard[2]] == [(9_001, b"early"), (9_002, b"late")]

    def test_a_cut_beats_a_rule_and_a_drop_beats_a_hold(self):
        """Each message is counted by the condition that decided."""
        rig = build_rig()
        run_bus(
            rig,
            (0, impose(rig, "jam", "hold")),
            (0, impose(rig, "mute", "drop")),
            (1, rig.bus.send, 0, 1, b"x", VOTE),
            (2, cut(rig, "split", [(0, 1)])),
            (3, rig.bus.send, 0, 1, b"y", VOTE),
        )
        assert [rig.bus.touched(name) for name in ("jam", "mute", "split")] == [0, 1, 1]

    def test_only_a_rule_can_release(self):
        """The name is checked."""
        with pytest.raises(ConditionError, match="'none'"):
            build_rig().bus.release("none")


class TestIndependence:
    @pytest.mark.parametrize("removed", ["copies", "rot", "mute", "late"])
    def test_taking_one_condition_out_leaves_every_other_draw(self, removed):
        """Messages that the removed one never touched fare as before, to the microsecond and the byte."""

        def play(*names):
            rig = build_rig(3, latency=JITTERED)
            conditions = {
                "copies": degrade(rig, "copies", [(0, 1)], duplicate_ppm=300_000),
                "rot": degrade(rig, "rot", [(0, 2)], corrupt_ppm=300_000),
                "loss": degrade(rig, "loss", [(0, 1), (0, 2)], loss_ppm=300_000),
                "mute": impose(rig, "mute", "drop", [(0, 2)], views=((3, 3),)),
                "late": impose(rig, "late", "delay", [(0, 2)], views=((4, 4),), delay_us=7),
            }
            steps = [(1 + i * 10, rig.bus.broadcast, 0, b"%03d" % i, Label("x", view=i % 7)) for i in range(100)]
            heard = run_bus(rig, *[(0, conditions[name]) for name in names], *steps)
            return {(node, at, message.payload) for node in heard for at, message in heard[node]}, rig

        names = ["copies", "rot", "loss", "mute", "late"]
        everything, rig = play(*names)
        without, _ = play(*[name for name in names if name != removed])
        touched = rig.bus.touched(removed)
        assert touched > 0
        assert len(everything - without) <= touched
        assert len(without - everything) <= touched

    @examples(20)
    @given(st.integers(0, 1_000_000), st.integers(0, 1_000_000), st.integers(0, 100))
    def test_every_message_and_copy_is_accounted_for(self, duplicate_ppm, loss_ppm, seed):
        """Sent and doubled is delivered plus dropped when nothing is on its way or held."""
        rig = build_rig(3, latency=Latency("uniform", 30, 20), seed=seed)
        rates = {"duplicate_ppm": duplicate_ppm, "loss_ppm": loss_ppm, "corrupt_ppm": 500_000}
        steps = [(place, rig.bus.broadcast, place % 3, b"x", VOTE._replace(view=place)) for place in range(40)]
        run_bus(
            rig,
            (0, degrade(rig, "rot", [(0, 1), (2, 1)], **rates)),
            (0, impose(rig, "jam", "hold", [(0, 2)], views=((0, 20),))),
            *steps,
            (90, partial(rig.bus.release, "jam")),
        )
        statistics = rig.bus.statistics()
        assert (statistics.sent, statistics.in_flight) == (80, 0)
        assert statistics.delivered == sum(1 for _ in rig.kinds("deliver"))
