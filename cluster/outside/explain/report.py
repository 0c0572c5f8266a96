"""The explanation of a failure of an application, from the calls of its run and from fresh processes.

A run with differing answers is explained by the lowest block with two answers. Each side's calls are repeated in fresh
processes, which list the entries of the state. A timer, a lost application and a block that was not kept are explained
by the recorded calls alone.
"""

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from checker.explain.differences import ABSENT
from checker.explain.explanation import Explanation, KeyReport, OrderRow, SideReport
from checker.explain.formatting import cut_in_the_middle
from checker.explain.report import KEYS_MAX
from checker.record.errors import ReportedError, on_one_line
from checker.record.plain_files import open_plain
from cluster.outside.explain.answers import (
    GENESIS,
    AnswerGroup,
    GivenAnswer,
    ReadCalls,
    ToldOutcome,
    first_difference,
    groups_of,
)
from cluster.outside.explain.plain_calls import explain_loss, explain_timer
from cluster.outside.explain.retrace import Deadline, Entries, OutOfTimeError, Retrace
from cluster.outside.explain.shown import shown_bytes, shown_event, shown_pair, shown_value
from cluster.outside.explain.sides import Side, find_cause, name_group, road_of
from cluster.outside.hosting.again import AskedAgain, elsewhere
from cluster.outside.hosting.calls import BESIDE, CallLog
from cluster.outside.process import Launch, launch_words
from network.words import counted

SECONDS_MAX: Final = 60
"""Real time for the repetitions of one explanation."""

LISTED_MAX: Final = 10
"""Most transactions, events or requests in a list."""

_PROGRAM_BYTES_MAX: Final = 1 << 30
_PIECE_BYTES: Final = 1 << 20
_MORE: Final = "the feature `{}` would {}"


@dataclass(frozen=True, slots=True)
class ExplainedRun:
    """A run with an application, as its explanation needs it.

    Attributes:
        log: The calls.
        launches: By build, the way to start the application.
        cold: The same for the cold replay.
        byzantine: The Byzantine validators, whose blocks are lies of their own.
    """

    log: CallLog
    launches: Mapping[str, Launch]
    cold: Mapping[str, Launch]
    byzantine: Collection[int] = ()


def explain_application(explanation: Explanation, run: ExplainedRun) -> Explanation:
    """Complete the explanation of a failed run with an application."""
    framings = {build: launch.framing for build, launch in run.launches.items()}
    calls = ReadCalls(run.log.contents, framings, run.log.steps).read(run.byzantine)
    evidence = explanation.evidence
    if explanation.check == "told-timers" and "other_validator" not in evidence:
        return explain_timer(explanation, calls)
    if explanation.check == "application-lives" or evidence.get("fault") == "crashes-on-block":
        return explain_loss(explanation, calls)
    if evidence.get("fault") == "kept-block" and explanation.summary.startswith("the application kept"):
        return explain_loss(explanation, calls)
    with tempfile.TemporaryDirectory(prefix="stampede-explain-") as folder:
        found = _Difference(calls, run, Path(folder)).explain(explanation)
    return explanation if found is None else found


