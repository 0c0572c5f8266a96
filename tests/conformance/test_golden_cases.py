"""The golden cases of the scheduler, through the very classes that the chain runs; the adapters compute nothing."""

import pytest

from tests.conformance import (
    aptos_adapters,
    auction_adapters,
    bias_adapters,
    lane_adapters,
    lifecycle_adapters,
    queue_adapters,
)
from tests.support.golden_cases import expected_of

ADAPTERS = {
    **lifecycle_adapters.ADAPTERS,
    **lane_adapters.ADAPTERS,
    **queue_adapters.ADAPTERS,
    **auction_adapters.ADAPTERS,
    **bias_adapters.ADAPTERS,
    **aptos_adapters.ADAPTERS,
}

ALTERNATIVES = {**lane_adapters.ALTERNATIVES, **auction_adapters.ALTERNATIVES}

ALL_READINGS = ("B", "E")
"""The systems of whose cases no reading may be left out."""

NOT_BUILT = {}


def test_golden_case(golden_case):
    """The product's result is the case's, and so are its other readings where a switch selects them."""
    kind, system = golden_case["kind"], golden_case["system"]
    reason = NOT_BUILT.get(kind) or NOT_BUILT.get(system)
    if reason:
        pytest.skip(f"{system} {kind}: {reason}")

    found = ADAPTERS[kind](golden_case["inputs"], system)

    assert found == expected_of(golden_case)


def test_another_reading_of_a_golden_case(case_with_alternatives):
    """An alternative that a switch of the configuration selects comes out as the case says."""
    kind, stated = case_with_alternatives["kind"], case_with_alternatives["alternatives"]
    readings = ALTERNATIVES.get(kind, {})
    known = [name for name in stated if name in readings]
    if case_with_alternatives["system"] in ALL_READINGS:
        assert known == list(stated), "each reading of a case has to be one that a switch selects"
    if not known:
        pytest.skip(f"{kind}: no switch selects {', '.join(stated)}")

    for name in known:
        found = readings[name](case_with_alternatives["inputs"])
        assert part_of(found, stated[name]) == stated[name], name


def part_of(found, stated):
    """Return what a case states of an answer: all of it, some fields, or the timers that fire."""
    if isinstance(found, dict) and isinstance(stated, list):
        return found["fired"]
    if isinstance(found, dict) and isinstance(stated, dict):
        return {name: value for name, value in found.items() if name in stated}
    return found
