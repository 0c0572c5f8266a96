"""The drill-down of a page: from the height that differs to the key, the timer, the field, the write and the cause.

Without an explanation it is what the checks say, and names the command that finds the rest.
"""

from collections.abc import Sequence
from typing import Final

from checker.explain.differences import VALUE_CHARACTERS_MAX, compare, differing_fields, in_words, shorten
from checker.explain.explanation import Explanation, KeyReport
from checker.families import title_of
from checker.record.errors import on_one_line
from checker.results import CheckResult, deciding_check
from report.page.rows import Finding, KeyRow

LINES_MAX: Final = 400
"""The most lines of a chain of events."""


def finding_of_checks(checks: Sequence[CheckResult], expected: Sequence[str]) -> Finding | None:
    """Return what the checks alone say of a failure, None where none failed."""
    check = deciding_check(checks, expected) or deciding_check(checks)
    if check is None:
        return None
    evidence = dict(check.evidence)
    height = evidence.get("height")
    others = [
        f"{title_of(each)}: {on_one_line(each.summary)}" for each in checks if each.is_finding and each is not check
    ]
    return Finding(
        headline=f"{title_of(check)}: {on_one_line(check.summary)}",
        source="what the checks saw; explain finds key, timer, field, write and cause, and adds them to the run's page",
        height=height if isinstance(height, int) else None,
        block=str(evidence.get("block", "")),
        sides=(),
        timer=str(evidence.get("timer", "")),
        timer_record="",
        keys=(),
        keys_differing=0,
        write="",
        handler="",
        cause="",
        notes=tuple(f"also {line}" for line in others),
        lines=tuple(f"{name}: {on_one_line(str(value))}" for name, value in check.evidence),
    )


def finding_of(explanation: Explanation, headline: str) -> Finding:
    """Return an explanation as the rows of its pane, under its headline."""
    sides = [
        (side.who, f"root {side.root}" if side.root else side.says or f"block {side.block}")
        for side in explanation.sides
    ]
    handler = f"{explanation.handler or 'unknown'} of actor {explanation.actor}" if explanation.actor else ""
    return Finding(
        headline=headline,
        source="the run was repeated, and every execution of every block was looked at",
        height=explanation.height,
        block=explanation.block,
        sides=tuple((who, _plain(says)) for who, says in sides),
        timer=shorten(explanation.timer),
        timer_record=_plain(explanation.timer_record),
        keys=tuple(_key_row(key) for key in explanation.keys),
        keys_differing=explanation.keys_differing,
        write=_plain(explanation.write),
        handler=_plain(handler),
        cause=explanation.cause or explanation.no_cause,
        notes=tuple(map(_plain, (*(f"also {line}" for line in explanation.also), *explanation.notes))),
        lines=tuple(in_words(line).rstrip() for line in _evidence_of(explanation)[:LINES_MAX]),
    )


def _plain(text: str) -> str:
    """Return a text on one line, with short names and its fields in words."""
    return in_words(on_one_line(text))


def _evidence_of(explanation: Explanation) -> list[str]:
    orders = [f"place {row.place}: {', not '.join(reversed(row.values))}" for row in explanation.orders]
    stalls = [
        f"replica {each.validator}, final up to height {each.height}: {each.waits_for}" for each in explanation.stalls
    ]
    return [*orders, *stalls, *explanation.seen, *explanation.views, *explanation.chain]


def _key_row(key: KeyReport) -> KeyRow:
    values = (key.before, *key.values)
    rows = differing_fields(values) + [("the application says", key.says)] * bool(key.says)
    return KeyRow(
        name=_plain(key.name),
        fields=tuple(_field_row(name, cells) for name, cells in rows),
        values=tuple(_plain(value)[:VALUE_CHARACTERS_MAX] for value in values),
    )


def _field_row(name: str, cells: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return a field with its values in words, and how far each is from that of the first side."""
    before, right, *others = cells
    figures = [compare(name, right, each) if each != right else "" for each in others]
    said = [
        f"{_plain(each)} ({figure})" if figure else _plain(each) for each, figure in zip(others, figures, strict=True)
    ]
    return name, (_plain(before), _plain(right), *said)