class _Difference:
    """The lowest block with two answers, and the repetition of both sides."""

    def __init__(self, calls: ReadCalls, run: ExplainedRun, folder: Path) -> None:
        self._calls = calls
        self._run = run
        self._folder = folder
        self._deadline = Deadline(SECONDS_MAX)
        self._notes: list[str] = []
        self._retraces: list[Retrace] = []

    def explain(self, explanation: Explanation) -> Explanation | None:
        """Return the explanation of the difference; None without one."""
        found = first_difference(self._calls)
        changed = list(changed_programs(self._run.log.files))
        self._notes += changed
        sides: list[Side] = []
        try:
            if found is None:
                found, sides = self._elsewhere()
                if found is None:
                    return None
            else:
                sides = self._sides(*found)
            self._repeat(found[0], sides)
            if changed and any(side.traced is not None and (side.traced.other or side.traced.lost) for side in sides):
                self._notes.append("a fresh process answers otherwise now, so only the recorded answers count")
                for side in sides:
                    side.traced = side.straight = None
                    side.differs_by_call = False
                    side.blamed.clear()
        except ReportedError as error:
            self._notes.append(f"the application was not asked again: {error}")
        except OutOfTimeError:
            self._notes.append(f"the repetition was ended after {SECONDS_MAX} s of real time")
        if found is None:
            return None
        try:
            return self._report(explanation, found[0], sides or self._sides(*found))
        finally:
            for retrace in self._retraces:
                retrace.kill()

    def _sides(self, id_: bytes, groups: Sequence[AnswerGroup]) -> list[Side]:
        sides = []
        for group in groups[:2]:
            who, nodes = self._name(group, groups)
            first = group.first
            launches = self._run.cold if first.node == BESIDE else self._run.launches
            side = Side(who, nodes, first, group.outcome, self._calls.build_of(first), launches)
            side.is_elsewhere = first.node == BESIDE
            sides.append(side)
        others = (self._name(group, groups)[0] for group in groups[2:])
        more = [f"{who}: {_root_of(group.outcome)}" for who, group in zip(others, groups[2:], strict=True)]
        self._notes += [f"more answers about block {id_.hex()[:12]}: {'; '.join(more)}"] if more else []
        return sides

    def _name(self, group: AnswerGroup, groups: Sequence[AnswerGroup]) -> tuple[str, list[int]]:
        """Return the name of a group, with its builds if there are several, and its replicas."""
        who, nodes = name_group(group, groups, "the cold replay")
        builds = dict.fromkeys(self._calls.build_of(each) for each in group.answers)
        if len(self._run.launches) > 1:
            who += f" (build{'s' * (len(builds) > 1)} {', '.join(builds)})"
        return who, nodes

    def _elsewhere(self) -> tuple[tuple[bytes, list[AnswerGroup]] | None, list[Side]]:
        """Return the block about which a fresh process answered otherwise, with both sides."""
        for node, (_, _, sentence) in sorted(self._run.log.differing.items()):
            place = self._folder / f"again-{node}"
            place.mkdir()
            steps = self._calls.steps[node]
            again = AskedAgain(_known(self._run.launches), self._calls.contents, place)
            if again.find(steps) is None:
                self._notes.append(f"another answer came once, and not again: {sentence}")
                continue
            pair = next(
                (
                    (id_, answer)
                    for id_, mine in self._calls.answers.items()
                    for answer in mine
                    if (answer.node, answer.at) == (node, again.at)
                ),
                None,
            )
            if pair is None:
                continue
            id_, answer = pair
            build, launches = self._calls.build_of(answer), self._run.launches
            outcome = self._calls.outcome_in(answer.call, again.answered, launches[build].framing)
            if outcome is None:
                continue
            groups = groups_of(self._calls.answers[id_])
            who, nodes = self._name(groups[0], groups)
            sides = [Side(who, nodes, answer, answer.outcome, build, launches)]
            there = {each: elsewhere(launch) for each, launch in launches.items()}
            sides.append(Side("another process", [], answer, outcome, build, there, is_elsewhere=True))
            return (id_, groups), sides
        return None, []

    def _repeat(self, id_: bytes, sides: Sequence[Side]) -> None:
        """Repeat the calls of both sides, and take the straight road for each."""
        for number, side in enumerate(sides):
            retrace = Retrace(
                self._calls,
                _known(side.launches),
                self._folder / f"side-{number}",
                deadline=self._deadline,
                features=self._features(side.answer),
            )
            self._retraces.append(retrace)
            if side.is_elsewhere:
                side.blamed = self._blame(id_, sides[0], side)
            side.straight = retrace.straight(id_, side.answer)
            if side.answer.call == "propose":
                executed = retrace.straight(id_, side.answer._replace(call="execute"))
                side.differs_by_call = executed is not None and not side.agrees_with(executed)
            side.traced = retrace.up_to(id_, side.answer)
            if side.is_elsewhere and side.answer.node >= 0:
                # It repeats the recorded calls of a replica, whose answers differ from its own by intention.
                side.traced.other = ""

    def _blame(self, id_: bytes, here: Side, there: Side) -> list[str]:
        """Return which of the surroundings of two sides alone changes the answer of the first."""
        surroundings = {
            "hash seed": replace(here.launch, hash_seed=there.launch.hash_seed),
            "time zone": replace(here.launch, timezone=there.launch.timezone),
        }
        blamed = []
        for name, launch in surroundings.items():
            place = self._folder / name
            launches = _known({here.build: launch})
            retrace = Retrace(self._calls, launches, place, deadline=self._deadline, features=())
            try:
                found = retrace.straight(id_, here.answer)
            finally:
                retrace.kill()
            if found is not None and found.outcome is not None and not found.outcome.equals(here.outcome):
                blamed.append(name)
        return blamed

    def _features(self, answer: GivenAnswer) -> tuple[str, ...]:
        steps = self._calls.steps[answer.node]
        process = steps[answer.at].process
        hello = next((step for step in steps if step.names == ("hello",) and step.process == process), None)
        return () if hello is None else tuple(self._calls.reply(hello)["features"])

    def _report(self, explanation: Explanation, id_: bytes, sides: list[Side]) -> Explanation:
        right, wrong = sides
        if right.is_straight is False and wrong.is_straight:
            right, wrong = wrong, right
            self._retraces.reverse()
        finding = find_cause(self._calls, id_, right, wrong)
        if right.build != wrong.build:
            sentence = f"build {wrong.build} differs from build {right.build}: {finding.sentence}"
            finding = finding._replace(sentence=sentence)
        keys, differing = self._keys(right, wrong)
        self._note_repetition(right, wrong)
        block = self._calls.blocks.get(id_)
        return msgspec.structs.replace(
            explanation,
            cause=finding.cause,
            height=self._calls.height_of(id_),
            view=None if block is None else int(block.header["view"]),
            block=(self._calls.genesis if id_ == GENESIS else id_).hex(),
            leader=None if block is None else int(block.header["proposer"]),
            sides=[_side_report(side) for side in (right, wrong)],
            keys=keys,
            keys_differing=differing,
            orders=orders_of(right.outcome, wrong.outcome),
            write=finding.sentence,
            origin=finding.sentence,
            seen=[],
            chain=[*self._lines_of_block(id_), *self._lines_of_roads(id_, (right, wrong))],
            notes=[*explanation.notes, *self._notes],
        )

    def _note_repetition(self, *sides: Side) -> None:
        """Note what the repetitions showed, and which feature would tell more."""
        traced = [side.traced for side in sides if side.traced is not None]
        others = [each.other for each in traced if each.other]
        self._notes += [*others[:1], *(each.lost for each in traced if each.lost)]
        straight = [side.short for side in sides if side.is_straight]
        if all(side.is_straight is not None for side in sides):
            said = {0: "neither answer", 1: f"the answer of {straight[0] if straight else ''} alone", 2: "both answers"}
            self._notes.append(f"fresh processes that get the block and its ancestors alone give {said[len(straight)]}")
        nodes = [side.answer.node for side in sides]
        if len(straight) == 2 and min(nodes) >= 0 and nodes[0] != nodes[1] and not _has_other_input(sides):
            said_of = " and ".join(map(str, nodes))
            self._notes.append(f"only `hello` differs between these processes: it names replica {said_of}")
        features = self._features(sides[0].answer)
        if "entries" not in features:
            self._notes.append(_MORE.format("entries", "name the key that differs, and both values"))
        elif "describe" not in features:
            self._notes.append(_MORE.format("describe", "say in words what an entry means"))

    def _keys(self, right: Side, wrong: Side) -> tuple[list[KeyReport], int]:
        """Return the first differing keys, and the number of all."""
        traced = [side.traced for side in (right, wrong)]
        mine, other = (None if each is None else each.entries for each in traced)
        if mine is not None and mine == other and right.outcome.root != wrong.outcome.root:
            self._notes.append(
                "`entries` lists equal states for both roots: the root covers more, or is made otherwise"
            )
        if mine is None or other is None or traced[0] is None:
            return [], 0
        before = traced[0].parent or {}
        keys = sorted(key for key in {**mine, **other} if mine.get(key) != other.get(key))
        return [self._key(key, (before, mine, other)) for key in keys[:KEYS_MAX]], len(keys)

    def _key(self, key: bytes, states: tuple[Entries, Entries, Entries]) -> KeyReport:
        before, mine, other = (state.get(key) for state in states)
        said = [
            "" if value is None else on_one_line(retrace.describe(key, value))
            for retrace, value in zip((self._retraces[0], *self._retraces), (before, mine, other), strict=True)
        ]
        values = shown_pair(mine, other)
        return KeyReport(
            key=key.hex(),
            name=shown_bytes(key),
            timer="",
            before=ABSENT if before is None else shown_value(before),
            values=[ABSENT if value is None else value for value in values],
            says=said if any(said) else [],
        )

    def _lines_of_block(self, id_: bytes) -> Iterator[str]:
        """Yield the last block that agreed, and the transactions of the block."""
        block = self._calls.blocks.get(id_)
        if block is None:
            return
        parent = GENESIS if block.parent == self._calls.genesis else block.parent
        agreed = groups_of(self._calls.answers.get(parent, []))
        if len(agreed) == 1:
            yield (
                f"the last block that agreed: height {block.height - 1}, block {block.parent.hex()[:12]}, "
                f"{_root_of(agreed[0].outcome)}"
            )
        payload = [shown_bytes(each) for each in block.payload]
        yield f"both sides have {counted(len(payload), 'transactions')} in the block"
        yield from (f"  {line}" for line in cut_in_the_middle(payload, LISTED_MAX, "more transactions"))

    def _lines_of_roads(self, id_: bytes, sides: Sequence[Side]) -> Iterator[str]:
        """Yield what both sides had been asked before."""
        for side in sides:
            node = side.answer.node
            who = f"replica {node}" if node >= 0 else "the cold replay"
            yield f"{who} answered `{side.answer.call}`: {_root_of(side.outcome)}"
            road = [f"  before: {line}" for line in road_of(self._calls, id_, side.answer)] if node >= 0 else []
            yield from cut_in_the_middle(road[-LISTED_MAX:], LISTED_MAX, "more")


