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
from validators.consensus.registry import ENGINES

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


_CUT_OFF_HEAD: Final = """\
With `[consensus] blocks_peers_ms` a validator that gets what no honest validator sends takes nothing from the peer and
sends it nothing, for this time of its own clock (events `peer-blocked` and `peer-admitted`). Each validator judges what
it got itself, and a restart forgets it. `impersonator` shows it; `--set consensus.blocks_peers_ms=4000` gives any other
scenario the key. A peer is cut off for these reasons:

- evidence of any engine, two signed votes that exclude each other: their signer is cut off
- bytes that are no message; not a message of an unknown kind, which a later version may have
- bytes that are no block, a block with another body than its header's, a block with a wrong seal
"""

_CUT_OFF_TAIL: Final = """\

It is not cut off for what is `stale` or out of range, for too many requests, nor for transactions, snapshots and blocks
that are refused for their contents: another build, a wrong clock or a late answer leads to such refusals too. A
restarted validator finds its votes in its journal, and without the journal it never votes again, so that no honest
validator is cut off. One exception: bytes that `corrupt_ppm` changes on their way count against their sender, because
links are not authenticated.

Cut-offs cost liveness where messages are lost: the votes of a cut-off validator are missing, and each certificate needs
all the others. With one impersonator of four and cut-offs of 4 s, `python -m benchmarks.bench_blocked_peers` prints
these times from one final block to the next, without and with cut-offs (three seeds of 40 s):

| loss | {engines} |
|---|---|---|---|
| 0 % | 1.2 / 1.3 s | 1.1 / 1.2 s | 1.3 / 1.5 s |
| 5 % | 1.2 / 1.6 s | 1.3 / 3.1 s | 1.3 / 1.5 s |
| 20 % | 1.7 / 4.6 s | 4.3 / 9.2 s | 1.4 / 1.7 s |

With cut-offs of 20 s at a loss of 20 %, it is 5.7 s, 15 s and 2.0 s. Blocks went on becoming final in every run.
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
    yield from _cut_off()
    yield from _anchors()


def _cut_off() -> Iterator[str]:
    """Yield the section about peers that are cut off for a time."""
    yield from ("", "### Peers that are cut off", "", *_CUT_OFF_HEAD.splitlines())
    for name, kind in ENGINES.items():
        yield f"- `{name}`: {', '.join(f'`{reason}`' for reason in kind.faults)}"
    yield from _CUT_OFF_TAIL.format(engines=" | ".join(ENGINES)).splitlines()


def _anchors() -> Iterator[str]:
    """Yield the section about the key that every kind has in common."""
    yield from ("", "## Anchors", "", *_ANCHORS_HEAD.splitlines(), "")
    yield from (parameter.markdown() for parameter in parameters_of(Anchor))
    yield from ("", "The moments:", "")
    yield from (f"- `{name}`: {moment.clause('the validator')}." for name, moment in MOMENTS.items())


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in page()))
