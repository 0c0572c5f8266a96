"""Two sides of a differing answer: who gave which, and the cause of the difference.

The words are those of docs/explain.md. *not deterministic*: the same requests have another answer in a fresh process.
*input*: the sides were asked about other payloads. *clean-up*: only a replica with a past differs from the straight
road, a call changes the state of another block, or only removed timers differ. *order*: the same events, in another
order. *hashing*: events and entries are equal, the roots are not. *execution*: every other difference.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from checker.explain.answer import name_replicas
from checker.explain.explanation import Cause
from checker.observations import name_validators
from cluster.outside.explain.answers import AnswerGroup, GivenAnswer, ReadCalls, ToldOutcome, as_bytes
from cluster.outside.explain.retrace import Traced
from cluster.outside.hosting.calls import BESIDE, NO_ANSWER, CallStep
from cluster.outside.process import Launch


@dataclass(slots=True)
class Side:
    """A side of a differing answer.

    Attributes:
        who: Its name.
        nodes: Its replicas, unless they also gave another answer.
        answer: The answer that is repeated.
        outcome: The outcome.
        build: Its build of the application.
        launches: By build, the way to start the application on this side.
        is_elsewhere: Whether it is a process with another hash seed and time zone.
        traced: The repetition of its calls; None before.
        straight: The straight road to the same block; None if it is unknown.
        blamed: The surroundings that alone change the answer.
        differs_by_call: Whether it proposed the block, and has another answer where it executes the block.
    """

    who: str
    nodes: list[int]
    answer: GivenAnswer
    outcome: ToldOutcome
    build: str
    launches: Mapping[str, Launch]
    is_elsewhere: bool = False
    traced: Traced | None = None
    straight: Traced | None = None
    blamed: list[str] = field(default_factory=list)
    differs_by_call: bool = False

    @property
    def launch(self) -> Launch:
        """The way to start its build."""
        return self.launches[self.build]

    @property
    def is_straight(self) -> bool | None:
        """Whether the straight road leads to its answer; None if that is unknown."""
        return None if self.straight is None or self.straight.outcome is None else self.agrees_with(self.straight)

    def agrees_with(self, traced: Traced) -> bool:
        """Return whether a fresh process has the same answer."""
        return traced.outcome is not None and traced.outcome.equals(self.outcome)

    @property
    def short(self) -> str:
        """Its name in a sentence."""
        return name_replicas(self.nodes) if self.nodes else self.who


class FoundCause(NamedTuple):
    """The cause of a difference, and a sentence on what made it."""

    cause: Cause
    sentence: str


def name_group(group: AnswerGroup, groups: Sequence[AnswerGroup], beside: str) -> tuple[str, list[int]]:
    """Return the name of a group of answers, and its replicas without another answer.

    Args:
        group: The group.
        groups: All groups of the block.
        beside: The name of the processes beside the run.
    """
    alone: list[tuple[int, int]] = []
    again: list[tuple[int, int]] = []
    for node in (node for node in group.nodes if node >= 0):
        mine = sorted((g for g in groups if node in g.nodes), key=lambda g: _first_of(g, node))
        (alone if len(mine) == 1 else again).append((node, mine.index(group)))
    names = [name_validators(node for node, _ in alone)] if alone else []
    for place, ordinal in enumerate(_ORDINALS):
        same = [node for node, each in again if min(each, len(_ORDINALS) - 1) == place]
        names += [f"the {ordinal} answer{'s' * (len(same) > 1)} of {name_validators(same)}"] if same else []
    if not names or BESIDE in group.nodes:
        names.append(beside)
    return " and ".join(names), [node for node, _ in alone]


_ORDINALS: Final = ("first", "second", "third")


def _first_of(group: AnswerGroup, node: int) -> int:
    return next(each.at for each in group.answers if each.node == node)


def find_cause(calls: ReadCalls, id_: bytes, right: Side, wrong: Side) -> FoundCause:
    """Return the cause of the difference between two sides, whose calls were repeated."""
    for side in (right, wrong):
        if side.traced is not None and side.traced.other:
            sentence = f"the requests of replica {side.answer.node} have another answer in a fresh process"
            return FoundCause("not deterministic", sentence)
    if _payload_of(calls, right.answer) != _payload_of(calls, wrong.answer):
        return FoundCause("input", "the payloads of the block differ")
    if (
        right.build == wrong.build
        and right.is_elsewhere != wrong.is_elsewhere
        and right.is_straight
        and wrong.is_straight
    ):
        what = " and ".join(wrong.blamed or right.blamed) or "hash seed or time zone"
        return FoundCause("not deterministic", f"another {what} changes the answer")
    for side in (right, wrong):
        if (said := _changes_parent(calls, side)) is not None:
            return FoundCause("clean-up", said)
    if right.is_straight and wrong.is_straight is False:
        *_, last = ["an earlier request", *road_of(calls, id_, wrong.answer)]
        where = f"replica {wrong.answer.node}" if wrong.answer.node >= 0 else wrong.who
        return FoundCause("clean-up", f"at {where}, {last} left something behind")
    cause, sentence = _of_events(right, wrong)
    calls_of = right.answer.call, wrong.answer.call
    if right.differs_by_call or wrong.differs_by_call:
        sentence = f"`{calls_of[0]}` and `{calls_of[1]}` of one block differ: {sentence}"
    return FoundCause(cause, sentence)


def _of_events(right: Side, wrong: Side) -> FoundCause:
    """Return the cause as the events and entries of both sides show it."""
    if right.outcome.invalid or wrong.outcome.invalid:
        return FoundCause("execution", "one side calls the block invalid")
    if right.outcome.receipts is None or wrong.outcome.receipts is None:
        return FoundCause("execution", "a kept state has another root than the executed block")
    if right.outcome.encoded != wrong.outcome.encoded:
        return _of_other_events(right.outcome, wrong.outcome)
    if right.outcome.root == wrong.outcome.root:
        return FoundCause("execution", "the receipts differ")
    if _are_equal(right.traced, wrong.traced):
        return FoundCause("hashing", "events and entries are equal, the roots differ")
    is_known = right.traced is not None and right.traced.entries is not None
    return FoundCause("execution", f"the events are equal, the {'states' if is_known else 'roots'} differ")


def _of_other_events(right: ToldOutcome, wrong: ToldOutcome) -> FoundCause:
    """Return the cause of two outcomes whose events differ."""
    mine, other = Counter(right.encoded), Counter(wrong.encoded)
    if mine == other:
        return FoundCause("order", "both sides tell the same events in another order")
    told = zip((*right.encoded, *wrong.encoded), (*right.events, *wrong.events), strict=True)
    differing = [event for encoded, event in told if mine[encoded] != other[encoded]]
    if all(event["event"] == "timer-removed" for event in differing):
        return FoundCause("clean-up", "the sides differ only in the timers that the block removes")
    kinds = ", ".join(dict.fromkeys(str(event["event"]) for event in differing))
    return FoundCause("execution", f"events of the block differ: {kinds}")


def _are_equal(right: Traced | None, wrong: Traced | None) -> bool:
    if right is None or wrong is None or right.entries is None:
        return False
    return right.entries == wrong.entries


def _payload_of(calls: ReadCalls, answer: GivenAnswer) -> object:
    """Return the payload that an answer is about; None if the request or the answer has none."""
    step = calls.steps[answer.node][answer.at]
    if answer.call not in {"execute", "propose"}:
        return None
    return [as_bytes(each) for each in (calls.request if answer.call == "execute" else calls.reply)(step)["payload"]]


def _changes_parent(calls: ReadCalls, side: Side) -> str | None:
    """Return the sentence on a request that changed the state of the block's parent, if one did."""
    for traced in (side.straight, side.traced):
        if traced is None:
            continue
        if traced.changed is not None:
            what = name_step(calls, traced.changed)
            return f"{what} changed the state of another block at {side.short}, which the block builds on"
        if None not in (traced.parent, traced.later) and traced.parent != traced.later:
            return f"`{side.answer.call}` of the block changes the state of its parent, which has to stay"
    return None


