"""The runs of the ten bugs that a draw sets off, and of the ten that no draw can avoid."""

import sys
from typing import Final, Literal, NamedTuple, TypeAlias

from checker.mutants import MUTANTS
from checker.record.root import PROJECT_ROOT
from cluster.scenario.load import load_scenario
from cluster.scenario.model import Scenario

PLUGIN: Final = PROJECT_ROOT / "tests" / "causality" / "plugin"

BASE: Final = "calm"
"""The scenario that all of them change."""

HOLDER: Final = 2
"""The validator that has the bug."""


Cause: TypeAlias = Literal["dropped", "delivered", "late", "crashed", "entered"]
"""The event that decides: a block to the holder is dropped; the message that the holder got last was sent; the message
that the holder lacked was sent, one of several if any would do; the holder crashed; the message was sent after which a
validator entered the view."""


class Case(NamedTuple):
    """A bug with the settings that make its trigger rare, and a seed in which it fails.

    `labels` are the messages that the cause is about.
    """

    name: str
    settings: tuple[str, ...]
    seed: int
    cause: Cause
    labels: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """The settings of the base scenario, all together."""
        own = ('plugins=["stampede-triggers"]', f"mutants={{{self.name}=[{HOLDER}]}}", "run.until_height=30")
        return (*own, *self.settings)

    def scenario(self) -> Scenario:
        """Return the scenario of the case; the plug-in of the bugs has to be on the path."""
        sys.path[:0] = [] if str(PLUGIN) in sys.path else [str(PLUGIN)]
        return load_scenario(BASE, self.options)


def _links(**keys: object) -> str:
    written = ", ".join(f"{key}={value}" for key, value in keys.items())
    return f'faults={{worse={{kind="links", start_ms=1_000, stop_ms=30_000, may_be_idle=true, {written}}}}}'


STORM: Final = (
    'faults={storm={kind="restart-storm", validators=[2], start_ms=2_000, stop_ms=28_000, every_ms=[900, 3_000],'
    ' down_ms=[100, 400]}, torn={kind="torn-writes", validators=[2], start_ms=1_000, stop_ms=31_000,'
    ' may_be_idle=true}, slow={kind="slow-disk", validator=2, factor=4, start_ms=1_000, stop_ms=31_000}}'
)

STEP: Final = (
    'faults={step={kind="clock-offset", validators=[0], start_ms=14_000, stop_ms=15_086, offset_ms=2_000,'
    " may_be_idle=true}}"
)

TRIGGERED: Final = (
    Case("block-was-missing", (_links(loss_ppm=20_000, channels='["blocks"]'),), 0, "dropped", ("BlockRelay",)),
    Case("proposal-was-late", (_links(latency_ms=1_150, jitter_ms=290),), 0, "late", ("Notarize",)),
    Case("certificate-was-late", (_links(latency_ms=1_000, jitter_ms=250),), 1, "late", ("Notarize", "Notarization")),
    Case("tail-was-torn", (STORM,), 0, "crashed"),
    Case("vote-had-no-certificate", (STORM,), 0, "crashed"),
    Case(
        "tips-were-equal",
        ("consensus.engine=longest-chain", _links(latency_ms=470, jitter_ms=220)),
        5,
        "delivered",
        ("BlockRelay", "BlockResponse", "Announcement"),
    ),
    Case("message-was-damaged", (_links(corrupt_ppm=8_000),), 1, "delivered"),
    Case("message-came-twice", (_links(duplicate_ppm=1_500),), 0, "delivered"),
    Case("finalize-overtook", ("network.jitter_ms=9",), 3, "delivered", ("Finalize",)),
    Case("block-was-ahead", (STEP,), 0, "entered"),
)
"""The bugs that a draw sets off: a lost message, a late one, a crash at a boundary, a clock, two equal tips."""


ALWAYS: Final = (
    *("tie-break-by-identifier", "refund-rounded-down", "tip-burned", "created-keys-as-written"),
    *("inactive-peak-forgotten", "leader-for-two-views", "certificate-below-quorum", "acts-before-the-sync"),
    *("log-entry-cut", "offers-not-all"),
)
"""Teaching mutants that fail `calm` in every seed, whatever is drawn."""


def always(name: str) -> tuple[str, ...]:
    """Return the settings of the base scenario in which a mutant fails whatever is drawn."""
    holders = list(range(4)) if MUTANTS[name].on_all else [HOLDER]
    return (f"mutants={{{name}={holders}}}", "run.until_height=12")
