"""All requests of a run to its applications and their answers: each content once, in the order of each replica.

With it a run can be repeated without the application (`RecordedProcess`), and all requests can be repeated
(`cluster.outside.hosting.again`). A directory is named by its last part, because its path differs in each run.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from checker.record.errors import ReportedError
from cluster.outside.frames import Framing, Value
from cluster.outside.life import AskedProcess
from cluster.outside.process import ApplicationLostError, KeptOutput, Launch
from cluster.scenario.sections.application import MAIN

APPLICATION_CALLS: Final = "application_calls.msgpack"
"""The file of a record that holds the calls of its run."""

FORMAT: Final = 1
NO_ANSWER: Final = -1

PLANNING: Final = -1
"""The number of a run's plan among the replicas."""

BESIDE: Final = -2
"""The number of the processes that execute the final chain beside a run."""

LINE: Final = "line"
"""The step of a transaction from a file: its workload, and its bytes as a request."""


class CallStep(msgspec.Struct, frozen=True, array_like=True):
    """An action on the applications of a replica.

    Attributes:
        what: `begin` or `kill` of a process, a `call`, an action on directories (`empty`, `copy`, `remove`, `name`),
            or `LINE`.
        process: The process, numbered by replica from 0 on.
        names: For a call its name, for `begin` the directory and the build, for all other actions the directories.
        request: The place of the request's content, a frame without number and directory.
        answer: The place of the answer's content; `NO_ANSWER` if no readable answer came.
        reason: The reason for a missing answer.
    """

    what: str
    process: int = 0
    names: tuple[str, ...] = ()
    request: int = NO_ANSWER
    answer: int = NO_ANSWER
    reason: str = ""

    @property
    def build(self) -> str:
        """The build of a process that begins; older records name none."""
        return self.names[1] if len(self.names) > 1 else MAIN


class CallRecord(msgspec.Struct, frozen=True, array_like=True):
    """The calls of a run.

    Attributes:
        format: `FORMAT`.
        files: By the word of the command that names a file, the SHA-256 of the file.
        contents: Requests and answers, each once, as frames.
        steps: By replica, `PLANNING` or `BESIDE`, the actions.
        differing: By replica the request, the call and the sentence of the first answer that another process did not
            repeat; it is found once, since a repetition of the run has no application.
    """

    format: int
    files: dict[str, str]
    contents: list[bytes]
    steps: dict[int, list[CallStep]]
    differing: dict[int, tuple[int, str, str]] = {}

    def lines(self, workload: str) -> tuple[bytes, ...]:
        """Return the transactions of a workload that were read from a file."""
        steps = (step for step in self.steps.get(PLANNING, []) if step.what == LINE)
        return tuple(self.contents[step.request] for step in steps if step.names == (workload,))


class CallRecordError(ReportedError):
    """A file that is no record of calls."""


def read_calls(encoded: bytes, place: str) -> CallRecord:
    """Return the record in a file; raises CallRecordError."""
    try:
        record = msgspec.msgpack.decode(encoded, type=CallRecord)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise CallRecordError(f"{place}: is damaged: {error}") from None
    if record.format != FORMAT:
        raise CallRecordError(f"{place}: has format {record.format}, {FORMAT} was expected")
    indexes = range(NO_ANSWER, len(record.contents))
    for step in (step for steps in record.steps.values() for step in steps):
        if step.request not in indexes or step.answer not in indexes or (step.what == "call" and not step.names):
            raise CallRecordError(f"{place}: is damaged: a step names a content that is not there")
    return record


class CallLog:
    """The calls of a run in progress."""

    def __init__(self) -> None:
        self._contents: list[bytes] = []
        self._places: dict[bytes, int] = {}
        self._steps: dict[int, list[CallStep]] = {}
        self.files: dict[str, str] = {}
        self.differing: dict[int, tuple[int, str, str]] = {}
        self.calls = 0

    @property
    def contents(self) -> Sequence[bytes]:
        """Requests and answers so far, by their places."""
        return self._contents

    @property
    def steps(self) -> Mapping[int, Sequence[CallStep]]:
        """The steps so far, by replica, `PLANNING` or `BESIDE`."""
        return self._steps

    def steps_of(self, node: int) -> list[CallStep]:
        """Return the list of steps of a replica, to which more are added."""
        return self._steps.setdefault(node, [])

    def place_of(self, encoded: bytes) -> int:
        """Return the place of a content, which is kept once."""
        digest = sha256(encoded).digest()
        place = self._places.setdefault(digest, len(self._contents))
        if place == len(self._contents):
            self._contents.append(encoded)
        return place

    def encoded(self) -> bytes:
        """Return the encoded record of all calls so far."""
        return msgspec.msgpack.encode(CallRecord(FORMAT, self.files, self._contents, self._steps, self.differing))


