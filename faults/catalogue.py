"""The fault catalogue: each kind with its parameters and their ranges, read from the structs and their docstrings.

As a program it prints docs/faults.md.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from faults.anchors.anchor import Anchor
from faults.anchors.catalogue import MOMENTS
from faults.kinds.base import Fault
from faults.kinds.registry import FAULTS
from faults.parameters import KindEntry, entry_of, parameters_of

SHARED: Final = ("enabled", "may_be_idle", "anchor")
"""Keys that every kind has."""


class FaultEntry(KindEntry, frozen=True, kw_only=True):
    """A kind of fault, with its family and the unit of its count."""

    family: str
    counts: str

    @property
    def heading(self) -> str:
        """The kind with its family."""
        return f"{self.kind} ({self.family})"


def catalogue(kinds: Sequence[type[Fault]] = FAULTS.built_in) -> tuple[FaultEntry, ...]:
    """Return the entries of kinds, in their order."""
    return tuple(
        FaultEntry(**msgspec.structs.asdict(entry_of(kind, SHARED)), family=kind.family, counts=kind.counts)
        for kind in kinds
    )


_HEADINGS: Final = {
    "network": "On links",
    "machine": "On machines",
    "disk": "On disks",
    "clock": "On clocks",
    "validator": "Byzantine validators",
}

_PAGE_HEAD: Final = """\
# Kinds of faults

Every kind of fault with its keys.
`python -m faults.catalogue > docs/faults.md` writes this page from the kinds themselves; do not edit it.
[faults-at-work.md](faults-at-work.md) has the rules for all kinds. [fault-catalogues.md](fault-catalogues.md) lists the
faults of other systems with their kinds here. [extend/fault.md](extend/fault.md) says how to write a kind.

Every kind also takes `enabled` (default true) and `may_be_idle` (default false). *Count* is the figure `fault_NAME` of
a run: with 0 the fault took no effect.

With `anchor` the times of a fault count from a moment of the run, not from the run's beginning ([anchors](#anchors)).
"""


_ANCHORS_HEAD: Final = """\
A fault of any kind may have an anchor:

```toml
anchor = { event = "view", of = 2, nth = 10, by_ms = 20_000 }
```

With this anchor all times of the fault count from the instant in which validator 2 enters its tenth view. The fault's
edge `anchor` in the trace is that instant. The run waits for the instant until `by_ms`. If it does not come, the fault
has no effect, and the run is inconclusive. Without `of` a moment of the chain counts once for each height, for the
first validator that finalizes the block.
"""


def page() -> Iterator[str]:
    """Yield the lines of docs/faults.md."""
    yield from _PAGE_HEAD.splitlines()
    family = ""
    for entry in catalogue():
        if entry.family != family:
            family = entry.family
            yield from ("", f"## {_HEADINGS[family]}")
        yield from ("", f"### `{entry.kind}`", "", f"{entry.summary} {entry.notes}".rstrip(), "")
        yield from (f"Count: {entry.counts}.", "")
        yield from (parameter.markdown() for parameter in entry.parameters)
    yield from _anchors()


def _anchors() -> Iterator[str]:
    """Yield the section about the key that every kind has in common."""
    yield from ("", "## Anchors", "", *_ANCHORS_HEAD.splitlines(), "")
    yield from (parameter.markdown() for parameter in parameters_of(Anchor))
    yield from ("", "The moments:", "")
    yield from (f"- `{name}`: {moment.clause('the validator')}." for name, moment in MOMENTS.items())


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in page()))
