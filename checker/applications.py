"""Outside applications as the checks know them: the parts of a run with an application, its facts, and its faults."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

Need: TypeAlias = Literal["trace", "events", "receipts", "tables"]
"""Parts of a run that a check may read.

- `trace`: the log of events, blocks, roots, disks; any run has them.
- `events`: the timer events that an outside application reports.
- `receipts`: the receipts of this project's own chain.
- `tables`: its state, changes and summaries, and the state that replicas keep in memory.
"""

_AN_APPLICATION: Final = "of this project's own chain, which an application does not have"

NOT_OFFERED: Final[Mapping[Need, str]] = {
    "trace": "it needs the trace, which the run does not have",
    "events": "it is about outside applications",
    "receipts": f"it needs the receipts {_AN_APPLICATION}",
    "tables": f"it needs the tables {_AN_APPLICATION}",
}
"""Why a run that does not offer a part leaves out the checks that need it."""

FaultKind: TypeAlias = Literal["answers-twice", "not-deterministic", "kept-block", "crashes-on-block", "refuses-block"]
"""Kinds of wrong answers of an application, beside wrong roots; to refuse a block is wrong where others execute it."""


class ApplicationFault(NamedTuple):
    """A wrong act of an outside application, beside wrong roots and timers.

    Attributes:
        kind: Its answer to a repeated request differed, in this or a fresh process; it restarted at a final block that
            it may not have; it crashed twice at the same call and block; it refused a block.
        node: The replica.
        request: The number of the request in that replica's sequence.
        call: The call.
        height: The height of the block that the call was about, -1 where it was about none.
        sentence: One line that names what was expected and found.
        block: The digest of a refused block.
        build: The build that refused it.
    """

    kind: FaultKind
    node: int
    request: int
    call: str
    height: int
    sentence: str
    block: bytes = b""
    build: str = ""


class ApplicationFacts(NamedTuple):
    """An outside application as its greeting describes it.

    Attributes:
        name: Its name.
        version: Its version.
        order: The order in which its timers fire, as stated; `fifo` or empty.
        dead_per_block: The most dead timers that it removes in a block, None where it states no rate.
        live_per_block: The most timers that it fires in a block, likewise.
        features: The features that it offers.
        told_at_genesis: The events that it told for genesis.
    """

    name: str = ""
    version: str = ""
    order: str = ""
    dead_per_block: int | None = None
    live_per_block: int | None = None
    features: tuple[str, ...] = ()
    told_at_genesis: Sequence[Mapping[str, object]] = ()


class Builds(NamedTuple):
    """The builds of an outside application in a plan.

    Attributes:
        named: By build its name, its version and the build; empty if the plan has a single build.
        at_first: By replica, the build that it runs from the beginning.
        differ_from: By build, the height from which it may differ from builds with a lower one; 0 is never.
    """

    named: Mapping[str, str] = MappingProxyType({})
    at_first: tuple[str, ...] = ()
    differ_from: Mapping[str, int] = MappingProxyType({})

    def is_outdated(self, build: str, height: int) -> bool:
        """Return whether a newer build may differ from this one at a height."""
        limit = self.outdated_from(build)
        return limit is not None and height >= limit

    def outdated_from(self, build: str) -> int | None:
        """Return the height from which a newer build may differ from this one, None if none does."""
        own = self.differ_from.get(build, 0)
        return min((height for height in self.differ_from.values() if height > own), default=None)

    @property
    def newest(self) -> str:
        """The build whose rules hold at the end of the plan; the first one where all builds have the same rules."""
        return max(self.differ_from, key=lambda build: self.differ_from[build], default="")


ONE_BUILD: Final = Builds()
