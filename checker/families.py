"""Families of checks: each asks a question about a run, and its parts are the checks that answer the question.

A family has the status of its worst part (failed, then inconclusive, then passed) and this part's class. A part that
the run does not ask has no result and does not count. A plug-in's check is a family of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from checker.results import EXPECTED_FAILURES, CheckResult, ExitClass, Status, rank_of


class Family(NamedTuple):
    """A family: its name, its question, and the names of its parts in the order in which they are shown."""

    name: str
    question: str
    parts: tuple[str, ...]


FAMILIES: Final = (
    Family(
        "agreement",
        "Is there one final chain?",
        ("agreement", "no-double-vote", "certificates", "quorum-certificates"),
    ),
    Family(
        "equal-roots",
        "Does every replica have the same root at each height, on every way there?",
        ("equal-roots", "write-sets", "cold-replay", "reorg", "application"),
    ),
    Family(
        "oracle",
        "Are receipts, changes and roots those of the independent rules?",
        ("oracle", "oracle/differential", "budgets", "phases", "storm-accounting", "block-times", "supply"),
    ),
    Family(
        "timers",
        "Does each timer, and each message of an actor, leave once, not early, in order?",
        ("timer-delivery", "told-timers", "message-delivery"),
    ),
    Family("storm", "Was a storm drained as predicted, with live timers going on?", ("storm",)),
    Family(
        "consensus",
        "Did each engine do exactly what its specification does?",
        ("consensus", "leaders", "undisturbed-views"),
    ),
    Family(
        "durability",
        "Was everything on disk before it was said, and does it come back?",
        ("write-ahead", "journals", "final-disks", "repairs"),
    ),
    Family(
        "memory",
        "Is what replicas keep in memory what their logs lead to?",
        ("live-values", "operation-log", "bitmap", "indexes", "proofs", "derived"),
    ),
    Family(
        "service",
        "Are transactions included, peers served, nobody wrongly refused, traffic bounded?",
        ("inclusion", "spread", "refusals", "traffic", "requests", "timer-lengths", "work"),
    ),
    Family("liveness", "Is a new block final soon after healing?", ("finality-regained", "application-lives")),
    Family(
        "test-bed",
        "Did network, clocks, disks and faults do what the plan says?",
        (
            *("audit", "faults-effective", "workloads-effective", "replica-modes-effective", "mutants-effective"),
            *("determinism", "replay"),
        ),
    ),
    Family(
        "expectations",
        "Is it what the scenario promised?",
        (
            *("expected-arrival", "expected-counts", "expected-limits", "expected-recovery", "expected-reports"),
            *("expected-answers", "expected-replica-modes", "expected-rules", EXPECTED_FAILURES),
        ),
    ),
)
"""Every family, in the order of a run's result."""

FAMILY_OF: Final[Mapping[str, str]] = {part: family.name for family in FAMILIES for part in family.parts}
"""The family of each check by its name; a plug-in's check stands for itself."""


def full_name(check: str) -> str:
    """Return the name of a check with its family before it: `oracle/supply`."""
    family = FAMILY_OF.get(check, check)
    return check if check == family or check.startswith(f"{family}/") else f"{family}/{check}"


def title_of(result: CheckResult) -> str:
    """Return the full name of a result's check, with the part that its evidence names: `consensus/record`."""
    part = dict(result.evidence).get("part", "")
    return f"{full_name(result.name)}/{part}" if part else full_name(result.name)


CHECK_OF: Final[Mapping[str, str]] = {full_name(part): part for part in FAMILY_OF}
"""The check of each full name."""

_PLACE: Final = {part: place for family in FAMILIES for place, part in enumerate(family.parts)}


class FamilyResult(NamedTuple):
    """The result of a family: its worst part decides its status, class and summary."""

    name: str
    status: Status
    exit_class: ExitClass
    summary: str
    parts: tuple[CheckResult, ...]
    title: str
    """The full name of the part that decides; that of the family where it passed."""


def by_family(results: Iterable[CheckResult]) -> list[FamilyResult]:
    """Return the results of the families that a run asked, in their order; plug-ins' families come last."""
    parts: dict[str, list[CheckResult]] = {family.name: [] for family in FAMILIES}
    for result in results:
        parts.setdefault(FAMILY_OF.get(result.name, result.name), []).append(result)
    return [_join(name, found) for name, found in parts.items() if found]


def without_answer(not_asked: Mapping[str, str], answered: Sequence[FamilyResult]) -> dict[str, str]:
    """Return the families of which the run asks no part, each with the reason of its first part.

    Args:
        not_asked: By name of each check without a result, why the run does not ask it.
        answered: The families that have a result.
    """
    names = [family.name for family in answered]
    found: dict[str, str] = {}
    for check, reason in not_asked.items():
        family = FAMILY_OF.get(check, check)
        if family not in names:
            found.setdefault(family, reason)
    return found


def _join(name: str, parts: Sequence[CheckResult]) -> FamilyResult:
    # The first of the worst, as in the verdict of the run.
    worst = min(parts, key=rank_of)
    parts = sorted(parts, key=lambda part: _PLACE.get(part.name, 0))
    if worst.status == "passed":
        also = f"; also {', '.join(part.name for part in parts[1:])}" if len(parts) > 1 else ""
        return FamilyResult(name, "passed", worst.exit_class, f"{parts[0].summary}{also}", (*parts,), name)
    others = [part.name for part in parts if part is not worst and part.status == worst.status]
    more = f"; {worst.status} too: {', '.join(others)}" if others else ""
    title = title_of(worst)
    part = title.removeprefix(name).removeprefix("/")
    prefix = f"{part}: " if part else ""
    return FamilyResult(name, worst.status, worst.exit_class, f"{prefix}{worst.summary}{more}", (*parts,), title)
