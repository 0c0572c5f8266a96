"""The shared list of timers costs the pieces touched."""

import msgspec

from benchmarks.dict_chain import timer_of
from validators.execution.timer_list import NO_TIMERS, PIECE, TimerList


def timer_at(number, gas_limit=1):
    """Return the timer of a place, two of each due slot."""
    return msgspec.structs.replace(timer_of(number), due=number // 2, sequence=number % 2, gas_limit=gas_limit)


def test_places_without_a_timer_change_nothing():
    shared = TimerList.of(map(timer_at, range(5)))

    assert list(shared.changed({(9, 0): None, (0, 7): None})) == list(shared)
    assert (shared.at((9, 0)), NO_TIMERS.at((0, 0))) == (None, None)


def test_pieces_that_no_change_touches_are_shared():
    shared = TimerList.of(map(timer_at, range(100 * PIECE)))
    changed = shared.changed({(0, 1): None, (1, 0): timer_at(2, 9)})

    mine, theirs = ({id(piece) for piece in each._pieces} for each in (shared, changed))
    assert len(theirs - mine) == 1
