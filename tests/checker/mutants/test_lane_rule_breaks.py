"""Breaking a rule of the lane in the production classes fails its golden case, and a cluster run before the oracle."""

import json

import msgspec
import pytest

from scheduler import LaneConfig, PoolRules, Prices, auction, fee_market, lane_calls
from scheduler.fairness import Weights, count_fires
from scheduler.ranking import Scale
from tests.conformance.conftest import PUBLISHED
from tests.conformance.lane_adapters import ADAPTERS
from tests.support.golden_cases import expected_of
from tests.support.keystones import first_of
from tests.support.oracle_runs import consult

FULL_LANE = """
name = "full-lane"
title = "a lane that is too small for those who want it"

[chain]
policy = "eip1559"

[chain.timers]
lane_timer_cycles = 6_000
max_cells_per_fire = 2_000

[chain.lane]
fairness_window_blocks = 5
max_allowed_delays = 2
excessive_delay = "force"

[workload.crowd]
kind = "heartbeats"
actors = 4
gas_limit = 2_000

[workload.tippers]
kind = "heartbeats"
actors = 10
gas_limit = 2_000
max_fee = 4_000
tips = [400, 440, 480, 521, 560, 601, 640, 681, 720, 9_000]

[run]
until_height = 30
"""


@pytest.fixture(scope="module")
def full_lane(tmp_path_factory):
    path = tmp_path_factory.mktemp("lane") / "full-lane.toml"
    path.write_text(FULL_LANE)
    return str(path)


def patched(target, name, make):
    """Return a break that puts what `make` makes of a function or method in its place."""
    return lambda monkeypatch: monkeypatch.setattr(target, name, make(getattr(target, name)))


def upper(function):
    return lambda counts, _median: function(counts, "upper")


def whole(function):
    return lambda self, subject: function(self, subject) // self.denominator * self.denominator


def late(_function):
    return lambda lane, height, actors: count_fires(lane, height + 1, actors)


def classic(function):
    return lambda used, lane, config: function(used, lane, msgspec.structs.replace(config, slope="classic"))


def unclamped(function):
    def freeze(bid, prices, config):
        quote, stated = function(bid, prices, config)
        if stated is None:
            return quote, None
        return msgspec.structs.replace(quote, max_priority_fee_per_cycle=stated), None

    return freeze


def thrice(function):
    def default_params(self):
        return msgspec.structs.replace(function(self), max_fee_per_cycle=3 * self.lane)

    return default_params


BREAKS = {
    "a slope that saturates late": ("A-BF-05", patched(fee_market, "basefee_delta", classic)),
    "a tip beyond the room": ("A-SEL-01", patched(Scale, "priority", lambda _: lambda self, offer: offer.tip)),
    "weights that are truncated": ("A-W-03", patched(Weights, "numerator", whole)),
    "fires that count a block too long": ("A-WIN-01", patched(auction, "count_fires", late)),
    "a median that is the upper one": ("A-GBA-03", patched(fee_market, "doubled_median", upper)),
    "ties that age decides": (
        "A-SEL-03",
        patched(PoolRules, "tie", lambda _: lambda self, timer: timer.sequence.to_bytes(32, "big")),
    ),
    "a tip that is not clamped": ("A-VAL-03", patched(lane_calls, "freeze_quote", unclamped)),
    "a delay too many": (
        "E-RO-02",
        patched(LaneConfig, "is_excessive", lambda function: lambda self, delays: function(self, delays - 1)),
    ),
    "a default of thrice the price": ("A-VAL-05", patched(Prices, "default_params", thrice)),
}


def run_case(case_id):
    """Return what the product makes of a golden case, and what the case expects."""
    (case,) = [case for case in json.loads(PUBLISHED.read_text())["cases"] if case["id"] == case_id]
    return ADAPTERS[case["kind"]](case["inputs"], case["system"]), expected_of(case)


def test_the_oracle_agrees_with_the_lane_as_it_is(full_lane):
    """Nothing is broken."""
    assert consult(full_lane).status == "passed"


@pytest.mark.parametrize("broken", BREAKS)
def test_a_broken_rule_fails_its_golden_case(broken, monkeypatch):
    """The case passes as things are, and not under the break."""
    case_id, break_rule = BREAKS[broken]
    found, expected = run_case(case_id)
    assert found == expected

    break_rule(monkeypatch)
    found, expected = run_case(case_id)

    assert found != expected


@pytest.mark.parametrize("broken", first_of(BREAKS))
def test_a_broken_rule_fails_a_cluster_run(broken, monkeypatch, full_lane):
    """All validators break it alike and agree with each other; the oracle does not."""
    BREAKS[broken][1](monkeypatch)

    assert consult(full_lane).status == "failed"
