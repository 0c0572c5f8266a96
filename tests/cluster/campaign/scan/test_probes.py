"""Probes: whether a run reaches a mutant, and whether the mutant would make a difference there."""

import pytest

from cluster.campaign.scan.points import MutationPoint, ScanMutant
from cluster.campaign.scan.probes import Counters, instrument

SOURCE = """
LIMIT = 3


def first(items, limit):
    for item in items:
        if item > limit and not item == 9:
            return item
    return None


def total(items):
    return next(items) + next(items)


def guarded(action):
    try:
        action()
    except ValueError:
        return "bad"
    return "good"
"""


def mutant(before, after):
    assert SOURCE.count(before) == 1
    return ScanMutant(
        point=MutationPoint("a.py", "", "ByHand", 0, 1, 0),
        source=SOURCE.replace(before, after),
        before=before,
        after=after,
    )


@pytest.fixture
def probed():
    """Return a function that runs code beside the instrumented source, and says what is reached and what differs."""

    def run(change, code):
        made = instrument(SOURCE, [(0, mutant(*change))])
        counters = Counters(1)
        counters.install()
        space = {}
        exec(made.source, space)
        value = eval(code, space)
        return made, value, *counters.take()

    return run


@pytest.mark.parametrize(
    ("change", "code", "reached", "differs"),
    [
        (("item > limit", "item >= limit"), "first([1, 5], 3)", True, False),
        (("item > limit", "item >= limit"), "first([3, 5], 3)", True, True),
        (("item > limit", "item >= limit"), "first([], 3)", False, False),
        (("not item == 9", "not item == 10"), "first([5], 3)", True, False),
        (("not item == 9", "not item == 10"), "first([9], 3)", True, True),
        (("limit and not", "limit or not"), "first([9], 3)", True, True),
        (("next(items) + next(items)", "next(items) - next(items)"), "total(iter([4, 0]))", True, False),
        (("next(items) + next(items)", "next(items) - next(items)"), "total(iter([4, 1]))", True, True),
        (("in items:\n", "in []:\n"), "first([1], 3)", True, True),
        (("except ValueError", "except KeyError"), "guarded(list)", True, False),
        (("except ValueError", "except KeyError"), "guarded(lambda: int('x'))", True, True),
        (('return "bad"', 'return "worse"'), "guarded(list)", False, False),
    ],
)
def test_a_mutant_differs_where_its_change_has_another_value(probed, change, code, reached, differs):
    _, _, was_reached, differed = probed(change, code)

    assert (was_reached == [0], differed == [0]) == (reached, differs)


def test_a_probe_leaves_the_value_as_it_is(probed):
    assert probed(("item > limit", "item >= limit"), "first([3, 5], 3)")[1] == 5
    assert probed(("next(items) + next(items)", "next(items) - next(items)"), "total(iter([4, 1]))")[1] == 5


def test_operands_with_calls_are_evaluated_once(probed):
    change = ("next(items) + next(items)", "next(items) * next(items)")

    assert probed(change, "(lambda items: (total(items), *items))(iter([1, 2, 3]))")[1] == (3, 3)


def test_a_change_at_import_is_named(probed):
    made, *_ = probed(("LIMIT = 3", "LIMIT = 4"), "LIMIT")

    assert made.at_import == (0,)


def test_counters_begin_anew_with_each_run(probed):
    counters = Counters(2)
    counters.reach(1)

    assert counters.take() == ([1], [])
    assert counters.take() == ([], [])
