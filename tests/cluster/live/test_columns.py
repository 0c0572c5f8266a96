"""The column log: lines for what replicas do alike, and a symbol for each event."""

import re

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.live.columns import LEGEND, ColumnLog
from cluster.live.replicas import Replicas
from cluster.scenario.load import load_scenario
from faults.events import ApplicationLost, ApplicationReplaced, Crashed, FaultEdge
from network.events import Event, EventRouter
from network.types import SUPERVISOR
from validators.events import BlockExecuted, BlockFinalized, BlockRolledBack, Entered, Reported

DIGEST, ROOT, OTHER = b"d" * 32, b"\x01" * 32, b"\x02" * 32


@pytest.fixture
def log():
    """Return a function that writes the log of some events, given as seconds, node and body."""

    def write(*events):
        lines = []
        replicas = Replicas(load_scenario("partition-heal", ()))
        columns = ColumnLog(replicas, lines.append)
        router = EventRouter(replicas.handlers, columns.handlers)
        for seconds, node, body in events:
            router.route(Event(int(seconds * 1_000_000), node, body))
        columns.end()
        return lines

    return write


def test_replicas_that_do_alike_share_a_line(log):
    entered = [(1 + node / 1_000, node, Entered(3, 2)) for node in range(4)]

    assert log(*entered) == ["     1.000  v v L v  view 3"]


@pytest.mark.parametrize("validators", [4, 16, 64])
def test_a_height_costs_two_lines_of_a_symbol_a_replica(validators):
    heights, lines = 2_000 // validators, []
    replicas = Replicas(load_scenario("calm", (f"cluster.validators={validators}",)))
    columns = ColumnLog(replicas, lines.append)
    router = EventRouter(replicas.handlers, columns.handlers)
    for height in range(1, heights + 1):
        for body in (Entered(height, 0), BlockFinalized(height, height, DIGEST, ROOT)):
            for node in range(validators):
                router.route(Event(height * 1_000_000, node, body))
    columns.end()

    assert len(lines) == 2 * heights
    assert max(map(len, lines)) < 2 * validators + 64


def test_whoever_is_late_stands_on_a_line_of_its_own(log):
    on_time = [(1.0, node, BlockFinalized(1, 1, DIGEST, ROOT)) for node in (0, 1, 3)]
    next_height = [(2.0, node, BlockFinalized(2, 2, b"e", ROOT)) for node in (0, 1, 3)]

    assert log(*on_time, *next_height, (2.5, 2, BlockFinalized(1, 1, DIGEST, ROOT))) == [
        "     1.000  # # . #  final 1 root 010101 due 0 dead 0",
        "     2.000  # # . #  final 2 root 010101 due 0 dead 0",
        "     2.500  . . # .  final 1 root 010101 due 0 dead 0",
    ]


def test_replicas_that_lose_their_application_at_one_block_share_a_line(log):
    lost = [(1.0, SUPERVISOR, ApplicationLost(node, 9 + node, "execute", f"reason {node}", 5)) for node in (0, 2)]
    crashed = [(1.0, SUPERVISOR, Crashed(node, 0)) for node in (0, 2)]

    assert log(*lost, *crashed, (2.0, SUPERVISOR, ApplicationLost(1, 1, "hello", "no answer"))) == [
        "     1.000  a . a .  application lost at execute of height 5",
        "     1.000  x . x .  power lost",
        "     2.000  . a . .  application lost at hello",
    ]


def test_replicas_that_change_their_build_share_a_line(log):
    replaced = [(1.0, SUPERVISOR, ApplicationReplaced(node, "new")) for node in (0, 2)]

    assert log(*replaced) == ["     1.000  n . n .  build new"]


def test_the_times_of_the_log_never_go_back(log):
    late = [(1.0, node, BlockFinalized(1, 1, DIGEST, ROOT)) for node in (0, 1, 3)]
    views = [(1.2, node, Entered(3, 2)) for node in range(4)]

    assert log(*late, *views, (1.3, 2, BlockFinalized(1, 1, DIGEST, ROOT))) == [
        f"     1.000  # # # #  final 1 root {ROOT.hex()[:6]} due 0 dead 0",
        "     1.200  v v L v  view 3",
    ]


def test_another_root_of_one_block_stands_out(log):
    executed = [(1.0, node, BlockExecuted(5, 6, DIGEST, root, "speculative")) for node, root in ((0, ROOT), (2, OTHER))]

    assert log(*executed) == ["     1.000  . . ! .  other root of 5 in view 6: 020202"]


def test_an_edge_of_a_fault_comes_after_what_was_before_it(log):
    events = (
        (1.0, 0, Entered(3, 2)),
        (1.5, 1, BlockRolledBack(2, DIGEST)),
        (1.6, SUPERVISOR, FaultEdge("split", "start")),
        (1.7, SUPERVISOR, Crashed(3, 0)),
        (1.8, 1, Reported("TimedOut", 2, 3, "LeaderTimeout")),
    )

    assert log(*events) == [
        "     1.000  v . . .  view 3",
        "     1.500  . < . .  dropped losing block 646464 of height 2",
        "     1.600  - - - -  fault split start",
        "     1.700  . . . x  power lost",
        "     1.800  . t . .  gave up view 3: LeaderTimeout",
    ]


def test_a_line_that_is_a_second_old_is_written_before_the_next(log):
    lines = log((1.0, 0, BlockRolledBack(2, DIGEST)), (2.1, 1, Entered(4, 1)))

    assert [line[:10].strip() for line in lines] == ["1.000", "2.100"]


def test_the_page_has_the_legend_of_the_log():
    page = (PROJECT_ROOT / "docs" / "live.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^- `(.)`: (.+)$", page, re.MULTILINE))

    assert {symbol: said for symbol, said in rows.items() if symbol not in ".-"} == LEGEND


def test_a_chain_of_slots_is_told_in_slots():
    lines = []
    replicas = Replicas(load_scenario("calm", ("consensus.engine=longest-chain",)))
    columns = ColumnLog(replicas, lines.append)
    for node in range(4):
        EventRouter(replicas.handlers, columns.handlers).route(Event(1_000_000, node, Entered(3, 2)))

    assert lines == ["     1.000  v v L v  slot 3"]
