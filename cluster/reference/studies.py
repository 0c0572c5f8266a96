"""The reference of study files, read off their sections: keys, strategies of bidders, and figures."""

from collections.abc import Iterator
from typing import Final

import msgspec

from cluster.studies.bidders import STRATEGIES, BidderGroup
from cluster.studies.figures import ALL, CHAIN_FIGURES, GROUP_FIGURES
from cluster.studies.study import Axis, Bound, ChainOutage, Contrast, Drawing, Quick, Study
from faults.parameters import parameters_of

_HEAD: Final = """\
# Keys of a study file

Every key, strategy and figure of a study, read off the code. [studies.md](studies.md) says how to write one."""

_SECTIONS: Final[tuple[tuple[str, type[msgspec.Struct]], ...]] = (
    ("Top level", Study),
    ("`[bidders.NAME]`", BidderGroup),
    ("`[outage]`", ChainOutage),
    ("`[axes.NAME]`", Axis),
    ("`[[validity]]`", Bound),
    ("`[[findings]]`", Contrast),
    ("`[[plots]]`", Drawing),
    ("`[quick]`", Quick),
)


def page() -> Iterator[str]:
    """Yield the lines of the page `study-keys`."""
    yield from _HEAD.splitlines()
    for heading, section in _SECTIONS:
        yield from ("", f"## {heading}", "", " ".join((section.__doc__ or "").split()), "")
        yield from (key.markdown() for key in parameters_of(section))
    yield from ("", "## Strategies: `bids` of a group", "")
    yield from (f"- `{name}`: {sentence}." for name, sentence in STRATEGIES.items())
    yield from ("", "## Figures of the chain", "")
    yield from (
        "`FIGURE@A..B` counts only blocks A to B and timers due in them, such as `NAME.wait_mean@100..199`.",
        "",
    )
    yield from (f"- `{name}`: {sentence}." for name, sentence in CHAIN_FIGURES.items())
    yield from ("", f"## Figures of a group: `NAME.FIGURE`, or `{ALL}.FIGURE` for all timers", "")
    yield from (f"- `{name}`: {sentence}." for name, sentence in GROUP_FIGURES.items())
