"""Steps of basefees, and the timer configurations on which a chain can run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import InvalidInput, TimerConfig, next_basefee


class TestBasefee:
    @given(st.integers(8, 10**12), st.integers(0, 3 * 10**7), st.integers(1, 10**7))
    def test_a_step_is_at_most_an_eighth_and_goes_the_right_way(self, basefee, used, limit):
        """Rises above half use, at least by one; falls below it; never more than an eighth, never under the floor."""
        found = next_basefee(basefee, used, limit, 8)

        assert found >= 8
        assert abs(found - basefee) <= max(basefee // 8, 1)
        assert (found > basefee) == (2 * used > limit)
        assert found <= basefee or 2 * used > limit

    @pytest.mark.parametrize(
        ("basefee", "used", "expected"),
        [(800, 10, 900), (800, 5, 800), (800, 0, 800), (1000, 0, 875), (1000, 2, 925), (9, 6, 10), (800, 99, 900)],
    )
    def test_hand_computed_steps(self, basefee, used, expected):
        """The step is floored, not the product; use above the limit counts as full."""
        assert next_basefee(basefee, used, 10, 8 if basefee < 800 else 800) == expected


class TestConfig:
    @pytest.mark.parametrize("change", [{"lane_timer_cycles": 0}, {"gc_cost_per_timer": 0}, {"max_ttl_blocks": -1}])
    def test_a_configuration_that_no_chain_can_run_on_is_refused(self, change):
        """A lane of nothing, free removal and negative limits have no meaning."""
        with pytest.raises(InvalidInput):
            TimerConfig(**change)
