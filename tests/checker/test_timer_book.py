"""Timers by events: each leaves once, not early, and what is due has left or was deferred."""

import pytest

from checker.timer_book import Exits, TimerBook


def set_(timer, due):
    return {"event": "timer-set", "timer": timer, "due": due}


def fired(timer):
    return {"event": "timer-fired", "timer": timer}


def removed(timer, why="expired"):
    return {"event": "timer-removed", "timer": timer, "why": why}


def deferred(timer):
    return {"event": "timer-deferred", "timer": timer}


def moved(timer, due):
    return {"event": "timer-moved", "timer": timer, "due": due}


def follow(*blocks, is_fifo=True):
    """Return the exits of the last block, and every fault; a block is its height and its events."""
    book, exits, faults = TimerBook(is_fifo=is_fifo), Exits(), []
    for now, *events in blocks:
        exits, found = book.follow(now, events)
        faults += found
    return exits, faults


SOUND = {
    "fires when it is due": [(1, set_("a", 3)), (2,), (3, fired("a"))],
    "set for now, due in the next block": [(1, set_("a", 0)), (2, fired("a"))],
    "set for now, ordered by its own due": [(1, set_("b", 2)), (1, set_("a", 1)), (2, fired("a"), fired("b"))],
    "set for now, ordered as due in the next block": [
        (1, set_("b", 2)),
        (1, set_("a", 1)),
        (2, fired("b"), fired("a")),
    ],
    "set for now, due in the next block of the slot": [
        (1, set_("b", 2)),
        (1, set_("a", 0)),
        (1, fired("a")),
        (2, fired("b")),
    ],
    "moved to now, due in the next block of the slot": [(1, set_("a", 9)), (1, moved("a", 1)), (1, removed("a"))],
    "deferred once, and fired later": [(1, set_("a", 2)), (2, deferred("a")), (3,), (4, fired("a"))],
    "expired after an outage": [(1, set_("a", 2)), (90, removed("a"))],
    "cancelled early": [(1, set_("a", 9)), (2, removed("a", "cancelled"))],
    "insolvent early": [(1, set_("a", 9)), (2, removed("a", "insolvent"))],
    "moved": [(1, set_("a", 2), moved("a", 5)), (2,), (5, fired("a"))],
    "an id that has left is free": [(1, set_("a", 2)), (2, fired("a"), set_("a", 3)), (3, fired("a"))],
    "in the order of due, then of setting": [(1, set_("b", 3), set_("a", 3), set_("c", 2)), (3, *map(fired, "cba"))],
    "other events are nobody's business": [(1, {"event": "paid", "timer": 7}), (2,)],
}


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_has_no_fault(name):
    assert follow(*SOUND[name])[1] == []


FAULTS = {
    "timer 'a' is set while it waits": [(1, set_("a", 3), set_("a", 4))],
    "timer 'a' fires at 2, 1 before it is due": [(1, set_("a", 3)), (2, fired("a"))],
    "timer 'a' fires at 1, 1 before it is due": [(1, set_("a", 0), fired("a"))],
    "timer 'a' expires at 2, 1 before it is due": [(1, set_("a", 3)), (2, removed("a"))],
    "timer 'a' is deferred at 2, 1 before it is due": [(1, set_("a", 3)), (2, deferred("a")), (3, fired("a"))],
    "timer 'a' fires, which does not wait": [(1, set_("a", 2)), (2, fired("a"), fired("a"))],
    "timer 'a' is removed (expired), which does not wait": [(1, removed("a"))],
    "timer 'a' is deferred, which does not wait": [(1, deferred("a"))],
    "timer 'a' is moved, which does not wait": [(1, moved("a", 4))],
    "timer 'a' was due at 2, and neither left nor was deferred at 3": [(1, set_("a", 2)), (3,), (4,)],
    "timer 'a', due 3, fires after 'b', which was due 3 and set later": [
        (1, set_("a", 3), set_("b", 3)),
        (3, fired("b"), fired("a")),
    ],
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_broken_rule_is_named_once(sentence):
    assert follow(*FAULTS[sentence])[1] == [sentence]


def test_the_order_is_asked_only_of_one_that_states_it():
    blocks = FAULTS["timer 'a', due 3, fires after 'b', which was due 3 and set later"]

    assert follow(*blocks, is_fifo=False)[1] == []


def test_exits_are_counted():
    set_all = [set_(timer, 2) for timer in "abcd"]
    leave = [fired("a"), removed("b"), removed("c", "insolvent"), removed("d", "cancelled")]

    assert follow((1, *set_all), (2, *leave))[0] == Exits(fired=1, dead=2, cancelled=1)
