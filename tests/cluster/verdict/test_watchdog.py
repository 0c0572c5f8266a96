"""The watchdog: a run that does not move is given up, one that moves is left alone."""

import signal
import threading

import pytest

from cluster.verdict.watchdog import Watchdog


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


@pytest.fixture
def _interruptible():
    """Whatever started the tests may have SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def start_some():
    """A thread may be quicker than its start, which then waits for nothing; ten in a row are not."""
    for _ in range(10):
        Watchdog(lambda: 7, "calm", seconds=0.001, give_up=lambda _: None).__enter__()


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupt_that_comes_while_it_starts_is_an_interrupt(monkeypatch):
    """Where the start waits for the thread, it takes a lock again: the worst moment."""
    take_again = threading.Condition._acquire_restore

    def interrupted(condition, saved):
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)
        take_again(condition, saved)

    monkeypatch.setattr(threading.Condition, "_acquire_restore", interrupted)

    with pytest.raises(KeyboardInterrupt):
        start_some()
