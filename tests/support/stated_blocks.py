"""Cases of levels 2 and 3 for tests: a drawn block, a small history, and lives of the own engines in this process."""

from functools import cache
from itertools import islice

from cluster.fixtures.stated import named_case, needed_part, settle
from cluster.fixtures.within import LivesWithin
from cluster.outside.own.engine import EngineApplication
from cluster.outside.own.oracle import OracleApplication
from cluster.reorgs import build_fork
from cluster.scenario.load import load_scenario
from tools.fixtures.block import drawn_blocks
from tools.fixtures.history import ROADS, Telling

ENGINES = (EngineApplication, OracleApplication)


@cache
def drawn_block(policy="fifo", place=0):
    """A drawn block of the first chain of a policy, as it is stated."""
    return next(islice(drawn_blocks(0, policy), place, None))


@cache
def settled_block(policy="fifo", place=0):
    """The same with its result."""
    return settle(needed_part(drawn_block(policy, place)))


def case_of_block(settled, invalid=""):
    return named_case(settled, "fifo", "a-block", "A block.", rules=(), invalid=invalid)


@cache
def small_fork():
    return build_fork(load_scenario("deep-reorg"), 0, pivot=5, depth=2)


@cache
def small_history(road="come-again"):
    telling = Telling(small_fork().genesis)
    ROADS[road][1](telling, small_fork())
    return telling.case("a-history", "A history.", ())


def lives_of(make, folder):
    return LivesWithin(make, folder / "life")