def name_step(calls: ReadCalls, step: CallStep) -> str:
    """Return a call with its block in words."""
    call, request = step.names[0], calls.request(step)
    id_ = calls.id_in(request, "to" if call == "rewind" else "parent" if call == "propose" else "id")
    if call == "propose":
        return f"`propose` above block {id_.hex()[:12]}"
    if not id_:
        return f"`{call}`"
    height = calls.height_of(id_)
    return f"`{call}`{' to' if call == 'rewind' else ' of'} block {id_.hex()[:12]}" + f" (height {height})" * (
        height >= 0
    )


def road_of(calls: ReadCalls, id_: bytes, answer: GivenAnswer) -> Iterator[str]:
    """Yield what a replica did besides executing the ancestors of a block, before its answer about the block."""
    path = dict.fromkeys(block.id for block in calls.path_to(id_)[:-1])
    proposed: CallStep | None = None
    for step in calls.steps[answer.node][: answer.at]:
        if step.what == "begin" and step.process and not step.names[0].startswith(("scratch", "branch")):
            yield f"the restart as process {step.process}"
        if step.what != "call":
            continue
        if proposed is not None and step.names[0] != "adopted":
            yield f"{name_step(calls, proposed)}, not adopted,"
        proposed = step if step.names[0] == "propose" else None
        yield from _beside(calls, id_, path, step)


def _beside(calls: ReadCalls, id_: bytes, path: Collection[bytes], step: CallStep) -> Iterator[str]:
    """Yield a call that the straight road to a block does not have."""
    call = step.names[0]
    if step.answer == NO_ANSWER:
        yield f"{name_step(calls, step)} without an answer ({step.reason})"
    elif call in {"drop", "rewind", "restore"}:
        yield name_step(calls, step)
    elif call == "execute":
        executed = calls.id_in(calls.request(step))
        if executed == id_:
            yield f"an earlier {name_step(calls, step)}"
        elif executed not in path:
            yield f"{name_step(calls, step)} on another branch"
