"""The audit's own draws and latencies are those of the run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.checks.audit.draws import AuditedLatency, draw, share_of
from network.chance import Chance, below
from network.latency import Latency

DRAWS = st.integers(0, (1 << 64) - 1) | st.builds(
    lambda draw, shift: draw | 0xFF << shift, st.integers(0, (1 << 64) - 1), st.sampled_from((40, 47, 48, 55, 56))
)


@given(st.integers(0, 1 << 32), st.text(max_size=9), st.text(max_size=9), st.integers(0, 100))
def test_a_draw_is_that_of_its_key(seed, purpose, subject, ordinal):
    assert draw(seed, purpose, subject, ordinal) == Chance(seed).draw(purpose, subject, ordinal)


@pytest.mark.parametrize(
    ("kind", "mean_us", "jitter_us"),
    [
        ("fixed", 7, 0),
        ("uniform", 5_000, 3_000),
        ("uniform", 50, 90),
        ("normal", 20_000, 9_000),
        ("exponential", 30, 0),
    ],
)
@given(word=DRAWS)
def test_a_latency_is_that_of_its_draw(kind, mean_us, jitter_us, word):
    assert AuditedLatency(kind, mean_us, jitter_us).sample(word) == Latency(kind, mean_us, jitter_us).sample(word)


@given(DRAWS, st.integers(1, 1 << 40))
def test_a_share_is_that_of_its_bound(word, bound):
    assert share_of(word, bound) == below(word, bound)


def test_the_audit_refuses_a_latency_of_an_unknown_kind():
    with pytest.raises(ValueError, match="'pareto'"):
        AuditedLatency("pareto", 1_000).sample(1)
