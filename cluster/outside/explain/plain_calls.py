"""Failures that the recorded calls alone explain: a timer against the rules, a lost application, a block not kept."""

from collections.abc import Iterator
from typing import Final

import msgspec

from checker.explain.explanation import Explanation
from checker.record.errors import on_one_line
from cluster.outside.explain.answers import GENESIS, ReadCalls, ToldOutcome, as_bytes, groups_of
from cluster.outside.explain.shown import shown_bytes, shown_event
from cluster.outside.explain.sides import name_step
from cluster.outside.hosting.calls import NO_ANSWER, CallStep

LAST_REQUESTS: Final = 4
"""Requests shown before a lost request."""


def explain_timer(explanation: Explanation, calls: ReadCalls) -> Explanation:
    """Add the block and the events of a timer that broke a rule."""
    height, timer = explanation.evidence.get("height"), _timer_in(explanation.summary, calls)
    block = next((id_ for id_ in calls.final if calls.height_of(id_) == height), None)
    if block is None or not isinstance(height, int):
        return explanation
    path = calls.path_to(block)
    lines = [f"height 0: {shown_event(event)}" for event in _events_of(calls, GENESIS, timer)]
    for each in path:
        lines += [
            f"height {each.height}, slot {each.header['slot']}, block {each.id.hex()[:12]}: {shown_event(event)}"
            for event in _events_of(calls, each.id, timer)
        ]
    at = f"height {height}, slot {path[-1].header['slot']}, block {block.hex()[:12]}"
    told = [shown_event(event) for event in _outcome_of(calls, block).events]
    return msgspec.structs.replace(
        explanation,
        no_cause="a timer broke a rule; every replica tells the same events",
        height=height,
        view=int(path[-1].header["view"]),
        block=block.hex(),
        leader=int(path[-1].header["proposer"]),
        timer=timer,
        timer_record="; ".join(lines) or f"no event up to {at} names it",
        write=f"{at} breaks the rule; the timer: {'; '.join(lines) or 'no event'}",
        origin=f"{at} breaks the rule; the timer: {'; '.join(lines) or 'no event'}",
        seen=[f"events of {at}:", *(f"  {line}" for line in told or ["none"])],
        chain=[],
    )


def _timer_in(summary: str, calls: ReadCalls) -> str:
    """Return the timer that a sentence names; empty if it names none."""
    events = (event for answers in calls.answers.values() for event in answers[0].outcome.events)
    timers = dict.fromkeys(str(event["timer"]) for event in events if "timer" in event)
    found = [(summary.find(f"timer {timer!r}"), timer) for timer in timers]
    return min((each for each in found if each[0] >= 0), default=(0, ""))[1]


def _outcome_of(calls: ReadCalls, id_: bytes) -> ToldOutcome:
    groups = groups_of(calls.answers.get(id_, []))
    return groups[0].outcome if groups else ToldOutcome()


def _events_of(calls: ReadCalls, id_: bytes, timer: str) -> Iterator[dict[str, object]]:
    yield from (dict(event) for event in _outcome_of(calls, id_).events if event.get("timer") == timer)


def explain_loss(explanation: Explanation, calls: ReadCalls) -> Explanation:
    """Add the requests over which a replica lost its application, or those around a block that was not kept."""
    node = explanation.evidence.get("validator")
    lost = [each for each in sorted(calls.steps) if each >= 0 and any(_is_lost(step) for step in calls.steps[each])]
    if explanation.evidence.get("fault") == "kept-block" and isinstance(node, int):
        return _explain_kept(explanation, calls, node)
    node = node if isinstance(node, int) else next(iter(lost), None)
    if node is None or not lost:
        return explanation
    lines: list[str] = []
    numbers: dict[int, int] = {}
    steps = [step for step in calls.steps[node] if step.what == "call"]
    last: CallStep | None = None
    for at, step in enumerate(steps):
        numbers[step.process] = numbers.get(step.process, 0) + 1
        if _is_lost(step):
            last = step
            before = [each for each in steps[max(at - LAST_REQUESTS, 0) : at] if each.process == step.process]
            lines += [f"  {name_step(calls, each)}, answered" for each in before]
            what = name_step(calls, step)
            lines.append(
                f"request {numbers[step.process]} of process {step.process}, {what}: {on_one_line(step.reason)}"
            )
    assert last is not None, "the replica has lost its application"
    request = calls.request(last)
    height = request["header"]["height"] if "header" in request else calls.height_of(calls.id_in(request))
    payload = [shown_bytes(as_bytes(each)) for each in request.get("payload", ())]
    return msgspec.structs.replace(
        explanation,
        no_cause=f"the application was lost over `{last.names[0]}`",
        height=height if height >= 0 else None,
        block=calls.id_in(request).hex(),
        write=f"replica {node} lost its application over {name_step(calls, last)}",
        origin=f"replica {node} lost its application over {name_step(calls, last)}",
        seen=[f"calls of replica {node}:", *(f"  {line}" for line in lines)],
        chain=[f"transactions of the block: {', '.join(payload)}"] if payload else [],
    )


def _is_lost(step: CallStep) -> bool:
    return step.what == "call" and step.answer == NO_ANSWER


def _explain_kept(explanation: Explanation, calls: ReadCalls, node: int) -> Explanation:
    """Add the calls of a replica up to the restart at which a final block was missing."""
    steps = calls.steps[node]
    hellos = [at for at, step in enumerate(steps) if step.names == ("hello",) and _resumes(calls, step)]
    if not hellos:
        return explanation
    last, kept = hellos[-1], calls.reply(steps[hellos[-1]])
    before = [step for step in steps[:last] if step.names == ("finalize",)][-LAST_REQUESTS:]
    last_kept = name_step(calls, before[-1]) if before else "no `finalize`"
    lines = [f"{name_step(calls, step)}, answered" for step in before]
    lines.append(f"the process was killed, and process {steps[last].process} began in its directory")
    found = "no block" if kept.get("height") is None else f"height {kept['height']}"
    lines.append(f"`hello` with `resume` was answered with {found}")
    return msgspec.structs.replace(
        explanation,
        no_cause="a final block was not kept over a restart",
        write=f"replica {node} answered {last_kept}, was killed, and resumed at {found}",
        origin=f"replica {node} answered {last_kept}, was killed, and resumed at {found}",
        seen=[f"calls of replica {node}:", *(f"  {line}" for line in lines)],
    )


def _resumes(calls: ReadCalls, step: CallStep) -> bool:
    return step.answer != NO_ANSWER and bool(calls.request(step).get("resume"))
