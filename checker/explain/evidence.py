"""The evidence of a failed check with equal states: its values, the timer that it names, the last views.

For a timer the evidence has its record, every event about it, and its payer's account before and after the block.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from checker.checks.mirror import take_changes
from checker.explain.executions import Executions
from checker.explain.explanation import Findings
from checker.explain.formatting import cut_in_the_middle, name_key, show, show_entry
from checker.explain.reading import digest_in, events_of, timer_of, timers_in
from checker.observations import name_validators
from checker.oracle.consensus.compare import shown_value
from checker.record.errors import on_one_line
from checker.results import CheckResult, Evidence
from network.events import Event, read_event
from scheduler import Timer
from validators.events import BlockFinalized, CertificateHeld, Entered, Reported
from validators.execution.schema import account_key

_EVENTS_MAX: Final = 12
"""Greatest number of a timer's events shown: the first half from the beginning, the second from the end."""

_CALLS_MAX: Final = 6
"""Greatest number of engine calls shown; the differing call is the last."""

_VIEWS_MAX: Final = 8
"""Greatest number of views shown, from the end of the run."""


def seen_by(check: CheckResult, findings: Findings) -> list[str]:
    """Return a check's evidence in lines, with the timer in it decoded."""
    evidence = dict(check.evidence)
    lines = [f"{name.replace('_', ' ')}: {on_one_line(str(value))}" for name, value in evidence.items()]
    timer_id = digest_in(evidence.get("timer"))
    return [*lines, *(_timer_lines(timer_id, evidence.get("height"), findings.executions) if timer_id else [])]


def last_calls(calls: Iterable[Event], evidence: Mapping[str, Evidence]) -> list[str]:
    """Return the last calls of an engine up to its difference from the specification, as lines.

    Args:
        calls: The recorded calls of the differing engines.
        evidence: The evidence of the check `consensus`, with replica and life.
    """
    place = evidence.get("replica"), evidence.get("life")
    kept = deque((call for call in calls if (call.node, call.values[0]) == place), _CALLS_MAX)
    return [
        f"call {call.values[1]!s} at {call.at_us / 1_000:,.3f} ms: {call.kind}({', '.join(map(shown_value, fields))})"
        for call in kept
        for fields in (call.values[2:],)
    ]


def _timer_lines(timer_id: bytes, height: object, executions: Executions) -> list[str]:
    """Return a timer's record, its payer's account before and after the named block, and each event about it."""
    timer: Timer | None = None
    events: list[str] = []
    paid: list[str] = []
    values: dict[bytes, bytes] = {}
    last = executions.final[max(executions.final)] if executions.final else ()
    for digest in executions.path_to(next(iter(last), b"")):
        block = executions.blocks[digest]
        outcome, at = block.groups[0].outcome, block.block.header.height
        timer = timer_of(outcome.changes, timer_id) or timer
        for index, receipt in enumerate(outcome.receipts):
            about = [event for event in events_of(receipt) if timer_id in timers_in([event])]
            events += [f"height {at}, receipt {index}: {show(event)}" for event in about]
        if at == height and timer is not None:
            paid = _describe_payer(timer, values, {**values, **outcome.changes})
        take_changes(values, outcome.changes)
    return [
        *([f"its record: {show(timer)}"] if timer is not None else []),
        *paid,
        *cut_in_the_middle(events, _EVENTS_MAX, "more"),
    ]


def _describe_payer(
    timer: Timer, before: Mapping[bytes, bytes | None], after: Mapping[bytes, bytes | None]
) -> list[str]:
    key = account_key(timer.fee_payer)
    had, has = (show_entry(key, values.get(key)) for values in (before, after))
    return [f"its payer's {name_key(key)}: {had} before the block, {has} after it"]


@dataclass(slots=True)
class _View:
    """The course of a view: its leader, the validators that entered it, reasons to leave, and certificates."""

    leader: int
    entered: list[int] = field(default_factory=list)
    left: dict[str, list[int]] = field(default_factory=dict)
    certified: dict[str, list[int]] = field(default_factory=dict)
    finalized: dict[int, None] = field(default_factory=dict)


def last_views(events: Iterable[Event], view_word: str = "view") -> list[str]:
    """Return the last views of a run as lines: leader, entered validators, reasons to leave, certificates."""
    views: dict[int, _View] = {}
    for event in events:
        if (entered := read_event(event, Entered)) is not None:
            views.setdefault(entered.view, _View(entered.leader)).entered.append(event.node)
        elif (report := read_event(event, Reported)) is not None:
            if report.view in views and report.detail:
                views[report.view].left.setdefault(report.detail, []).append(event.node)
        elif (held := read_event(event, CertificateHeld)) is not None:
            if held.view in views:
                views[held.view].certified.setdefault(held.certificate, []).append(event.node)
        elif (block := read_event(event, BlockFinalized)) is not None and block.view in views:
            views[block.view].finalized[block.height] = None
    return [f"{view_word} {number}, {_describe_view(views[number])}" for number in sorted(views)[-_VIEWS_MAX:]]


def _describe_view(view: _View) -> str:
    parts = [f"entered by {name_validators(sorted(dict.fromkeys(view.entered)))}"]
    for reason, nodes in view.left.items():
        parts.append(f"left for {reason} by {name_validators(sorted(dict.fromkeys(nodes)))}")
    for kind, nodes in view.certified.items():
        parts.append(f"{kind} at {name_validators(sorted(dict.fromkeys(nodes)))}")
    parts += [f"height {height} final" for height in view.finalized]
    led = f"led by validator {view.leader}" if view.leader >= 0 else "without a leader"
    return f"{led}: {'; '.join(parts)}"
