"""Repeats all requests with fresh processes in other surroundings: an application has one answer to each request.

Every step of a replica is repeated in order: processes begin and are killed where they were, directories are copied and
emptied. Hash seed, time zone and place of the directories differ. A kill may let a process come back at another block
than its predecessor of the run. From there on nothing can be compared.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from cluster.outside.frames import Framing
from cluster.outside.hosting.calls import NO_ANSWER, CallStep, encoded_answer, read_content
from cluster.outside.process import ApplicationLostError, ApplicationProcess, Launch

HASH_SEED: Final = 31_337
TIME_ZONE: Final = "Pacific/Chatham"
"""The hash seed and the time zone of these processes; a run has other values."""

SHOWN_MAX: Final = 200
"""Most characters of an answer in a sentence."""

_KEPT: Final = ("height", "id", "root")


class SecondAnswer(NamedTuple):
    """The first request of a replica with two different answers."""

    request: int
    call: str
    sentence: str


class RepeatedProcesses:
    """The repeated processes of one replica.

    Args:
        launches: By build, the way to start them.
        contents: Requests and answers by their places.
        folder: An empty folder for their directories.

    Attributes:
        processes: By number, the processes begun so far.
        answered: The answer to the last request in its recorded form; empty without one.
    """

    def __init__(self, launches: Mapping[str, Launch], contents: Sequence[bytes], folder: Path) -> None:
        self.answered = b""
        self._launches = launches
        self._contents = contents
        self._folder = folder
        self.processes: Final[dict[int, ApplicationProcess]] = {}
        self._places: dict[int, Path] = {}

    def kill(self) -> None:
        """Kill all processes."""
        for process in self.processes.values():
            process.kill()

    def do(self, step: CallStep) -> tuple[SecondAnswer | None, bool]:
        """Repeat a step; return the difference, and whether the next steps can be repeated too."""
        if step.what == "begin":
            place = self._places[step.process] = self._folder / step.names[0]
            place.mkdir(exist_ok=True)
            self.processes[step.process] = ApplicationProcess(self._launches[step.build], place)
        elif step.what == "kill":
            self.processes[step.process].kill()
        elif step.what == "call":
            return self._call(step)
        else:
            self._move(step.what, [self._folder / name for name in step.names])
        return None, True

    def _move(self, what: str, places: Sequence[Path]) -> None:
        if what == "copy":
            shutil.copytree(places[0], places[1], dirs_exist_ok=True)
        elif what == "name":
            places[0].rename(places[1])
        elif what in {"empty", "remove"}:
            shutil.rmtree(places[0], ignore_errors=True)
            if what == "empty":
                places[0].mkdir()

    def _call(self, step: CallStep) -> tuple[SecondAnswer | None, bool]:
        process, call, self.answered = self.processes[step.process], step.names[0], b""
        if step.answer == NO_ANSWER or not process.is_alive:
            # It was lost over this request, and the next process continues.
            process.kill()
            return None, True
        framing = process.launch.framing
        fields = read_content(framing, self._contents[step.request])
        if call == "hello":
            fields["directory"] = str(self._places[step.process])
        try:
            answer = process.call(call, fields)
        except ApplicationLostError as error:
            return SecondAnswer(
                error.request, call, self._sentence(step, error.request, f"none: {error.reason}")
            ), False
        expected = self._contents[step.answer]
        self.answered = found = encoded_answer(framing, answer)
        if found == expected:
            return None, True
        if call == "hello" and _without_kept(framing, found) == _without_kept(framing, expected):
            return None, False
        return SecondAnswer(process.requests, call, self._sentence(step, process.requests, _shown(found))), False

    def _sentence(self, step: CallStep, request: int, found: str) -> str:
        return (
            f"the application is not deterministic at request {request} of process {step.process}, `{step.names[0]}`: "
            f"it answered {_shown(self._contents[step.answer])}, and to the same request in another process {found}"
        )


class AskedAgain(RepeatedProcesses):
    """The processes of one replica, repeated with another hash seed and time zone.

    Attributes:
        at: The place of the last repeated step.
    """

    def __init__(self, launches: Mapping[str, Launch], contents: Sequence[bytes], folder: Path) -> None:
        super().__init__({build: elsewhere(each) for build, each in launches.items()}, contents, folder)
        self.at = 0

    def find(self, steps: Sequence[CallStep]) -> SecondAnswer | None:
        """Repeat all steps; return the first answer that differs.

        Raises:
            LaunchError: The application no longer starts.
        """
        try:
            for self.at, step in enumerate(steps):
                found, goes_on = self.do(step)
                if found is not None or not goes_on:
                    return found
            return None
        finally:
            self.kill()


def elsewhere(launch: Launch) -> Launch:
    """Return a launch with another hash seed and time zone."""
    return replace(launch, hash_seed=HASH_SEED, timezone=TIME_ZONE)


def _without_kept(framing: Framing, encoded: bytes) -> dict[str, Any]:
    return {name: value for name, value in read_content(framing, encoded).items() if name not in _KEPT}


def _shown(content: bytes) -> str:
    text = content.decode(errors="backslashreplace").strip()
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}... ({len(text):,} characters)"
