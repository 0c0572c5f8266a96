"""The pace at which drawn faults are played."""

from hypothesis import given
from hypothesis import strategies as st

from cluster.swarm.pace import KEPT_MS, TIMES, sooner
from cluster.swarm.prefixes.registry import AFTER_PREFIX
from faults.kinds.drawing import FAULTS_FROM_MS
from tests.support.drawn import Drawn

MOMENTS = st.integers(0, 24_000)


@given(MOMENTS, MOMENTS)
def test_what_follows_still_follows_in_half_the_time(one_ms, other_ms):
    first_ms, second_ms = sorted((one_ms, other_ms))
    played = sooner({"kind": "pause", "start_ms": first_ms, "stop_ms": second_ms, "delay_ms": 700})

    assert played["start_ms"] <= played["stop_ms"]
    assert played["delay_ms"] == 700
    if second_ms > FAULTS_FROM_MS:
        assert played["stop_ms"] == FAULTS_FROM_MS + (second_ms - FAULTS_FROM_MS) // 2


def test_what_comes_before_the_first_fault_keeps_its_time():
    assert sooner({"at_ms": FAULTS_FROM_MS - 500, "restart_ms": FAULTS_FROM_MS})["at_ms"] == FAULTS_FROM_MS - 500


def test_just_behind_its_anchor_a_fault_keeps_its_time():
    anchor = {"event": "view", "nth": 3, "from_ms": FAULTS_FROM_MS, "by_ms": FAULTS_FROM_MS + 6_000}
    played = sooner({"kind": "crash", "at_ms": 40, "restart_ms": KEPT_MS + 600, "anchor": anchor})

    assert (played["at_ms"], played["restart_ms"]) == (40, KEPT_MS + 300)
    assert played["anchor"] == {**anchor, "by_ms": FAULTS_FROM_MS + 3_000}


def test_drawn_faults_are_over_in_twelve_seconds():
    drawn = [scenario for scenario in Drawn(range(120)) if AFTER_PREFIX not in scenario.title]
    ends = [
        getattr(fault, key) or 0
        for scenario in drawn
        for fault in scenario.faults.values()
        if fault.anchor is None
        for key in TIMES
        if hasattr(fault, key)
    ]

    assert 11_000 < max(ends) <= 12_000
