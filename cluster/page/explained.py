"""The drill-down of a page: from the height that differs to the key, the timer, the field, the write and the cause.

Without an explanation it is what the checks say, and names the command that finds the rest.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from checker.explain import Explanation
from checker.explain.explanation import KeyReport
from checker.families import title_of
from checker.record.errors import on_one_line
from checker.results import CheckResult, deciding_check
from report.page.rows import Finding, KeyRow

VALUE_CHARACTERS_MAX: Final = 600
"""The longest value of a key; the JSON object of `explain` has the whole one."""

LINES_MAX: Final = 400
"""The most lines of a chain of events."""

_FIELD: Final = re.compile(r"(?:^|(?<= ))([a-z_][a-z0-9_]*)=")


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
        sides=tuple((who, on_one_line(says)) for who, says in sides),
        timer=explanation.timer,
        timer_record=on_one_line(explanation.timer_record),
        keys=tuple(_key_row(key) for key in explanation.keys),
        keys_differing=explanation.keys_differing,
        write=on_one_line(explanation.write),
        handler=on_one_line(handler),
        cause=explanation.cause or explanation.no_cause,
        notes=tuple(on_one_line(note) for note in (*(f"also {line}" for line in explanation.also), *explanation.notes)),
        lines=tuple(line.rstrip() for line in (*explanation.seen, *explanation.views, *explanation.chain)[:LINES_MAX]),
    )


def _key_row(key: KeyReport) -> KeyRow:
    values = (key.before, *key.values)
    return KeyRow(
        name=on_one_line(key.name),
        fields=tuple(differing_fields(values)),
        values=tuple(on_one_line(value)[:VALUE_CHARACTERS_MAX] for value in values),
    )


def differing_fields(values: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """Return the fields in which the sides differ, each with its value before and on each side.

    A value that is no list of fields is one field of its own.
    """
    read = [_fields_of(value) for value in values]
    if not all(read[1:]):
        return [("value", tuple(on_one_line(value)[:VALUE_CHARACTERS_MAX] for value in values))]
    names = dict.fromkeys(name for fields in read for name in fields)
    rows = ((name, tuple(fields.get(name, "") for fields in read)) for name in names)
    return [(name, cells) for name, cells in rows if len(set(cells[1:])) > 1]


def _fields_of(value: str) -> Mapping[str, str]:
    places = list(_FIELD.finditer(value))
    ends = [*(place.start() for place in places[1:]), len(value)] if places else []
    return {
        place.group(1): on_one_line(value[place.end() : end])[:VALUE_CHARACTERS_MAX]
        for place, end in zip(places, ends, strict=True)
    }