def changed_programs(files: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each file of the command that is no longer that of the run."""
    for name, digest in files.items():
        try:
            with open_plain(Path(name), _PROGRAM_BYTES_MAX) as opened:
                digest_now = sha256()
                for piece in iter(partial(opened.read, _PIECE_BYTES), b""):
                    digest_now.update(piece)
        except (OSError, ReportedError):
            yield f"the file {Path(name).name} of the command cannot be read any more"
            continue
        if digest_now.hexdigest() != digest:
            yield f"the file {Path(name).name} of the command has changed since the run"


def orders_of(right: ToldOutcome, wrong: ToldOutcome) -> list[OrderRow]:
    """Return the events of both sides around the first event that differs; none for equal events."""
    mine, other = ([shown_event(event) for event in each.events] for each in (right, wrong))
    if mine == other:
        return []
    length = max(len(mine), len(other))
    rows = [[each[place] if place < len(each) else "nothing" for each in (mine, other)] for place in range(length)]
    first = next(place for place, row in enumerate(rows) if row[0] != row[1])
    start = max(first - 2, 0)
    return [OrderRow(place=start + at, values=row) for at, row in enumerate(rows[start : start + LISTED_MAX])]


def _has_other_input(sides: Sequence[Side]) -> bool:
    return sides[0].launch != sides[1].launch or any(side.differs_by_call for side in sides)


def _side_report(side: Side) -> SideReport:
    says = f"invalid: {on_one_line(side.outcome.invalid)}" if side.outcome.invalid else ""
    return SideReport(who=side.who, validators=side.nodes, root=side.outcome.root.hex(), says=says)


def _root_of(outcome: ToldOutcome) -> str:
    if outcome.invalid:
        return f"invalid: {on_one_line(outcome.invalid)}"
    told = "" if outcome.receipts is None else f" with {counted(len(outcome.events), 'events')}"
    return f"root {outcome.root.hex()[:12]}{told}"


def _known(launches: Mapping[str, Launch]) -> dict[str, Launch]:
    """Return launches whose programs are there; raises LaunchError."""
    found: dict[str, Launch] = {}
    for build, each in launches.items():
        known = launch_words(list(each.command), each.folder, each.framing, each.call_timeout_ms)
        found[build] = replace(each, command=known.command)
    return found
