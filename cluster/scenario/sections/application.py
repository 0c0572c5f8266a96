"""`[application]` of a scenario: a foreign state machine, which every replica runs as a process."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from checker.record.plain_files import open_plain
from cluster.scenario.fields import EntryName, Section, means

OWN_MODULE: Final = "stampede_testbed.application"
"""The project's own execution engine as an application."""

CALL_TIMEOUT_MAX_MS: Final = 600_000
"""The longest time for an answer, by the wall clock."""

PROGRAM_BYTES_MAX: Final = 1 << 30
"""The longest file that a command may name."""

_PIECE_BYTES: Final = 1 << 20
"""Bytes of a program that are read at a time."""

INTEGER_LEAST: Final = -(2**63)
INTEGER_MOST: Final = 2**64 - 1
"""Bounds of the parameters' whole numbers, from msgpack, which encodes the input of the chain's first digest."""

DEPTH_MAX: Final = 32
"""The deepest nesting of tables and lists."""

FramingName: TypeAlias = Literal["json", "msgpack"]

MAIN: Final = "main"
"""The build that `[application]` itself names."""


class BuildSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A further build of the application: another version, or another implementation of the same rules."""

    command: Annotated[
        tuple[str, ...], means("Program and arguments, as of `[application]`; empty: `--build NAME=COMMAND` names it.")
    ] = ()
    framing: Annotated[FramingName | None, means("The form of its frames.", left_out="that of `[application]`")] = None
    folder: Annotated[str, means("The working directory, absolute; left out: the scenario's folder.")] = ""


class ReplicaBuild(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The build that a replica runs from the beginning; `replace` among the faults changes it."""

    build: Annotated[str, means("A name among `[application.builds]`.")] = MAIN
    command: Annotated[
        tuple[str, ...], means("A build of this replica's own, which is then named `replica-N`, in place of `build`.")
    ] = ()


class NamedBuild(NamedTuple):
    """A build of the application, with what it does not state itself."""

    name: str
    command: tuple[str, ...]
    framing: FramingName
    folder: str


class ApplicationSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The application that all replicas run, a process each; docs/application.md has its protocol.

    If the first word of ``command`` has a slash, it is relative to ``folder``; otherwise it is looked up in PATH. The
    command line names another application by ``--application``.
    """

    command: Annotated[
        tuple[str, ...], means("Program and arguments, never given to a shell; empty: `--application` names it.")
    ] = ()
    framing: Annotated[FramingName, means("The form of the frames.")] = "json"
    call_timeout_ms: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            le=CALL_TIMEOUT_MAX_MS,
            description="The time for an answer; it is outside the digest.",
            extra={"unit": "milliseconds of the wall clock"},
        ),
    ] = 10_000
    parameters: Annotated[
        dict[str, Any],
        msgspec.Meta(extra_json_schema={"title": "table of text, whole numbers, booleans, lists and tables"}),
        means("The application gets them as they are."),
    ] = msgspec.field(default_factory=dict)
    folder: Annotated[
        str, means("The working directory, absolute; left out: the scenario's folder, or with `--application` yours.")
    ] = ""
    builds: Annotated[
        dict[EntryName, BuildSection],
        means("Further builds by name, for `[validators.N.application]` and the fault `replace`."),
    ] = msgspec.field(default_factory=dict)

    @property
    def all_builds(self) -> tuple[NamedBuild, ...]:
        """All builds: the build that this section names, then the further builds in the order of the file."""
        own = NamedBuild(MAIN, self.command, self.framing, self.folder)
        return own, *(
            NamedBuild(name, each.command, each.framing or self.framing, each.folder or self.folder)
            for name, each in self.builds.items()
        )

    @property
    def is_own(self) -> bool:
        """Whether it is the project's own execution engine behind the protocol."""
        return ("-m", OWN_MODULE) in pairwise(self.command)

    def file_digests(self) -> dict[str, str]:
        """Return the SHA-256 of each file that a command names, by its path; files that it imports are unknown here.

        Raises UnsuitableFileError where a file is longer than a program can be.
        """
        found: dict[str, str] = {}
        paths = dict.fromkeys(Path(each.folder, word) for each in self.all_builds for word in each.command)
        for path in paths:
            # A program may be executable for all users and readable only for its owner.
            with suppress(PermissionError):
                if path.is_file():
                    with open_plain(path, PROGRAM_BYTES_MAX) as opened:
                        digest = sha256()
                        for piece in iter(partial(opened.read, _PIECE_BYTES), b""):
                            digest.update(piece)
                    found[str(path)] = digest.hexdigest()
        return found

    def wrong_parameters(self) -> Iterator[tuple[str, str]]:
        """Yield the key of each parameter that no frame can carry, and the reason."""
        yield from _wrong_values("parameters", self.parameters, DEPTH_MAX)


def _wrong_values(key: str, value: object, depth: int) -> Iterator[tuple[str, str]]:
    match value:
        case bool() | str():
            return
        case int():
            if not INTEGER_LEAST <= value <= INTEGER_MOST:
                yield key, f"is {value}; a whole number is from -2^63 to 2^64 - 1"
        case dict() | list() if depth == 0:
            yield key, f"is nested deeper than {DEPTH_MAX} tables and lists"
        case dict():
            for name, each in value.items():
                yield from _wrong_values(f"{key}.{name}", each, depth - 1)
        case list():
            for place, each in enumerate(value):
                yield from _wrong_values(f"{key}[{place}]", each, depth - 1)
        case _:
            kind = {float: "a number with a fraction", type(None): "nothing"}.get(type(value), "a date or time")
            yield key, f"is {kind}; a parameter is text, a whole number, a boolean, a list or a table"
