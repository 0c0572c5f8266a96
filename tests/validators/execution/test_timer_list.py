"""The shared list of timers: after any changes it is the plain list that they give, and costs the pieces touched."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.dict_chain import timer_of
from validators.execution.timer_list import NO_TIMERS, PIECE, TimerList

STEPS = st.lists(
    st.tuples(st.integers(1, 3 * PIECE), st.lists(st.integers(0, 10**6)), st.lists(st.integers(0, 10**6))), max_size=6
)
"""Steps: timers that come in, places that lose theirs, places whose timer is replaced."""


def timer_at(number, gas_limit=1):
    """Return the timer of a place, two of each due slot."""
    return msgspec.structs.replace(timer_of(number), due=number // 2, sequence=number % 2, gas_limit=gas_limit)


@given(STEPS)
def test_a_list_is_what_its_changes_give(steps):
    shared, plain, number = NO_TIMERS, [], 0
    for added, removed, replaced in steps:
        fresh = [timer_at(number + offset) for offset in range(added)]
        number += added
        before = list(shared)
        extended = shared.extended(fresh)
        plain += fresh
        changes = {}
        for choice in removed:
            timer = plain[choice % len(plain)]
            changes[timer.due, timer.sequence] = None
        for choice in replaced:
            timer = plain[choice % len(plain)]
            changes[timer.due, timer.sequence] = msgspec.structs.replace(timer, gas_limit=timer.gas_limit + 1)
        gone = extended.changed(changes)
        plain = [changes.get((timer.due, timer.sequence), timer) for timer in plain]
        plain = [timer for timer in plain if timer is not None]

        assert list(shared) == before, "a list that forks share has changed"
        shared = gone
        assert (len(shared), list(shared)) == (len(plain), plain)
        assert [shared.at((timer.due, timer.sequence)) for timer in plain] == plain


def test_places_without_a_timer_change_nothing():
    shared = TimerList.of(map(timer_at, range(5)))

    assert list(shared.changed({(9, 0): None, (0, 7): None})) == list(shared)
    assert (shared.at((9, 0)), NO_TIMERS.at((0, 0))) == (None, None)


def test_pieces_that_no_change_touches_are_shared():
    shared = TimerList.of(map(timer_at, range(100 * PIECE)))
    changed = shared.changed({(0, 1): None, (1, 0): timer_at(2, 9)})

    mine, theirs = ({id(piece) for piece in each._pieces} for each in (shared, changed))
    assert len(theirs - mine) == 1
