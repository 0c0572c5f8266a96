"""The self-test of the fault injector: its log follows from its plan, for the whole plan and for any part of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults import check_plan
from faults.kinds.registry import FAULTS
from tests.support.injector_self_test import PLAN, find_deviations
from tests.support.keystones import third_of
from tests.support.properties import examples
from validators.consensus.registry import ENGINES


@pytest.mark.parametrize("seed", third_of(range(12)))
def test_the_log_follows_from_the_whole_plan(seed):
    assert find_deviations(seed) == []


@examples(12)
@given(seed=st.integers(0, 2**32 - 1), names=st.sets(st.sampled_from(list(PLAN)), max_size=12))
@pytest.mark.soak
def test_the_log_follows_from_any_part_of_the_plan(seed, names):
    """A deviation shrinks to the fewest faults that show it."""
    # An anchor waits for this fault, and a plan has to have it.
    chosen = names | {"synced"} if "after-view" in names else names

    assert find_deviations(seed, {name: fault for name, fault in PLAN.items() if name in chosen}) == []


def test_the_plan_is_sound_and_has_every_kind_that_needs_no_validator():
    """Lies, bytes that a disk reads back, and builds have no meaning without a validator."""
    check_plan(PLAN, 5, engine=next(iter(ENGINES)))
    kinds = {type(fault) for fault in PLAN.values()}

    left_out = [kind.__struct_config__.tag for kind in FAULTS.kinds() if kind not in kinds]
    disk = ["bit-rot", "disk-full", "io-error", "misdirected-write", "stale-read"]
    assert sorted(left_out) == sorted(["byzantine", "replace", "twin", *disk])
