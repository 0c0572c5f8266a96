"""The reason why a run failed, in two sentences of at most 120 characters each.

The first sentence names the height, the replicas, the differing value and the difference. The second sentence names the
step that caused the difference, and the right side. A side is called wrong only if the oracle is on another side.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from checker.explain.differences import ABSENT, compare, differing_fields, fields_of, group_digits, in_words, shorten
from checker.explain.explanation import Explanation, SideReport, Stall
from checker.explain.formatting import NOT_WRITTEN
from checker.explain.origins import EXECUTED_ALL_THE_SAME
from checker.record.errors import on_one_line

Answer: TypeAlias = tuple[str, str]
"""Both sentences."""

CHARACTERS_MAX: Final = 120
"""Greatest number of characters in a sentence."""

_VALUE_MAX: Final = 34
_LISTED_MAX: Final = 4
_MORE: Final = re.compile(r" \(and [\d,]+ more\)")
_TITLE: Final = re.compile(r"^(?:transaction |no receipt|no exit in this block|[A-Z]\w+)")
_ABORTS: Final = "aborts: "
_OWNER: Final = re.compile(r"^the (.*) of validator \d+$")
_LOG: Final = re.compile(r"^operation (\d+) of the block in the log$")
_CLAUSE: Final = re.compile(r"(?<![\"\d])[:;] |, and (?:to )?|, (?=found )|, (?=then )")
_HALTED: Final = re.compile(
    r"finalized block of view (\d+) cannot be executed: (\w+) (\w+) where executing gives (\w+)"
)

_STEPS: Final[Mapping[str, tuple[str, str]]] = {
    "TimerFired": ("fires", "the fire"),
    "TimerExpired": ("expires", "the expiry"),
    "TimerDeferred": ("is deferred", "the deferral"),
    "TimerScheduled": ("is scheduled", "the scheduling"),
    "TimerCancelled": ("is cancelled", "the cancellation"),
    "TimerCancelledInsufficientFunds": ("is removed as insolvent", "the removal"),
    "TimerCancelledForDelay": ("is removed for its delay", "the removal"),
    "TimerCancelledByGovernance": ("is cancelled by governance", "the cancellation"),
    "TimerTriggered": ("is triggered", "the trigger"),
    "no exit in this block": ("stays", "the waiting"),
    "no receipt": ("has no receipt", "the missing receipt"),
}
"""Receipts of timers as verbs and as nouns."""

_OF_FAMILIES: Final[Mapping[str, str]] = {
    "agreement": "No state differs: the failure lies in votes, in certificates, or in a halt.",
    "equal-roots": "No other execution differs from the oracle.",
    "oracle": "The oracle's check failed, but no repeated execution differs from the oracle.",
    "timers": "No state differs from the oracle's: the check follows each timer by its own rules.",
    "consensus": "The executable specification is right, the engine is wrong; no state differs.",
    "durability": "No state differs: the disk lacks or contradicts data that the replica had confirmed.",
    "memory": "No executed block differs: the blocks are right, the memory of the replica is wrong.",
    "service": "No state differs: a replica broke a rule of its service.",
    "liveness": "No state differs: finality was late or stopped.",
    "test-bed": "No state differs: the test bed did not follow the plan.",
    "expectations": "No state differs: the run did not meet the scenario's expectations.",
}
_OTHERWISE: Final = "No state differs."
_FOREIGN: Final = "No oracle knows the application's rules; the record has its requests and answers."


def answer_of(explanation: Explanation) -> Answer:
    """Return why a run failed, in two sentences."""
    if explanation.height is None or not explanation.sides:
        return _of_stall(explanation) if explanation.stalls else _of_check(explanation)
    if len(explanation.sides) == 1:
        return _of_refusal(explanation)
    if all(side.block for side in explanation.sides):
        return _of_fork(explanation)
    if not explanation.is_foreign and any(side.says for side in explanation.sides):
        return _of_memory(explanation)
    return _of_states(explanation)


def name_side(side: SideReport, listed_max: int = _LISTED_MAX) -> str:
    """Return the replicas of a side; only the oracle if it is on this side."""
    if side.has_oracle:
        return "the oracle"
    return name_replicas(side.validators, listed_max) if side.validators else side.who


def name_replicas(nodes: Sequence[int], listed_max: int = _LISTED_MAX) -> str:
    """Return `replica 2`, `replicas 0, 2`, or how many there are."""
    if len(nodes) > listed_max:
        return f"{len(nodes)} replicas"
    return f"replica{'s' if len(nodes) != 1 else ''} {', '.join(map(str, sorted(nodes)))}"


def fitting(variants: Iterable[str]) -> str:
    """Return the first variant of a sentence that is short enough, else the last variant, cut at a word."""
    last = ""
    for variant in variants:
        last = _capital(shorten(on_one_line(variant)))
        if len(last) <= CHARACTERS_MAX:
            return last
    return f"{last[: CHARACTERS_MAX - 3].rsplit(' ', 1)[0].rstrip(' ,;:')}..."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _on(side: SideReport, listed_max: int = _LISTED_MAX) -> str:
    return f"{'by' if side.has_oracle else 'on' if side.validators else 'in'} {name_side(side, listed_max)}"


def _who_is_right(explanation: Explanation) -> tuple[str, ...]:
    """Return variants of the clause on the right side, the longest first."""
    right, *others = explanation.sides
    if not right.has_oracle:
        return ("no oracle judges it",)
    if right.validators:
        return f"the oracle and {name_replicas(right.validators)} are right", "the oracle is right"
    wrong = others[0].validators
    return (
        f"the oracle is right, {name_replicas(wrong)} {'is' if len(wrong) == 1 else 'are'} wrong",
        "the oracle is right",
    )


def _of_states(explanation: Explanation) -> Answer:
    """Return the answer for two outcomes of a block."""
    height, who = explanation.height, _who_is_right(explanation)
    first = fitting(
        f"height {height}: {_difference(explanation, listed_max, value_max)}."
        for listed_max in (_LISTED_MAX, 0)
        for value_max in (_VALUE_MAX, 20, 12)
    )
    if explanation.is_foreign:
        if explanation.write:
            ends = (f"; cause: {explanation.cause}.", ".")
            return first, fitting(f"{explanation.write}{end}" for end in ends)
        most = max(len(side.validators) for side in explanation.sides)
        known = sum(len(side.validators) for side in explanation.sides)
        return first, f"No oracle knows the application's rules; {most} of {known} replicas agree with each other."
    steps = list(_steps(explanation))
    return first, fitting(f"{step}; {said}." for step in steps for said in who)


def _difference(explanation: Explanation, listed_max: int, value_max: int) -> str:
    """Return the differing value, the sides, and the difference."""
    right, wrong = explanation.sides[:2]
    on, by = _on(wrong, listed_max), _on(right, listed_max)
    if explanation.keys:
        key = explanation.keys[0]
        values = [_after(key.before, value) for value in (key.before, *key.values[:2])]
        return _of_values(key.name, values, (on, by), value_max)
    if len(dict.fromkeys(explanation.told[:2])) > 1:
        return _of_told(explanation, listed_max, value_max)
    if explanation.is_foreign and any(side.says for side in (right, wrong)):
        return f"{name_side(wrong, listed_max)} and {name_side(right, listed_max)} differ: {wrong.says or right.says}"
    if explanation.is_foreign and explanation.orders:
        row = next(row for row in explanation.orders if row.values[0] != row.values[1])
        mine, other = (_cut(value, value_max) for value in row.values)
        return f"event {row.place} is {other} {on}, {mine} {by}"
    roots = [side.root for side in (wrong, right)]
    if roots[0] == roots[1]:
        return f"{name_side(wrong, listed_max)} and {name_side(right)} differ in {explanation.origin}"
    said = "" if explanation.is_foreign else ", with equal values"
    return f"the state root is {roots[0]} {on}, {roots[1]} {by}{said}"


def _of_told(explanation: Explanation, listed_max: int, value_max: int) -> str:
    """Return the difference for equal keys: an aborted execution, a receipt, an operation or a figure."""
    right, wrong = explanation.sides[:2]
    on, by = _on(wrong, listed_max), _on(right, listed_max)
    told = explanation.told[:2]
    if any(each.startswith(_ABORTS) for each in told):
        return f"{name_side(wrong, listed_max)} cannot execute block {explanation.block}"
    if explanation.receipt is None:
        name = _LOG.sub(r"log operation \1", explanation.origin)
        return f"{name} is {_cut(told[1], value_max)} {on}, {_cut(told[0], value_max)} {by}"
    return _of_receipts(explanation, (on, by), value_max)


def _after(before: str, value: str) -> str:
    """Return the value of a key after a block."""
    if value == NOT_WRITTEN:
        return before
    return ABSENT if value == "deleted" else value.removeprefix("read as ")


def _of_values(name: str, values: Sequence[str], sides: tuple[str, str], value_max: int) -> str:
    """Return how a value differs.

    Args:
        name: The name of the value.
        values: The value before the block, on the right side, and on the wrong side.
        sides: The wrong side and the right side in words.
        value_max: Greatest number of characters of a value.
    """
    before, right, wrong = values
    on, by = sides
    if ABSENT in (right, wrong) and right != wrong:
        verbs = [_fate(before, value) for value in (wrong, right)]
        return f"{name} {verbs[0]} {on}; {by} it {verbs[1]}"
    fields = differing_fields((before, right, wrong))
    if not fields:
        return f"{name} differs {on} and {by}"
    field, (_, right, wrong) = fields[0]
    subject = f"the {field.replace('_', ' ')} of {name}" if field != "value" or fields_of(values[1]) else name
    figure = compare(field, right, wrong)
    if figure:
        return (
            f"{subject} is {figure} {on} than {by}"
            if figure[-2:] == "er" and "order" not in figure
            else (f"{subject} is {figure} {on} and {by}")
        )
    return f"{subject} is {_cut(wrong, value_max)} {on}, {_cut(right, value_max)} {by}"


def _fate(before: str, after: str) -> str:
    if after == ABSENT:
        return "is missing" if before == ABSENT else "is removed"
    return "is created" if before == ABSENT else "stays"


def _cut(value: str, at_most: int) -> str:
    said = in_words(value) or "nothing"
    return said if len(said) <= at_most else f"{said[: at_most - 3]}..."


def _of_receipts(explanation: Explanation, sides: tuple[str, str], value_max: int) -> str:
    """Return how two receipts differ, for equal keys."""
    right, wrong = explanation.told[:2]
    on, by = sides
    if _title(right) != _title(wrong):
        verbs = [_verb(each) for each in (wrong, right)]
        return f"{_subject(explanation)} {verbs[0]} {on}; {by} it {verbs[1]}"
    field, (_, right, wrong) = differing_fields(("", right, wrong))[0]
    figure = compare(field, right, wrong)
    of = f"the {field.replace('_', ' ')} of {_title(explanation.told[0])} (receipt {explanation.receipt})"
    if figure[-2:] == "er" and "order" not in figure:
        return f"{of} is {figure} {on} than {by}"
    return f"{of} is {_cut(wrong, value_max)} {on}, {_cut(right, value_max)} {by}"


def _title(told: str) -> str:
    found = _TITLE.match(told)
    return found.group().strip() if found else told


def _verb(told: str) -> str:
    title = _title(told)
    return _STEPS[title][0] if title in _STEPS else f"has {title}"


def _noun(told: str) -> str:
    title = _title(told)
    return _STEPS[title][1] if title in _STEPS else title


def _subject(explanation: Explanation) -> str:
    if explanation.timer:
        return f"timer {explanation.timer}"
    return f"receipt {explanation.receipt}"


def _steps(explanation: Explanation) -> Iterable[str]:
    """Yield variants of the step that caused the difference, the longest first."""
    right, wrong = explanation.sides[:2]
    told, origin = explanation.told[:2], explanation.origin
    place = "" if explanation.receipt is None else f" (receipt {explanation.receipt})"
    if explanation.orders:
        row = next(row for row in explanation.orders if len(dict.fromkeys(row.values)) > 1)
        yield f"the order differs at place {row.place}: {row.values[1]} {_on(wrong)}, {row.values[0]} {_on(right)}"
        yield f"the order differs at place {row.place}: {row.values[1]}, not {row.values[0]}"
        yield f"the order differs from place {row.place} on"
    elif any(each.startswith(_ABORTS) for each in told):
        reason = next(each for each in reversed(told) if each.startswith(_ABORTS))
        reason = reason.removeprefix(_ABORTS)
        yield f"{name_side(wrong)} aborted with {reason}"
        yield f"it aborted with {reason[:60]}"
        yield f"it aborted with {reason.partition(': ')[0]}"
    elif explanation.transaction:
        yield f"transaction {explanation.transaction}{place} made the difference: {origin}"
        yield f"transaction {explanation.transaction}{place} made the difference"
    elif len(dict.fromkeys(map(_title, told))) > 1 and explanation.receipt is not None:
        verbs = [_verb(each) for each in (told[1], told[0])]
        yield f"{_subject(explanation)} {verbs[0]} {_on(wrong)} and {verbs[1]} {_on(right)}{place}"
        yield f"{_subject(explanation)} {verbs[0]}; {_on(right)} it {verbs[1]}{place}"
    elif explanation.timer and told:
        yield f"{_noun(told[0])} of timer {explanation.timer}{place} made the difference"
    elif origin.startswith("no receipt: "):
        yield f"no receipt made the difference but {origin.removeprefix('no receipt: ')}"
        yield "the block's own bookkeeping made the difference"
    else:
        yield from _steps_without_receipt(explanation)


def _steps_without_receipt(explanation: Explanation) -> Iterable[str]:
    origin, told = explanation.origin, explanation.told
    if origin.startswith("the state database"):
        yield "values and log operations are equal, but the state database hashes them to different roots"
    elif told:
        yield f"{origin}: {_cut(told[0], _VALUE_MAX)}"
        yield origin
    else:
        yield origin or "the executions differ"
    yield f"cause: {explanation.cause}"


def _of_refusal(explanation: Explanation) -> Answer:
    """Return the answer for a block that all replicas executed and the oracle refuses."""
    who = explanation.sides[0]
    reason = explanation.origin.removesuffix(EXECUTED_ALL_THE_SAME)
    first = fitting(
        f"height {explanation.height}: {name_side(SideReport(who=who.who, validators=who.validators))} executed block "
        f"{explanation.block}, {said}."
        for said in (f"which the oracle refuses: {group_digits(reason)}", "which the oracle refuses")
    )
    led = "" if explanation.leader is None else f" leader {explanation.leader} of view {explanation.view}"
    return first, fitting([f"the block of{led or ' genesis'} breaks a rule: {reason}; the oracle is right."])


def _of_fork(explanation: Explanation) -> Answer:
    right, wrong = explanation.sides[:2]
    if not (right.validators and wrong.validators):
        first = f"height {explanation.height}: block {right.block} in {right.who}, {wrong.block} in {wrong.who}."
        return fitting([first]), fitting([f"{explanation.write or 'input differs'}."])
    first = (
        f"height {explanation.height}: {name_side(right)} finalized block {right.block}, "
        f"{name_side(wrong)} block {wrong.block}."
    )
    same = right.root and right.root == wrong.root
    roots = f"with the same root {right.root}" if same else f"with roots {right.root} and {wrong.root}"
    second = f"two blocks are final at one height, {roots}: agreement is broken, and no side is right."
    return fitting([first]), fitting([second, "two blocks are final at one height: agreement is broken."])


def _of_memory(explanation: Explanation) -> Answer:
    """Return the answer for cached state that differs from the log, the disk or the cold replay."""
    right, wrong = explanation.sides[:2]
    subject = explanation.origin.partition(", ")[2] or "its cached state"
    values = ("", *((side.says or side.root).strip("[]") for side in (right, wrong)))
    on, log = f"in {name_side(wrong)}'s memory", _OWNER.sub(r"its \1", right.who)
    first = fitting(
        f"height {explanation.height}: {_of_values(subject, values, (on, f'in {log}'), value_max)}."
        for value_max in (_VALUE_MAX, 20, 12)
    )
    last = explanation.write.partition("; the last rewound block was ")[2]
    past = f"it rewound block {last} before" if last else "it rewound no block before"
    return first, fitting([f"all executions agree with the oracle, so {name_side(wrong)} is wrong; {past}."])


def _of_check(explanation: Explanation) -> Answer:
    """Return the answer for a failure with equal states: the check's summary, cut after a clause."""
    summary = _HALTED.sub(
        r"the final block of view \1 claims \2 \3, execution gives \4", _MORE.sub("", explanation.summary)
    )
    summary = _capital(shorten(on_one_line(summary)).rstrip("."))
    who = _OF_FAMILIES.get(explanation.family, _OTHERWISE)
    if explanation.is_foreign:
        who = fitting([f"{in_words(explanation.write)}."]) if explanation.write else _FOREIGN
    if len(summary) < CHARACTERS_MAX:
        return f"{summary}.", who
    ends = [found.start() for found in _CLAUSE.finditer(summary) if found.start() < CHARACTERS_MAX]
    if not ends:
        return fitting([summary]), who
    rest = _capital(_CLAUSE.sub("", summary[ends[-1] :], count=1))
    second = next((each for each in (f"{rest}. {who}", f"{rest}.") if len(each) <= CHARACTERS_MAX), who)
    return f"{summary[: ends[-1]]}.", second


def _of_stall(explanation: Explanation) -> Answer:
    """Return the answer for missing finality: the replicas, the time of the last block, and the awaited event."""
    stalls = explanation.stalls
    worst = min(stalls, key=lambda stall: (stall.height, stall.validator))
    alike = [stall.validator for stall in stalls if stall.height == worst.height]
    who = name_replicas(alike) if len(alike) < explanation.replicas else "no replica"
    since = f"{worst.since_us / 1_000_000:,.3f} s"
    some = "finalized a block" if who == "no replica" else "finalized no block"
    first = [f"{who} {some} after height {worst.height} ({since}); the run ended at {explanation.end_us / 1e6:,.3f} s."]
    return fitting(first), fitting(_waits(worst, explanation))


def _waits(stall: Stall, explanation: Explanation) -> Iterable[str]:
    last = explanation.left_over
    yield (
        f"replica {stall.validator} {stall.waits_for}; {last}."
        if last
        else f"replica {stall.validator} {stall.waits_for}."
    )
    yield f"replica {stall.validator} {stall.waits_for}."