class RecordingProcess:
    """A process whose calls are recorded.

    Args:
        process: The process.
        directory: Its directory.
        log: Takes the contents.
        node: The replica.
        build: The name of its build.

    Attributes:
        build: The name of its build.
        requests: Its requests so far.
        asked: The name of the last request.
    """

    def __init__(self, process: AskedProcess, directory: Path, log: CallLog, *, node: int, build: str) -> None:
        self._process = process
        self._log = log
        self._steps = log.steps_of(node)
        self._number = sum(step.what == "begin" for step in self._steps)
        self._is_over = False
        self.build: Final = build
        self.requests = 0
        self.asked = ""
        self._steps.append(CallStep("begin", self._number, (directory.name, build)))

    @property
    def launch(self) -> Launch:
        """The way in which it was started."""
        return self._process.launch

    @property
    def stderr(self) -> KeptOutput:
        """Its standard error so far."""
        return self._process.stderr

    def call(self, name: str, fields: Mapping[str, Value]) -> dict[str, object]:
        """Send a request, record it with its answer, and return the answer; raises ApplicationLostError."""
        framing = self.launch.framing
        request = self._log.place_of(encoded_request(framing, fields))
        self._log.calls += 1
        self.requests += 1
        self.asked = name
        try:
            answer = self._process.call(name, fields)
        except ApplicationLostError as error:
            self._steps.append(CallStep("call", self._number, (name,), request, reason=error.reason))
            raise
        place = self._log.place_of(encoded_answer(framing, answer))
        self._steps.append(CallStep("call", self._number, (name,), request, place))
        return answer

    def lose(self, name: str, reason: str) -> ApplicationLostError:
        """Kill it, and return the error with the reason why its last answer is unusable."""
        return self._process.lose(name, reason)

    def kill(self) -> None:
        """Kill it with its group."""
        if not self._is_over:
            self._is_over = True
            self._steps.append(CallStep("kill", self._number))
        self._process.kill()

    def close(self) -> None:
        """End its standard input, and give it time to end by itself."""
        self._process.close()


class RecordedProcess:
    """A process of an earlier run; its answers come from the record.

    Args:
        launch: The way in which it was started.
        calls: Its calls in their order.
        contents: The contents of the record.
    """

    def __init__(self, launch: Launch, calls: Iterator[CallStep], contents: list[bytes]) -> None:
        self.launch: Final = launch
        self.stderr: Final = KeptOutput()
        self._calls = calls
        self._contents = contents
        self._requests = 0

    def call(self, name: str, fields: Mapping[str, Value]) -> dict[str, object]:
        """Return the recorded answer to a request; raises ApplicationLostError if there was none."""
        self._requests += 1
        step = next(self._calls, None)
        asked = encoded_request(self.launch.framing, fields)
        if step is None or step.names != (name,) or self._contents[step.request] != asked:
            # Other code sends other requests: the run differs from its record here, and its events show this.
            raise self.lose(name, "the record has no answer to this request")
        if step.answer == NO_ANSWER:
            raise self.lose(name, step.reason)
        return read_content(self.launch.framing, self._contents[step.answer])

    def lose(self, name: str, reason: str) -> ApplicationLostError:
        """Return the error with the reason why its last answer is unusable."""
        return ApplicationLostError(self._requests, name, reason)

    def kill(self) -> None:
        """Do nothing: it is not alive."""

    close = kill


def encoded_request(framing: Framing, fields: Mapping[str, Value]) -> bytes:
    """Return a request in its recorded form: without the place of its directory, which differs in each run."""
    return framing.encode({name: value for name, value in fields.items() if name != "directory"})


def read_content(framing: Framing, encoded: bytes) -> dict[str, Any]:
    """Return the fields of a recorded request or answer, as they stand in a frame."""
    content = framing.take(bytearray(encoded))
    assert content is not None, "whole frames are kept"
    return content


def encoded_answer(framing: Framing, answer: Mapping[str, Any]) -> bytes:
    """Return an answer in its recorded form: without its number."""
    kept = {name: value for name, value in answer.items() if name != "n"}
    # Not by the framing in JSON: content that a strict frame would refuse has to come back unchanged.
    return json.dumps(kept).encode() + b"\n" if framing.name == "json" else framing.encode(kept)
