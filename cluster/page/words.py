"""The panes of a page that are made of words: verdict, promises and what happened, faults, checks, coverage.

Everything comes from the verdict's document and the resolved scenario; nothing here is judged again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from checker.families import FAMILIES, by_family
from checker.record.errors import on_one_line
from checker.results import EXPECTED, EXPECTED_FAILURES, UNFINISHED, CheckResult, Evidence
from cluster.scenario.model import Scenario
from faults import PHASES, ROLES, Fault, kind_of
from faults.quorums import consequence, joint_consequences
from network.words import counted
from report.page.rows import CheckLine, CoverageGrid, FamilyLine, FaultRow, Promise, VerdictPane
from report.words import reasons_in_words, virtual_seconds

MEANINGS: Final[Mapping[str, str]] = {
    "passed": "every check compared something and found nothing wrong",
    EXPECTED: "exactly those checks failed that the scenario expects to fail",
    "safety": "validators, or a validator and the rules, do not agree: chains, roots or books differ",
    "liveness": "finality did not come back as it has to",
    "inconclusive": "something that the scenario promised did not happen, so the run shows nothing",
    "determinism": "the test bed itself was not deterministic",
    "environment": "the machine refused something that the run needs",
    "usage": "the input could not be run",
    UNFINISHED: "the run did not come to its end, and no check has judged it",
}
"""Meanings of a verdict in words."""

PROMISES: Final[Mapping[str, tuple[str, str]]] = {
    "dead_timers_min": ("dead timers at once", "dead_timers"),
    "actors_min": ("actors that they belong to", "actors"),
    "drain_blocks_min": ("blocks to drain them", "drain_blocks"),
}
"""Expectations of a storm, with their names in the check's evidence."""

SUMS: Final[Mapping[str, str]] = {"rolled_back_min": "rolled_back", "undone_min": "undone"}
"""Expectations that a figure of the run answers."""

ANSWERED_BY: Final[Mapping[str, str]] = {
    "counts": "expected-counts",
    "fired_by": "expected-counts",
    "at_most": "expected-limits",
    "recovery": "expected-recovery",
    "reports": "expected-reports",
    "answers_from": "expected-answers",
    "replica_modes": "expected-replica-modes",
    "arrival": "arrival",
}
"""Sections of expectations, and the check that judges each."""


def make_verdict(
    document: Mapping[str, Any], checks: Sequence[CheckResult], scenario: Scenario, *, commands: Mapping[str, str]
) -> VerdictPane:
    """Return the first pane.

    Args:
        document: The verdict as the record has it.
        checks: The results of the checks.
        scenario: The resolved scenario.
        commands: What to type to know more of the run, by what it does.
    """
    name, code = str(document.get("verdict", "")), document.get("code")
    code = code if isinstance(code, dict) else {}
    figures = _figures(document)
    facts = [
        ("scenario", f"{scenario.name}: {scenario.title}"),
        ("seed", str(document.get("seed", ""))),
        ("digest", str(document.get("digest", ""))),
        (
            "replicas",
            f"{counted(scenario.cluster.validators, 'validators')}, {counted(len(scenario.observers), 'observers')}",
        ),
        (
            "chain",
            f"{scenario.consensus.engine}, policy {scenario.chain.policy}, timers count in {_timebase(scenario)}",
        ),
        ("virtual time", virtual_seconds(figures.get("virtual_us", 0))),
        ("final blocks", f"{int(figures.get('blocks', 0)):,}"),
        ("ended", str(figures.get("end_detail") or figures.get("end", ""))),
        ("made by", f"code {str(code.get('fingerprint', ''))[:12]}, Python {code.get('python', '')}"),
    ]
    together = joint_consequences(scenario.faults.values(), scenario.electorate)
    facts += [("faults together", sentence) for sentence in together]
    facts += [(f"{what}: then, here", f"{then}, {here}") for what, then, here in document.get("incident", ())]
    typed = {"repeat": str(document.get("repeat", "")), **commands}
    return VerdictPane(
        name=name,
        meaning=MEANINGS.get(name, ""),
        headline=on_one_line(str(document.get("headline", ""))),
        story=tuple(_story(document, checks, scenario)),
        facts=tuple((key, on_one_line(value)) for key, value in facts),
        commands=tuple((key, value) for key, value in typed.items() if value),
        unchecked=tuple(_unchecked(document, checks, scenario)),
        promises=tuple(_promises_in(document, checks, scenario)),
    )


