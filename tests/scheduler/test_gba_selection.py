"""The choice of the GBA auction: effective tips, slices, room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.gba_selection import effective_tip, has_room, share_out


class TestTips:
    @pytest.mark.parametrize(
        ("fee", "tip", "as_bid", "as_intro"), [(100, 20, 20, 20), (60, 20, -10, 10), (40, 20, -10, -10), (50, 0, 0, 0)]
    )
    def test_b4_a_tip_counts_as_bid_or_is_cut_to_its_room(self, fee, tip, as_bid, as_intro):
        found = [effective_tip(fee, tip, basefee=50, reading=reading) for reading in ("bid", "intro")]

        assert found == [as_bid, as_intro]


class TestSlices:
    def test_b8_equal_remainders_go_by_the_actor(self):
        """Ten cycles for three: the first in the order of addresses gets the odd one, whatever the mapping's order."""
        assert share_out(10, {b"c": 1, b"a": 1, b"b": 1}) == {b"a": 4, b"b": 3, b"c": 3}

    def test_b8_the_largest_remainder_gets_the_cycle(self):
        assert share_out(10, {b"a": 1, b"b": 2}) == {b"a": 3, b"b": 7}

    def test_weights_of_nothing_leave_everything_to_the_second_pass(self):
        assert share_out(10, {b"a": 0, b"b": 0}) == {b"a": 0, b"b": 0}

    @given(
        st.integers(0, 10**7),
        st.dictionaries(st.binary(min_size=1, max_size=2), st.integers(1, 2 * 10**6), min_size=1),
    )
    def test_slices_add_up_to_the_budget(self, budget, weights):
        slices = share_out(budget, weights)

        assert sum(slices.values()) == budget
        assert all(
            abs(slices[actor] * sum(weights.values()) - budget * weights[actor]) < sum(weights.values())
            for actor in weights
        )


class TestRoom:
    def test_b5_the_budget_is_a_hard_cap(self):
        assert has_room(100, 900, 1_000, reading="hard")
        assert not has_room(101, 900, 1_000, reading="hard")

    def test_b5_the_literal_reading_stops_when_the_budget_is_exceeded(self):
        assert has_room(10**6, 1_000, 1_000, reading="literal")
        assert not has_room(1, 1_001, 1_000, reading="literal")
