"""Fault plans as data: what is refused, and which links a partition cuts."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults import Blackout, Crash, Fault, Links, Partition, PlanError, check_plan
from faults.plan import crossing_links


def plan_of(**faults):
    return msgspec.convert(faults, dict[str, Fault])


def test_a_plan_that_can_be_meant_is_accepted():
    """One of each kind, at different times."""
    plan = plan_of(
        split={"kind": "partition", "groups": [[0, 1], [2, 3]], "start_ms": 1, "stop_ms": 5},
        bad={"kind": "links", "stop_ms": 5, "loss_ppm": 1000},
        stop={"kind": "crash", "validator": 3, "at_ms": 1, "restart_ms": 9},
        dark={"kind": "blackout", "validators": [0, 1, 2, 3], "at_ms": 10, "restart_ms": 20},
    )

    check_plan(plan, 4)

    assert [type(fault) for fault in plan.values()] == [Partition, Links, Crash, Blackout]


@pytest.mark.parametrize(
    ("fault", "place"),
    [
        ({"kind": "partition", "groups": [[0], [4]], "start_ms": 1, "stop_ms": 5}, "faults.it: unknown validator 4"),
        ({"kind": "partition", "groups": [[0], [1]], "start_ms": 5, "stop_ms": 5}, "faults.it.stop_ms"),
        ({"kind": "partition", "groups": [[0, 1]], "start_ms": 1, "stop_ms": 5}, "faults.it.groups"),
        ({"kind": "partition", "groups": [[0], [0]], "start_ms": 1, "stop_ms": 5}, "faults.it.groups"),
        ({"kind": "crash", "validator": 9, "at_ms": 1, "restart_ms": 5}, "faults.it: unknown validator 9"),
        ({"kind": "crash", "validator": 1, "at_ms": 5, "restart_ms": 1}, "faults.it.restart_ms"),
        ({"kind": "blackout", "validators": [], "at_ms": 1, "restart_ms": 5}, "faults.it.validators"),
        ({"kind": "links", "stop_ms": 5, "between": [[2, 2]]}, "faults.it.between"),
    ],
)
def test_an_impossible_fault_is_refused_with_its_place(fault, place):
    """The error names the key and the value."""
    with pytest.raises(PlanError, match=place.replace(".", r"\.")):
        check_plan(plan_of(it=fault), 4)


def test_a_validator_cannot_lose_its_power_while_it_has_none():
    """Overlapping outages of one validator are refused; a disabled one does not count."""
    crash = {"kind": "crash", "validator": 1, "at_ms": 5, "restart_ms": 20}
    dark = {"kind": "blackout", "validators": [1, 2], "at_ms": 10, "restart_ms": 30}

    with pytest.raises(PlanError, match=r"faults\.dark.*down until 20"):
        check_plan(plan_of(crash=crash, dark=dark), 4)
    check_plan(plan_of(crash={**crash, "enabled": False}, dark=dark), 4)


@given(groups=st.lists(st.integers(0, 3), min_size=1, max_size=7))
def test_a_partition_cuts_exactly_the_links_between_groups(groups):
    """Both directions, and nothing inside a group."""
    members = [[node for node, group in enumerate(groups) if group == index] for index in range(4)]

    cut = crossing_links([group for group in members if group], len(groups))

    expected = [
        (source, destination)
        for source in range(len(groups))
        for destination in range(len(groups))
        if groups[source] != groups[destination]
    ]
    assert list(cut) == expected


def test_a_validator_in_no_group_is_alone():
    """Who is not named is cut off from everybody."""
    assert crossing_links([[0], [1]], 3) == ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))
