"""A life of an application: a process that has said hello, and the directory that outlives it."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from checker.applications import FaultKind
from cluster.outside.conversation import Conversation, Greeting, KeptBlock
from cluster.outside.frames import Value
from cluster.outside.process import ApplicationLostError, ApplicationProcess, KeptOutput, Launch


class AskedProcess(Protocol):
    """A process that answers single requests: `ApplicationProcess`, or its record."""

    @property
    def launch(self) -> Launch:
        """The way in which it was started."""

    @property
    def stderr(self) -> KeptOutput:
        """Its standard error so far."""

    def call(self, name: str, fields: Mapping[str, Value]) -> dict[str, object]:
        """Send a request and return the whole answer; raises ApplicationLostError."""

    def lose(self, name: str, reason: str) -> ApplicationLostError:
        """Kill it, and return the error with the reason why its last answer is unusable."""

    def kill(self) -> None:
        """Kill it with its group."""

    def close(self) -> None:
        """End its standard input, and give it time to end by itself."""


class ApplicationHost:
    """The surroundings of an application's processes; this class starts them, and lets every call pass.

    A home also reports its actions on directories, so that they can be repeated elsewhere.
    """

    def begin(self, launch: Launch, directory: Path, _build: str) -> AskedProcess:
        """Start a process of a build in a directory; raises LaunchError."""
        return ApplicationProcess(launch, directory)

    def before_call(self, _asked: "Exchange") -> None:
        """Observe that a request is about to be written."""

    def after_call(self, _asked: "Exchange") -> None:
        """Observe that an answer has arrived."""

    def resume(self, _kept: KeptBlock | None, _height: int) -> None:
        """Observe the block at which a process begins, and the height of the last block of its replica's log."""

    def lose(self, error: ApplicationLostError, _fields: Mapping[str, Value]) -> BaseException:
        """Return the error to raise if an application is lost over a request."""
        return error

    def repeats(self, _id: bytes) -> bool:
        """Return whether a block is to be executed twice, so that the two answers can be compared."""
        return False

    def note_fault(self, _kind: FaultKind, _height: int, _sentence: str, _block: bytes = b"") -> None:
        """Observe a wrong answer after which the run goes on."""

    def note(self, _what: str, *_directories: Path) -> None:
        """Observe that a directory was made empty, copied to another, removed, or renamed to the other."""

    def forget(self, _digest: bytes, *, is_final: bool) -> None:
        """Observe that a transaction need not wait for a block any more, and whether a final block holds it."""


PLAIN_HOST: Final = ApplicationHost()
"""The machine itself, without an observer."""


class Exchange(NamedTuple):
    """A request and its answer, for the reader of a failure."""

    call: str
    fields: Mapping[str, Value]
    answer: Mapping[str, object] | None


@dataclass(slots=True)
class ApplicationLife:
    """A process of the application; `greeting` is set once it has said hello."""

    process: AskedProcess
    directory: Path
    host: ApplicationHost = PLAIN_HOST
    talk: Conversation = field(init=False)
    greeting: Greeting = field(init=False)
    last: Exchange | None = None

    def __post_init__(self) -> None:
        self.talk = Conversation(self._call, self.process.launch.framing, self._lose)

    def _call(self, name: str, fields: Mapping[str, Value]) -> dict[str, object]:
        asked = Exchange(name, fields, None)
        self.host.before_call(asked)
        self.last = asked
        try:
            answer = self.process.call(name, fields)
        except ApplicationLostError as error:
            raise self.host.lose(error, fields) from None
        self.last = Exchange(name, fields, answer)
        self.host.after_call(self.last)
        return answer

    def _lose(self, name: str, reason: str) -> BaseException:
        assert self.last is not None, "an answer is wrong after it has come"
        return self.host.lose(self.process.lose(name, reason), self.last.fields)


def empty_directory(directory: Path) -> None:
    """Leave an empty directory."""
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