def make_faults(
    document: Mapping[str, Any], scenario: Scenario, windows: Mapping[str, Sequence[tuple[int, int]]]
) -> tuple[FaultRow, ...]:
    """Return the faults of the plan that are enabled, with what the log says of when each was at work."""
    figures = _figures(document)
    rows = []
    for name, fault in scenario.faults.items():
        if not fault.enabled:
            continue
        count = figures.get(f"fault_{name}")
        effect = "it never began" if count is None else counted(count, type(fault).counts or "times")
        sentence = f"{fault.sentence()} {consequence(fault, scenario.electorate)}".rstrip()
        at_work, sides = tuple(windows.get(name, ())), _sides(fault, scenario.replicas)
        rows.append(FaultRow(name, kind_of(fault), sentence, effect, fault.targets(), at_work, sides))
    return tuple(rows)


def _sides(fault: Fault, replicas: int) -> tuple[tuple[int, ...], ...]:
    """Return the groups that a fault parts, with each replica that it does not name as a group of its own."""
    groups: tuple[tuple[int, ...], ...] = tuple(getattr(fault, "groups", ()))
    named = {node for group in groups for node in group}
    alone = tuple((node,) for node in range(replicas) if node not in named)
    return (*groups, *alone) if groups else ()


def make_checks(checks: Sequence[CheckResult]) -> tuple[FamilyLine, ...]:
    """Return the families of checks, each with its parts."""
    questions = {family.name: family.question for family in FAMILIES}
    return tuple(
        FamilyLine(
            family.name,
            questions.get(family.name, "The question of a plug-in."),
            family.status,
            on_one_line(family.summary),
            tuple(
                CheckLine(
                    check.name,
                    check.status,
                    on_one_line(check.summary),
                    check.compared,
                    tuple((name, _shown(value)) for name, value in check.evidence),
                )
                for check in family.parts
            ),
        )
        for family in by_family(checks)
    )


def make_coverage(document: Mapping[str, Any]) -> CoverageGrid:
    """Return whom the faults hit, and in which phase."""
    cells = document.get("coverage")
    hits: dict[tuple[str, str, str], int] = {}
    for cell in cells if isinstance(cells, list) else []:
        hits[str(cell["kind"]), str(cell["phase"]), str(cell["role"])] = int(cell["hits"])
    columns = [(phase, role) for phase in PHASES for role in ROLES if any(key[1:] == (phase, role) for key in hits)]
    kinds = dict.fromkeys(kind for kind, _, _ in hits)
    rows = tuple((kind, tuple(hits.get((kind, *column), 0) for column in columns)) for kind in kinds)
    return CoverageGrid(tuple(f"{phase}, {role}" for phase, role in columns), rows)


def _story(document: Mapping[str, Any], checks: Sequence[CheckResult], scenario: Scenario) -> Iterator[str]:
    """Yield the course of the run in short sentences: blocks, faults, storm."""
    figures = _figures(document)
    time = virtual_seconds(figures.get("virtual_us", 0))
    made = f"{counted(int(figures.get('blocks', 0)), 'blocks')} final in {time} of virtual time"
    yield f"{made}; {counted(scenario.cluster.validators, 'validators')}, engine {scenario.consensus.engine}."
    for name, fault in scenario.faults.items():
        if fault.enabled and figures.get(f"fault_{name}"):
            yield f"Fault {name}: {fault.sentence()}"
    storm = next((check for check in checks if check.name == "storm" and check.status == "passed"), None)
    if storm is not None:
        yield f"Storm: {on_one_line(storm.summary)}."


def _shown(value: Evidence) -> str:
    return f"{value:,}" if isinstance(value, int) else on_one_line(value)


def _timebase(scenario: Scenario) -> str:
    chain = scenario.chain
    return "heights" if chain.timebase == "height" else f"slots of {chain.slot_ms:,} ms"


def _figures(document: Mapping[str, Any]) -> Mapping[str, Any]:
    figures = document.get("figures")
    return figures if isinstance(figures, dict) else {}


def _unchecked(document: Mapping[str, Any], checks: Sequence[CheckResult], scenario: Scenario) -> Iterator[str]:
    not_asked = document.get("not_asked")
    if isinstance(not_asked, dict) and not_asked:
        reasons = {str(name): on_one_line(str(reason)) for name, reason in not_asked.items()}
        yield f"checks that the run does not ask: {'; '.join(reasons_in_words(reasons))}"
    not_judged = document.get("not_judged")
    if isinstance(not_judged, list) and not_judged:
        yield f"checks of what the run did not reach, because a failure ended it: {', '.join(map(str, not_judged))}"
    if scenario.oracle == "off":
        yield "no oracle judged the run: the scenario says oracle = off"
    yield from (
        f"{check.name} could not tell: {on_one_line(check.summary)}"
        for check in checks
        if check.status == "inconclusive"
    )
    if not any(check.name == "determinism" for check in checks):
        yield "that a second run is the same: run it with --check-determinism"
    yield "any other seed: sweep asks them"
    mutants = [name for name, held in scenario.mutants.items() if held]
    if mutants:
        yield f"sound code: known bugs were put in: {', '.join(mutants)}"


