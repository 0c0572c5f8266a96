"""Properties of the edges of a fault in a run that begins before, in or after it."""

from hypothesis import example, given
from hypothesis import strategies as st

from faults.injection.steps import Edge, window

MS = st.integers(0, 10_000)
"""Milliseconds; runs begin at any microsecond."""


@example(at_ms=3, length_ms=5, origin_ms=0, begin_us=5_000)
@example(at_ms=3, length_ms=5, origin_ms=3, begin_us=11_000)
@given(at_ms=MS, length_ms=MS, origin_ms=MS, begin_us=st.integers(0, 30_000_000))
def test_an_edge_is_left_out_only_when_its_fault_is_over(at_ms, length_ms, origin_ms, begin_us):
    """An edge that a run has missed comes at the start of the run while its fault goes on."""
    over_us = (origin_ms + at_ms + length_ms) * 1_000
    found = Edge(at_ms, at_ms + length_ms, "", None).at_us(begin_us, origin_ms * 1_000)

    assert found == (None if over_us < begin_us else max((origin_ms + at_ms) * 1_000, begin_us))


@example(at_ms=3, length_ms=5, begin_us=5_000)
@given(at_ms=MS, length_ms=MS, begin_us=st.integers(0, 30_000_000))
def test_a_window_that_a_run_begins_in_begins_with_it(at_ms, length_ms, begin_us):
    """The window ends at its own time; a window that is over has neither edge."""
    until_us = (at_ms + length_ms) * 1_000
    times = [edge.at_us(begin_us) for edge in window(at_ms, at_ms + length_ms, None, None)]

    assert times == ([None, None] if until_us < begin_us else [max(at_ms * 1_000, begin_us), until_us])
