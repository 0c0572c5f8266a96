"""Keyed chance: draws depend on their names alone."""

from hypothesis import given
from hypothesis import strategies as st

from network.chance import Chance, below

NAMES = st.text(max_size=8)
ORDINALS = st.integers(0, 1 << 40)


@given(st.integers(), NAMES, NAMES, st.lists(ORDINALS, max_size=20))
def test_a_draw_does_not_depend_on_the_draws_before_it(seed, purpose, subject, ordinals):
    """Whatever order a stream is asked in, each ordinal has its own value."""
    stream = Chance(seed).stream(purpose, subject)

    expected = [Chance(seed).draw(purpose, subject, ordinal) for ordinal in ordinals]
    assert [stream.at(ordinal) for ordinal in ordinals] == expected


@given(st.tuples(st.integers(), NAMES, NAMES, ORDINALS), st.tuples(st.integers(), NAMES, NAMES, ORDINALS))
def test_different_keys_have_different_draws(one, other):
    """Names are kept apart: ("ab", "c") is not ("a", "bc")."""
    draws = [Chance(seed).draw(purpose, subject, ordinal) for seed, purpose, subject, ordinal in (one, other)]
    assert (draws[0] == draws[1]) == (one == other)


def test_names_that_join_to_the_same_text_are_different():
    """The length of each part belongs to the key."""
    chance = Chance(0)
    assert len({chance.draw(*names, 0) for names in (("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"))}) == 4


def test_draws_never_change():
    """A recorded run can be repeated by a later version."""
    stream = Chance(7).stream("latency", "1->3")
    assert [stream.at(ordinal) for ordinal in (0, 1, 7, 8, 1 << 33)] == [
        9030162762203078367,
        15447736610765656441,
        768294517872012168,
        917940288925532946,
        10135255666402257754,
    ]


def test_draws_are_spread_evenly():
    """Of 16,000 draws about 1,000 fall into each sixteenth."""
    stream = Chance(1).stream("loss", "0->1")
    counts = [0] * 16
    for ordinal in range(16_000):
        counts[below(stream.at(ordinal), 16)] += 1
    assert all(850 < count < 1_150 for count in counts), counts


@given(st.integers(0, 2**64 - 1), st.integers(1, 1 << 62))
def test_below_stays_below(draw, bound):
    """The result is one of 0..bound-1."""
    assert 0 <= below(draw, bound) < bound


def test_below_reaches_both_ends():
    """The smallest draw gives 0, the largest bound-1."""
    assert (below(0, 10), below(2**64 - 1, 10)) == (0, 9)
