"""All rows of a run's page, from its directory, which may still lack its manifest."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from checker.explain.explanation import Explanation
from checker.record.run_directory import (
    SUMMARIES,
    WAITS,
    read_branches,
    read_events,
    read_final_blocks,
    read_roots,
    read_summaries,
    read_waits,
)
from checker.results import CheckResult
from cluster.live.interruptions import TimesApart
from cluster.page.events import Collector, Link, read_log
from cluster.page.explained import finding_of, finding_of_checks
from cluster.page.matrix import ExecutionMarks, HeightFacts, Who, make_matrix
from cluster.page.storm import make_storm
from cluster.page.tree import Blocks, ReorgArcs, make_tree
from cluster.page.words import is_explicable, make_checks, make_coverage, make_faults, make_verdict
from cluster.scenario.model import Scenario
from cluster.scenario.shape import tag_of
from network.events import Handlers
from report.page.rows import Finding, RunRows, StormRows, Timeline
from validators.consensus.registry import ENGINES
from validators.execution import BlockSummary
from validators.execution.blocks import Header

REPLICA_COLUMNS: Final = (
    *("node", "status", "height", "finalized_height", "executed", "rolled_back", "undone"),
    *("fired", "expired", "insolvent", "waiting", "note"),
)
"""Columns of the table of replicas, by their names in the verdict."""


def gather(
    directory: Path,
    document: Mapping[str, Any],
    scenario: Scenario,
    checks: Sequence[CheckResult],
    *,
    explanation: tuple[Explanation, str] | None = None,
    commands: Mapping[str, str] = MappingProxyType({}),
    marked: Mapping[Link, str] = MappingProxyType({}),
) -> RunRows:
    """Return the rows of a run.

    Args:
        directory: The run directory.
        document: Its verdict.
        scenario: Its resolved scenario.
        checks: The results of its checks.
        explanation: Why it went wrong, where that was asked, with its headline.
        commands: What to type to know more of a run that went wrong, by what it does.
        marked: By its link, a sentence about each message that is marked.

    Raises:
        DamagedRecordError: A file of the directory cannot be read.
    """
    final = read_final_blocks(directory)
    chain = [(record.digest, record.root, block.header, len(block.transactions)) for record, block in final]
    headers = [header for _, _, header, _ in chain]
    summaries = _summaries(directory, len(headers))
    blocks = Blocks(record for _, record in read_branches(directory))
    executions, arcs = ExecutionMarks(), ReorgArcs(blocks.numbers)
    collector = _collector(document, scenario, blocks, marked)
    timeline = _timeline(directory, scenario, collector, executions.handlers, arcs.handlers)
    pairs, who = [(digest, root) for digest, root, _, _ in chain], _replicas(document, scenario)
    facts = _facts([(header.proposer, count) for *_, header, count in chain], summaries)
    return RunRows(
        title=scenario.title,
        scenario=scenario.name,
        seed=int(document.get("seed", 0)),
        verdict=make_verdict(document, checks, scenario, commands=commands if is_explicable(checks) else {}),
        faults=make_faults(document, scenario, collector.windows),
        matrix=make_matrix(pairs, read_roots(directory), executions, replicas=who, checks=checks, facts=facts),
        finding=_finding(checks, scenario, explanation),
        timeline=timeline,
        tree=make_tree(blocks, [digest for digest, _ in pairs], arcs.arcs()),
        storm=_storm(directory, headers, summaries, scenario),
        checks=make_checks(checks),
        coverage=make_coverage(document),
        replicas=_table(document),
        view_word=ENGINES[scenario.consensus.engine].view_word,
    )


def _finding(
    checks: Sequence[CheckResult], scenario: Scenario, explanation: tuple[Explanation, str] | None
) -> Finding | None:
    return finding_of_checks(checks, scenario.expect.fails) if explanation is None else finding_of(*explanation)


def _timeline(directory: Path, scenario: Scenario, collector: Collector, *others: Handlers) -> Timeline:
    apart = TimesApart(scenario)
    types = dict.fromkeys(kind for handlers in (collector.handlers, apart.handlers, *others) for kind in handlers)
    timeline = read_log(read_events(directory, types), collector, *others, apart.handlers)
    return timeline._replace(apart=apart.times(timeline.end_us))


def _collector(
    document: Mapping[str, Any], scenario: Scenario, blocks: Blocks, marked: Mapping[Link, str]
) -> Collector:
    figures = document.get("figures")
    figures = figures if isinstance(figures, dict) else {}
    end_us, sent = int(figures.get("virtual_us", 1)), int(figures.get("messages_sent", 0))
    word = ENGINES[scenario.consensus.engine].view_word
    return Collector(scenario.replicas, end_us, sent, blocks.numbers, view_word=word, marked=marked)


def _summaries(directory: Path, blocks: int) -> list[BlockSummary]:
    return list(read_summaries(directory))[:blocks] if (directory / SUMMARIES).exists() else []


def _facts(blocks: Sequence[tuple[int, int]], summaries: Sequence[BlockSummary]) -> list[HeightFacts]:
    """Return the facts of final blocks, given with their proposers and numbers of transactions."""
    left = [each.fired + each.expired + each.insolvent + each.cancelled for each in summaries]
    left += [0] * (len(blocks) - len(left))
    return [HeightFacts(proposer, count, timers) for (proposer, count), timers in zip(blocks, left, strict=True)]


def _storm(
    directory: Path, headers: Sequence[Header], summaries: Sequence[BlockSummary], scenario: Scenario
) -> StormRows | None:
    if not summaries:
        return None
    waits = [record.oldest for record in read_waits(directory)] if (directory / WAITS).exists() else []
    return make_storm(summaries, [header.timestamp_ms for header in headers], scenario, waits[: len(summaries)])


def _replicas(document: Mapping[str, Any], scenario: Scenario) -> list[Who]:
    """Return each replica with how it comes to its state and which build it runs."""
    rows = {row["node"]: row for row in _rows(document)}
    found = []
    for node in range(scenario.replicas):
        observer = scenario.observers_by_number.get(node)
        row = rows.get(node, {})
        if node in scenario.twins:
            name, mode = f"twin of validator {scenario.identity_of(node)}", "with its key and a disk of its own"
        elif observer is None:
            name, mode = f"validator {node}", _mode(scenario, node)
        else:
            name = f"observer {list(scenario.observers)[node - scenario.cluster.validators]}"
            mode = tag_of(type(observer))
        status, note = str(row.get("status", "")), str(row.get("note", ""))
        mutants = [mutant for mutant, held in scenario.mutants.items() if node in held]
        said = [mode, status if status not in ("voter", "") else "", note if observer is None else ""]
        build = f"known bug {', '.join(mutants)}" if mutants else ""
        found.append(Who(name, str(node), "; ".join(dict.fromkeys(each for each in said if each)), build))
    return found


def _mode(scenario: Scenario, node: int) -> str:
    section = scenario.validators.get(str(node))
    if section is None:
        return "speculative execution, applied when final"
    return f"own settings, applied when {section.apply}"


def _rows(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = document.get("validators")
    return rows if isinstance(rows, list) else []


def _table(document: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    def shown(value: object) -> str:
        return f"{value:,}" if isinstance(value, int) else str(value)

    return tuple(tuple(shown(row.get(name, "")) for name in REPLICA_COLUMNS) for row in _rows(document))