def _promises_in(document: Mapping[str, Any], checks: Sequence[CheckResult], scenario: Scenario) -> Iterator[Promise]:
    """Yield the promises; of a run that a failure or an interrupt ended early, those not kept are not judged."""
    is_cut_short = bool(document.get("not_judged")) or document.get("verdict") == UNFINISHED
    for promise in _promises(document, checks, scenario):
        yield promise._replace(kept="not judged") if is_cut_short and promise.kept == "no" else promise


def _promises(document: Mapping[str, Any], checks: Sequence[CheckResult], scenario: Scenario) -> Iterator[Promise]:
    """Yield what the scenario promised: its faults, its workloads and its expectations, each with what happened."""
    figures, named = _figures(document), {check.name: check for check in checks}
    for name, fault in scenario.faults.items():
        if fault.enabled:
            count = int(figures.get(f"fault_{name}", 0))
            promised = "may be idle" if fault.may_be_idle else "takes effect"
            happened = counted(count, type(fault).counts or "times")
            yield Promise(f"fault {name}", promised, happened, "yes" if count or fault.may_be_idle else "no")
    workloads = document.get("workloads")
    for name, count in (workloads if isinstance(workloads, dict) else {}).items():
        yield Promise(f"workload {name}", "has an effect", f"{int(count):,} acts", "yes" if count else "no")
    expect = scenario.expect
    for name in expect.fails:
        status = named[name].status if name in named else "not made"
        yield Promise(f"check {name}", "fails", status, "yes" if status == "failed" else "no")
    if expect.storm is not None:
        yield from _of_storm(msgspec.structs.asdict(expect.storm), named.get("storm"))
    yield from _of_counts(msgspec.to_builtins(expect), figures, named)
    yield Promise(
        "height",
        f"at least {scenario.run.until_height:,}",
        f"{int(figures.get('blocks', 0)):,}",
        "yes" if int(figures.get("blocks", 0)) >= scenario.run.until_height else "no",
    )


def _of_storm(expected: Mapping[str, Any], check: CheckResult | None) -> Iterator[Promise]:
    evidence = {} if check is None else dict(check.evidence)
    for key, (what, name) in PROMISES.items():
        least = expected.get(key)
        if least is None:
            continue
        found = evidence.get(name)
        if isinstance(found, int):
            yield Promise(what, f"at least {least:,}", f"{found:,}", "yes" if found >= least else "no")
        else:
            yield Promise(what, f"at least {least:,}", "" if check is None else on_one_line(check.summary), "no")


def _of_counts(
    expected: Mapping[str, Any], figures: Mapping[str, Any], named: Mapping[str, CheckResult]
) -> Iterator[Promise]:
    for key, value in expected.items():
        if key in SUMS and value:
            found = int(figures.get(SUMS[key], 0))
            what = key.removesuffix("_min").replace("_", " ")
            yield Promise(f"blocks {what}", f"at least {value:,}", f"{found:,}", "yes" if found >= value else "no")
        elif key in ANSWERED_BY and value:
            yield from _of_section(key, value, named.get(ANSWERED_BY[key]))
        elif key.endswith("_min") and value:
            check = named.get("reorg")
            kept = "not judged" if check is None else "yes" if check.status == "passed" else "no"
            summary = "" if check is None else on_one_line(check.summary)
            yield Promise(key.removesuffix("_min").replace("_", " "), f"at least {value:,}", summary, kept)


def _of_section(key: str, value: Any, check: CheckResult | None) -> Iterator[Promise]:  # noqa: ANN401 - a section of expectations
    kept = "not judged" if check is None else "yes" if check.status == "passed" else "no"
    evidence = {} if check is None else {name.rpartition(".")[2]: found for name, found in check.evidence}
    if not isinstance(value, dict) or key == "arrival":
        yield Promise(key, "is reached", "" if check is None else on_one_line(check.summary), kept)
        return
    limit = "at most" if key == "at_most" else "at least"
    for name, number in value.items():
        found = evidence.get(name)
        shown = f"{found:,}" if isinstance(found, int) else "" if check is None else on_one_line(check.summary)
        yield Promise(f"{key.replace('_', ' ')}: {name}", f"{limit} {number:,}", shown, kept)


def is_explicable(checks: Sequence[CheckResult]) -> bool:
    """Return whether a check found something that an explanation could be about."""
    return any(check.is_finding and check.name != EXPECTED_FAILURES for check in checks)
