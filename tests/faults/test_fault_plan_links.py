"""Clogs, manners of partitions, narrow links, storms, throttles: what a plan may not say of them, and what it means."""

import pytest

from faults import PlanError, check_plan
from faults.injection.links import crossing_links
from tests.support.fault_plans import RULE, SPAN, plan_of
from validators.messages import CHANNELS, MESSAGE_KINDS, kinds_of

SPLIT = {"kind": "partition", "groups": [[0, 1], [2, 3]], **SPAN}
RANDOM = {"kind": "partitions", "every_ms": 2, "length_ms": 3, **SPAN}
CLOG = {"kind": "clog", "validators": [0], **SPAN}
SWIZZLE = {"kind": "swizzle-clog", **SPAN}
STORM = {"kind": "restart-storm", "every_ms": [1, 2], "down_ms": [3, 40], **SPAN}
PAUSE = {"kind": "pause", "validator": 0, **SPAN}
EDGE = {"kind": "crash-at-boundary", "validator": 1, "boundary": "after-sync", "restart_after_ms": 2, **SPAN}


@pytest.mark.parametrize(
    ("fault", "place"),
    [
        ({**SPLIT, "manner": "delayed"}, "faults.it.delay_ms: belongs to the manner delayed"),
        ({**SPLIT, "delay_ms": 5}, "faults.it.delay_ms: belongs to the manner delayed"),
        ({**SPLIT, "release_gap_ms": 5}, "faults.it.release_gap_ms: belongs to the manner held"),
        ({**SPLIT, "manner": "held", "in_flight": "lost"}, "faults.it.in_flight: belongs to the manner cut"),
        ({"kind": "clog", **SPAN}, "faults.it.validators: clogs nothing; give validators or between"),
        ({**CLOG, "validators": [0, 0]}, "faults.it.validators: validator 0 is named twice"),
        ({**CLOG, "validators": [4]}, "faults.it: unknown validator 4"),
        ({**CLOG, "between": [[1, 4]]}, "faults.it: unknown validator 4"),
        ({**CLOG, "between": [[1, 1]]}, "faults.it.between: validator 1 has no link to itself"),
        ({**CLOG, "between": [[1, 2], [2, 1]]}, "faults.it.between: the link"),
        ({"kind": "clog", "between": [[1, 2]], "way": "in", **SPAN}, "faults.it.way: belongs to validators"),
        ({**CLOG, "channels": ["votes", "votes"]}, "faults.it.channels: votes is named twice"),
        ({**SWIZZLE, "pairs": 7}, "faults.it.pairs: this cluster has 6 pairs"),
        ({**SWIZZLE, "stop_ms": 2}, "faults.it.stop_ms: must lie at least 2 ms after start_ms"),
        ({"kind": "links", "stop_ms": 5, "burst_ppm": 5}, "faults.it.burst_ppm: burst_ppm and burst_ms go together"),
        ({"kind": "links", "stop_ms": 5, "channels": ["votes"]}, "faults.it.kind: changes nothing"),
        ({"kind": "links", "stop_ms": 5, "loss_ppm": 5, "one_way": True}, "faults.it.one_way: needs pairs in between"),
        ({**RULE, "action": "delay", "delay_ms": 3, "release_ms": 60}, "faults.it.release_ms: only the actions hold"),
        ({**RANDOM, "groups": [[0, 1]]}, "faults.it.groups: needs at least two groups"),
        ({**RANDOM, "groups": [[0], [1, 0]]}, "faults.it.groups: validator 0 is named twice"),
        ({**PAUSE, "also": [0]}, "faults.it.also: validator 0 is named twice"),
        ({**PAUSE, "pause_ms": 3}, "faults.it.run_ms: pause_ms and run_ms go together"),
        ({**EDGE, "also": [2, 2]}, "faults.it.also: validator 2 is named twice"),
        ({**STORM, "validators": [1, 1]}, "faults.it.validators: validator 1 is named twice"),
        ({**STORM, "every_ms": [3, 2]}, "faults.it.every_ms: is [least, most]"),
        ({**STORM, "down_ms": [41, 40]}, "faults.it.down_ms: is [least, most]"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(fault, place):
    with pytest.raises(PlanError) as refusal:
        check_plan(plan_of(it=fault), 4, engine="simplex")

    assert str(refusal.value).startswith(place)


def test_the_name_of_a_fault_may_not_look_like_a_part_of_another():
    """Parts of a swizzle clog are conditions of the bus under the name of the fault, a sign, and the part."""
    with pytest.raises(PlanError, match=r"faults\.it@1: the name of a fault has no @"):
        check_plan(plan_of(**{"it": SWIZZLE, "it@1": CLOG}), 4, engine="simplex")


@pytest.mark.parametrize(
    ("first", "second", "until_ms"),
    [
        (STORM, {"kind": "crash", "validator": 3, "at_ms": 44, "restart_ms": 60}, 45),
        ({**PAUSE, "also": [3]}, {"kind": "crash", "validator": 3, "at_ms": 4, "restart_ms": 60}, 5),
        ({**EDGE, "also": [3]}, {"kind": "crash", "validator": 3, "at_ms": 6, "restart_ms": 60}, 7),
    ],
)
def test_nobody_is_hit_twice_by_what_hits_several(first, second, until_ms):
    """A storm without names hits all, until its longest outage is over."""
    with pytest.raises(PlanError, match=rf"faults\.second: validator 3 is \w+ until {until_ms} by faults\.first"):
        check_plan(plan_of(first=first, second=second), 4, engine="simplex")
    check_plan(plan_of(first=first, second={**second, "at_ms": until_ms + 1}), 4, engine="simplex")


def test_a_fault_lasts_until_nothing_of_it_is_left():
    plan = plan_of(storm=STORM, replay={**RULE, "action": "replay", "release_ms": 70}, clog=CLOG)

    assert [fault.span() for fault in plan.values()] == [(1, 45), (10, 70), (1, 5)]


def test_all_who_are_named_are_told():
    plan = plan_of(pause={**PAUSE, "also": [2]}, edge={**EDGE, "also": [3]}, clog={**CLOG, "between": [[1, 2]]})

    assert [fault.targets() for fault in plan.values()] == [(0, 2), (1, 3), (0, 1, 2)]


def test_a_one_way_partition_goes_from_earlier_groups_to_later_ones():
    """A validator in no group comes last."""
    assert crossing_links([[2], [0]], 3, one_way=True) == ((0, 1), (2, 0), (2, 1))


def test_each_kind_of_message_travels_in_one_channel():
    assert sorted(kinds_of(tuple(CHANNELS))) == sorted(MESSAGE_KINDS)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (
            {**SPLIT, "in_flight": "lost"},
            "{0, 1} and {2, 3} are cut, and what is on its way at the start is lost.",
        ),
        ({**SPLIT, "manner": "held", "one_way": True}, "all links from {0, 1} to {2, 3} are held: messages wait"),
        (
            {**SPLIT, "manner": "delayed", "delay_ms": 1_500},
            "messages on all links between {0, 1} and {2, 3} arrive",
        ),
        (
            {"kind": "cut", "links": [[0, 1]], "in_flight": "lost", **SPAN},
            "only, and what is on its way at the start",
        ),
        (
            {**CLOG, "way": "in", "channels": ["votes", "blocks"], "between": [[1, 2]]},
            "votes and blocks to validator 0 and between 1-2 wait, and arrive in their order at the end.",
        ),
        ({**SWIZZLE, "pairs": 2}, "half of all validators and 2 drawn links clog one by one in the first half"),
        ({**SWIZZLE, "validators": [0, 3]}, "validators 0 and 3 clog one by one"),
        (
            {
                "kind": "links",
                "stop_ms": 5,
                "burst_ppm": 10_000,
                "burst_ms": 200,
                "bytes_per_second": 20_000,
                "queue_max": 4,
                "channels": ["blocks"],
            },
            "carry 20,000 bytes a second and throw a message out when more than 4 are under way.",
        ),
        ({**RULE, "action": "replay"}, "are recorded on their way, and arrive once more in their order at 0.05 s."),
        (
            {**PAUSE, "also": [1]},
            "validators 0 and 1 are paused: all their events are held back and",
        ),
        (
            {**PAUSE, "pause_ms": 3, "run_ms": 1},
            "is paused for 0.003 s, then not for 0.001 s, and again: all its",
        ),
        ({**EDGE, "also": [2]}, "later; validator 2 with it in the same instant."),
        (
            STORM,
            "in turn, one every 0.001 s to 0.002 s, and restart from their disks 0.003 s to 0.04 s later",
        ),
        ({**STORM, "validators": [1, 2], "is_drawn": True}, "validators 1 and 2 lose their power in a drawn order"),
    ],
)
def test_each_is_explained_in_a_sentence(fault, expected):
    assert expected in plan_of(it=fault)["it"].describe()
