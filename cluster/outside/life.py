"""One life of an application: a process that has said hello, and the directory that outlives it."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from cluster.outside.conversation import Conversation, Greeting
from cluster.outside.frames import Value
from cluster.outside.process import ApplicationProcess


class Exchange(NamedTuple):
    """A request and its answer, for who reads a failure."""

    call: str
    fields: Mapping[str, Value]
    answer: Mapping[str, object] | None


@dataclass(slots=True)
class ApplicationLife:
    """One process of the application; `greeting` is there once it has said hello."""

    process: ApplicationProcess
    directory: Path
    talk: Conversation = field(init=False)
    greeting: Greeting = field(init=False)
    last: Exchange | None = None

    def __post_init__(self) -> None:
        self.talk = Conversation(self._call, self.process.launch.framing, self.process.lose)

    def _call(self, name: str, fields: Mapping[str, Value]) -> dict[str, object]:
        self.last = Exchange(name, fields, None)
        answer = self.process.call(name, fields)
        self.last = Exchange(name, fields, answer)
        return answer


def empty_directory(directory: Path) -> None:
    """Leave a directory there with nothing in it."""
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
