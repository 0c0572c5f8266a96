"""Shrink candidates of a plan, and the search for the smallest: downwards from a plan that is known to fail."""

import json

import pytest

from cluster.campaign.fewer_validators import with_validators
from cluster.campaign.shrink_candidates import GONE, candidates_of, with_choices
from cluster.campaign.smallest import find_smallest
from cluster.scenario.defaults import without_defaults
from cluster.scenario.load import convert_scenario, encode_scenario

PLAN = {
    "name": "plan",
    "title": "a plan",
    "cluster": {"validators": 6},
    "network": {"latency_ms": 90, "regossip_ms": 500},
    "workload": {
        "pulse": {"kind": "heartbeats", "actors": 40},
        "pay": {"kind": "transfers", "accounts": 3, "count": 9},
    },
    "faults": {
        "cut": {"kind": "cut", "links": [[0, 1], [4, 5], [2, 3]], "start_ms": 2_000, "stop_ms": 10_000},
        "crash": {"kind": "crash", "validator": 5, "at_ms": 3_000, "restart_ms": 3_400},
        "rule": {"kind": "rule", "action": "drop", "views": [[5, 9]], "to": [1, 5], "stop_ms": 9_000},
    },
    "run": {"until_height": 16},
}


def resolved(**changes):
    return json.loads(encode_scenario(convert_scenario({**PLAN, **changes}, "plan")))


def values_at(*path, **changes):
    found = {each.path: each.values for group in candidates_of(resolved(**changes)) for each in group}
    return found.get(path)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (("network", "latency_ms"), (GONE, 52, 65, 90)),
        (("workload", "pulse", "actors"), (1, 10, 20, 40)),
        (("run", "until_height"), (2, 4, 6, 8, 10, 12, 14, 16)),
    ],
)
def test_a_number_comes_closer_to_its_default_or_to_nothing(path, values):
    assert values_at(*path) == values


def test_a_number_below_its_default_has_the_default_as_only_candidate():
    assert values_at("network", "regossip_ms") == (GONE, 500)


def test_a_ratio_goes_back_to_its_default_as_a_whole():
    chain = {"policy": "eip1559", "lane": {"target_utilisation": [1, 3]}}

    assert values_at("chain", "lane", "target_utilisation", chain=chain) == (GONE, [1, 3])
    assert values_at("chain", "lane", "target_utilisation", 0, chain=chain) is None


@pytest.mark.soak
def test_a_time_span_is_cut_on_both_ends():
    assert values_at("faults", "cut", "start_ms") == (8_000, 6_000, 4_000, 2_000)
    assert values_at("faults", "cut", "stop_ms") == (4_000, 6_000, 8_000, 10_000)


def test_a_short_time_span_is_not_rounded_away():
    assert values_at("faults", "crash", "restart_ms") == (3_100, 3_200, 3_300, 3_400)


def test_an_entry_of_a_list_can_go():
    assert values_at("faults", "cut", "links", 1) == (GONE, [4, 5])


def test_what_the_rules_refuse_is_no_candidate():
    """A transfer needs two accounts."""
    assert values_at("workload", "pay", "accounts") is None
    assert (
        values_at("workload", "pay", "accounts", workload={"pay": {"kind": "transfers", "accounts": 40, "count": 1}})[0]
        == 10
    )


def test_what_is_as_by_default_has_no_candidates():
    assert values_at("network", "jitter_ms") is None
    assert values_at("consensus", "leader_timeout_ms") is None


def test_a_lane_that_is_as_by_default_has_nothing_to_state():
    """Its ratios are lists in plain data, and tuples where they come from."""
    assert without_defaults(resolved(chain={"policy": "eip1559"}))["chain"] == {"policy": "eip1559"}


def test_the_lowest_candidates_of_a_list_leave_the_others_in_their_order():
    plain = resolved()
    chosen = [
        (each, 0) for group in candidates_of(plain) for each in group if each.path[:3] == ("faults", "cut", "links")
    ]

    assert with_choices(plain, chosen[:2])["faults"]["cut"]["links"] == [[2, 3]]
    assert plain["faults"]["cut"]["links"] == [[0, 1], [4, 5], [2, 3]]


def test_faults_of_any_kind_leave_out_validators_that_are_gone():
    """Numbers that are no validators, such as views, stay; a fault about one validator gets another one."""
    faults = with_validators(resolved(), 4)["faults"]

    assert faults["cut"]["links"] == [[0, 1], [2, 3]]
    assert faults["crash"]["validator"] == 1
    assert (faults["rule"]["to"], faults["rule"]["views"]) == ([1], [[5, 9]])


def search(counts, holds):
    """Return what was found, and what was asked for."""
    asked = []

    def holds_and_note(choices):
        asked.append(choices)
        return holds(choices)

    return find_smallest(counts, holds_and_note), asked


def needs(choices):
    return choices[1] >= 2 and choices[5] >= 1


COUNTS = [[4, 4, 2], [3, 3], [8, 2, 2, 4]]


def test_every_choice_is_as_low_as_can_be():
    assert search(COUNTS, needs)[0] == (0, 2, 0, 0, 0, 1, 0, 0, 0)


@pytest.mark.soak
def test_what_nothing_needs_goes_in_great_pieces():
    """Of twenty-four choices one matters: it takes fewer questions than there are choices."""
    found, asked = search([[4] * 8] * 3, lambda choices: choices[13] >= 1)

    assert sum(found) == 1
    assert len(asked) < 16


def test_nothing_is_asked_twice_nor_what_is_known():
    _, asked = search(COUNTS, needs)

    assert len(asked) == len(dict.fromkeys(asked))
    assert (3, 3, 1, 2, 2, 7, 1, 1, 3) not in asked


def test_the_same_questions_are_asked_each_time():
    assert search(COUNTS, needs) == search(COUNTS, needs)


def test_what_cannot_be_smaller_stays():
    assert search(COUNTS, lambda _choices: False)[0] == (3, 3, 1, 2, 2, 7, 1, 1, 3)


def test_without_choices_there_is_nothing_to_find():
    assert search([], needs) == ((), [])
