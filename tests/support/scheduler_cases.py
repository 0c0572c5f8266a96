"""The shipped cases of the timers' phase, read once."""

from functools import cache

from cluster.fixtures.cases import read_cases
from cluster.fixtures.run import FIXTURES


@cache
def shipped():
    """Return the cases of level 1 by policy and name."""
    return {(case.policy, case.name): case for case in read_cases(FIXTURES) if case.level == "scheduler"}


def named(policy, name):
    return shipped()[policy, name]


def events_of(policy, name, kind):
    """Return the events of a kind that a case expects."""
    return [event for event in named(policy, name).expected["events"] if event["event"] == kind]


def word_of(identifier):
    """Return the name that a case by hand gives to a timer or an actor."""
    return bytes.fromhex(identifier).rstrip(b"\0").decode()


def words_of(policy, name, kind):
    """Return the names of the timers that have an event of a kind, in order."""
    return [word_of(event["timer"]) for event in events_of(policy, name, kind)]
