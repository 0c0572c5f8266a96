"""The calls of a side repeated in fresh processes up to its answer, and the entries of the state there.

`Retrace.up_to` repeats all steps of a replica. `Retrace.straight` takes the straight road: a fresh process executes the
ancestors of the block, each final at once, and then the block. An application that comes to another answer by the
straight road has kept something of what the replica had asked before.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cluster.outside.conversation import Conversation
from cluster.outside.explain.answers import GENESIS, GivenAnswer, ReadCalls, ToldOutcome, header_in_bytes
from cluster.outside.frames import FrameError
from cluster.outside.hosting.again import RepeatedProcesses
from cluster.outside.hosting.calls import CallStep, encoded_answer
from cluster.outside.process import ApplicationLostError, ApplicationProcess, Launch

PAGE: Final = 1_000
"""Entries that are asked for at a time."""

ENTRIES_MAX: Final = 100_000
"""Most entries of a state that are compared."""

Entries = dict[bytes, bytes]


class OutOfTimeError(Exception):
    """The time for an explanation is over."""


@dataclass(slots=True)
class Deadline:
    """The end of the time for an explanation, by the wall clock: foreign processes may be slow."""

    seconds: float
    _begun: float = field(default_factory=time.monotonic)  # noqa: TID251 - the time of foreign processes

    def check(self) -> None:
        """Raise OutOfTimeError once the time is over."""
        if time.monotonic() - self._begun > self.seconds:  # noqa: TID251 - the time of foreign processes
            raise OutOfTimeError


@dataclass(slots=True)
class Traced:
    """The state of a fresh process at a side's answer.

    Attributes:
        outcome: Its own answer; None if none came.
        other: The sentence of its first answer that differs from the recorded answer; on the straight road its loss.
        parent: The entries of the block's parent before the request; None if they are unknown.
        later: The entries of the parent after the request.
        entries: The entries of the block.
        changed: The step that changed the entries of the parent before the request.
        lost: The reason why entries are missing.
    """

    outcome: ToldOutcome | None = None
    other: str = ""
    parent: Entries | None = None
    later: Entries | None = None
    entries: Entries | None = None
    changed: CallStep | None = None
    lost: str = ""


class Retrace:
    """Fresh processes for a side.

    Args:
        calls: The calls of the run.
        launches: By build, the way to start the application.
        folder: An empty folder for directories.
        deadline: The end of the time.
        features: The features of the application.
    """

    def __init__(
        self,
        calls: ReadCalls,
        launches: Mapping[str, Launch],
        folder: Path,
        *,
        deadline: Deadline,
        features: tuple[str, ...],
    ) -> None:
        self._calls = calls
        self._launches = launches
        self._folder = folder
        self._deadline = deadline
        self._features = features
        self._made = 0
        self._processes: list[ApplicationProcess] = []
        self._repeated: list[RepeatedProcesses] = []

    def kill(self) -> None:
        """Kill all processes."""
        for process in self._processes:
            process.kill()
        for repeated in self._repeated:
            repeated.kill()

    def describe(self, key: bytes, value: bytes) -> str:
        """Return what the application says of an entry; empty without the feature or an answer."""
        alive = next((process for process in reversed(self._processes) if process.is_alive), None)
        if "describe" not in self._features or alive is None:
            return ""
        with suppress(ApplicationLostError):
            return self._talk(alive).describe(key, value)
        return ""

    def up_to(self, id_: bytes, answer: GivenAnswer) -> Traced:
        """Repeat all steps of a replica up to its answer about a block; raises LaunchError, OutOfTimeError."""
        repeated = RepeatedProcesses(self._launches, self._calls.contents, self._place())
        self._repeated.append(repeated)
        steps, traced = self._calls.steps[answer.node], Traced()
        number = steps[answer.at].process
        parent = self._calls.blocks[id_].parent if id_ in self._calls.blocks else b""
        since = self._made_known(parent, answer)
        first: Entries | None = None
        for at, step in enumerate(steps[: answer.adopted + 1]):
            self._deadline.check()
            if at == answer.at:
                traced.parent = self._entries(repeated.processes.get(number), parent, traced)
            found, goes_on = repeated.do(step)
            if found is not None and not repeated.answered:
                traced.lost = found.sentence
                return traced
            if found is not None and not traced.other:
                traced.other = found.sentence
            elif found is None and not goes_on:
                traced.lost = "a killed process came back at another block than in the run, so its calls do not repeat"
                return traced
            if at == answer.at and repeated.answered:
                with suppress(FrameError):
                    framing = repeated.processes[number].launch.framing
                    traced.outcome = self._calls.outcome_in(answer.call, repeated.answered, framing)
            elif since is not None and since <= at < answer.at and step.process == number and step.what == "call":
                now = self._entries(repeated.processes[number], parent, traced)
                first = now if first is None else first
                if now != first and traced.changed is None:
                    traced.changed = step
        process = repeated.processes[number]
        self._processes.append(process)
        self._finish(process, (id_, parent), answer, traced)
        return traced

    def straight(self, id_: bytes, answer: GivenAnswer) -> Traced | None:
        """Execute the ancestors of a block and the block in a fresh process; None if a part of them is unknown."""
        calls, path = self._calls, self._calls.path_to(id_)
        parent = path[-1].parent if path else b""
        genesis = next((step for step in calls.steps[answer.node] if step.names == ("genesis",)), None)
        hello = next((step for step in calls.steps[answer.node] if step.names == ("hello",)), None)
        if genesis is None or hello is None or (id_ != GENESIS and (not path or path[0].parent != calls.genesis)):
            return None
        place, traced = self._place(), Traced()
        process = ApplicationProcess(self._launches[calls.build_of(answer)], place)
        self._processes.append(process)
        try:
            process.call("hello", {**calls.request(hello), "directory": str(place)})
            made = process.call("genesis", calls.request(genesis))
            if id_ == GENESIS:
                traced.outcome = self._outcome("genesis", made, process)
            self._adopt_genesis(process)
            for block in path[:-1]:
                self._deadline.check()
                process.call("execute", block._asdict())
                process.call("finalize", {"id": block.id})
            traced.parent = self._entries(process, parent, traced)
            if path:
                traced.outcome = self._ask(process, id_, answer)
        except ApplicationLostError as error:
            traced.other = str(error)
            return traced
        self._finish(process, (id_, parent), answer, traced)
        return traced

    def _ask(self, process: ApplicationProcess, id_: bytes, answer: GivenAnswer) -> ToldOutcome | None:
        """Have a block proposed again, if the answer proposed it, or executed."""
        calls = self._calls
        if answer.call != "propose":
            return self._outcome("execute", process.call("execute", calls.blocks[id_]._asdict()), process)
        steps = calls.steps[answer.node]
        made = process.call("propose", calls.request(steps[answer.at]))
        process.call("adopted", calls.request(steps[answer.adopted]))
        return self._outcome("propose", made, process)

    def _finish(
        self, process: ApplicationProcess, ids: tuple[bytes, bytes], answer: GivenAnswer, traced: Traced
    ) -> None:
        """Ask for the entries of a block and of its parent, after the answer."""
        id_, parent = ids
        if id_ == GENESIS:
            if answer.adopted == answer.at:
                with suppress(ApplicationLostError):
                    self._adopt_genesis(process)
            id_ = self._calls.genesis
        if traced.outcome is None or traced.outcome.invalid:
            return
        traced.entries = self._entries(process, id_, traced)
        if parent and "forks" in self._features and answer.call in {"execute", "propose"}:
            traced.later = self._entries(process, parent, traced)

    def _adopt_genesis(self, process: ApplicationProcess) -> None:
        """Tell the id of genesis, as a process of the run was told it."""
        steps = (step for steps in self._calls.steps.values() for step in steps if step.names == ("adopted",))
        told = next(
            (step for step in steps if self._calls.id_in(self._calls.request(step)) == self._calls.genesis), None
        )
        if told is not None:
            header = header_in_bytes(self._calls.request(told)["header"])
            process.call("adopted", {"id": self._calls.genesis, "header": header})

    def _made_known(self, parent: bytes, answer: GivenAnswer) -> int | None:
        """Return the last step before an answer that made the parent known to its process."""
        steps = self._calls.steps[answer.node]
        for at in range(answer.at - 1, -1, -1):
            step = steps[at]
            if step.what != "call" or step.process != steps[answer.at].process:
                continue
            if step.names[0] in {"execute", "adopted"} and self._calls.id_in(self._calls.request(step)) == parent:
                return at
        return None

    def _entries(self, process: ApplicationProcess | None, id_: bytes, traced: Traced) -> Entries | None:
        """Return the entries of the state after a block, up to a limit; None without the feature or an answer."""
        if "entries" not in self._features or not id_ or process is None or not process.is_alive:
            return None
        talk, found = self._talk(process), Entries()
        try:
            while page := talk.entries(id_, next(reversed(found), b""), PAGE):
                self._deadline.check()
                found.update(page)
                if len(found) >= ENTRIES_MAX or not page[-1][0]:
                    break
        except ApplicationLostError as error:
            traced.lost = f"the application gives no entries: {error}"
            return None
        return found

    def _outcome(self, call: str, made: Mapping[str, Any], process: ApplicationProcess) -> ToldOutcome | None:
        framing = process.launch.framing
        with suppress(FrameError):
            return self._calls.outcome_in(call, encoded_answer(framing, made), framing)
        return None

    def _talk(self, process: ApplicationProcess) -> Conversation:
        return Conversation(process.call, process.launch.framing, process.lose)

    def _place(self) -> Path:
        self._made += 1
        place = self._folder / f"{self._made}"
        place.mkdir(parents=True)
        return place
