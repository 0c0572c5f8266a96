"""The watchdog: a run that does not move is given up, one that moves is left alone."""

import threading

from cluster.runtime.watchdog import Watchdog


def test_a_count_that_stands_still_is_given_up_with_a_name():
    """The message says what is stuck."""
    said = []
    given_up = threading.Event()

    def give_up(message):
        said.append(message)
        given_up.set()

    with Watchdog(lambda: 7, "calm seed 3", seconds=0.001, give_up=give_up):
        assert given_up.wait(10)

    assert len(said) == 1
    assert said[0].startswith("calm seed 3 has not moved for 0.001 s")


def test_a_count_that_grows_is_left_alone():
    """Every look sees progress."""
    said, looks, enough = [], [], threading.Event()

    def count():
        looks.append(1)
        if len(looks) == 5:
            enough.set()
        return len(looks)

    with Watchdog(count, "calm", seconds=0.001, give_up=said.append):
        assert enough.wait(10)

    assert said == []
