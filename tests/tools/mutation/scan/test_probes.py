"""Probes: whether a run reaches a mutant, and whether the mutant would make a difference there."""

import ast
import builtins
import dataclasses
from types import SimpleNamespace

import pytest

from tools.mutation.scan.constants import readers_of, statements_that_read
from tools.mutation.scan.counters import Counters
from tools.mutation.scan.points import MutationPoint, ScanMutant
from tools.mutation.scan.probes import instrument, runs_at_import

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
        source = instrument(SOURCE, [(0, mutant(*change))])
        counters = Counters(1)
        counters.install()
        space = {}
        exec(source, space)
        value = eval(code, space)
        return value, *counters.take()

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
    _, was_reached, differed = probed(change, code)

    assert (was_reached == [0], differed == [0]) == (reached, differs)


def test_a_probe_leaves_the_value_as_it_is(probed):
    assert probed(("item > limit", "item >= limit"), "first([3, 5], 3)")[0] == 5
    assert probed(("next(items) + next(items)", "next(items) - next(items)"), "total(iter([4, 1]))")[0] == 5


def test_operands_with_calls_are_evaluated_once(probed):
    change = ("next(items) + next(items)", "next(items) * next(items)")

    assert probed(change, "(lambda items: (total(items), *items))(iter([1, 2, 3]))")[0] == (3, 3)


class TestConstants:
    def test_a_change_at_import_is_known(self):
        assert runs_at_import(SOURCE, mutant("LIMIT = 3", "LIMIT = 4"))
        assert not runs_at_import(SOURCE, mutant("item > limit", "item >= limit"))

    @pytest.mark.parametrize(("calls", "numbers"), [("f(1)", [7]), ("g(1)", [])])
    def test_it_differs_where_a_statement_that_reads_it_runs(self, calls, numbers):
        source = "from a import LIMIT\ndef f(n):\n    return n < LIMIT\ndef g(n):\n    return n"
        counters = Counters(8)
        counters.install()
        space = {"__builtins__": {**vars(builtins), "__import__": lambda *_: SimpleNamespace(LIMIT=3)}}

        exec(instrument(source, [], [(7, "LIMIT")]), space)
        eval(calls, space)

        assert counters.take() == (numbers, numbers)

    def test_one_that_is_read_at_import_may_differ_anywhere(self):
        for use in ("B = LIMIT + 1", "def f(n=LIMIT): ...", "from a import LIMIT as B", "class A:\n    b = a.LIMIT"):
            assert statements_that_read(ast.parse(use), "LIMIT") is None

    def test_readers_are_found_in_other_sources(self):
        sources = {"scheduler/a.py": "LIMIT = 3", "scheduler/b.py": "def f(a):\n    return a.LIMIT"}
        change = mutant("LIMIT = 3", "LIMIT = 4")
        change = dataclasses.replace(change, point=change.point._replace(file="scheduler/a.py"))

        assert readers_of(change, sources) == ("LIMIT", "scheduler/b.py")
        assert readers_of(change, {**sources, "report/c.py": sources["scheduler/b.py"]}) is None


def test_counters_begin_anew_with_each_run(probed):
    counters = Counters(2)
    counters.reach(1)

    assert counters.take() == ([1], [])
    assert counters.take() == ([], [])


def test_two_mutants_of_one_operator_with_calls_have_a_probe_each():
    changes = [("next(items) + next(items)", f"next(items) {sign} next(items)") for sign in "-*"]
    counters = Counters(2)
    counters.install()
    space = {}
    exec(instrument(SOURCE, [(number, mutant(*change)) for number, change in enumerate(changes)]), space)

    assert space["total"](iter([4, 1])) == 5
    assert counters.take() == ([0, 1], [0, 1])
