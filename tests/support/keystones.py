"""The runs of `make test`: others of the same kind are marked `soak`, and `make soak` makes them."""

from collections.abc import Collection, Iterable
from typing import Final

import pytest

KEYSTONES: Final = (
    *("all-roads", "aptos-boundaries", "auction-agents"),
    *("bids-come-back", "bit-rot", "broken-refund"),
    *("calm", "cancel-at-the-fire", "certified-split", "deep-reorg-hotstuff", "deferred-calls"),
    *("disk-full", "f-plus-one-equivocate", "flapping-leader", "hotstuff-refusals", "intro-page"),
    *("k-too-small", "lone-torn-nullify", "longest-chain-joiners", "lossy", "mailbox-mix", "mixed-trouble"),
    *("outage-storm", "random-partitions", "restart-storm", "resubmissions", "rolling-restart", "services"),
    *("short-penalty", "state-triggers", "swizzle-clog", "twins", "wiped-rejoin", "wrong-clocks"),
)
"""Scenarios with every policy, engine, workload, fault and replica mode, and each that a command of a page names."""


def rest_in_soak(cases: Iterable[object], kept: Collection[object] = KEYSTONES) -> list[object]:
    """Return the cases of a test, each a value or a tuple of values; all but the kept ones are marked for the soak."""
    marks = {True: (), False: (pytest.mark.soak,)}
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks[case in kept]) for case in cases]


def first_of(cases: Iterable[object]) -> list[object]:
    """Return the cases of a test; all but the first are marked for the soak."""
    listed = list(cases)
    return rest_in_soak(listed, listed[:1])


def third_of(cases: Iterable[object]) -> list[object]:
    """Return the cases of a test; two of three in turn are marked for the soak."""
    listed = list(cases)
    return rest_in_soak(listed, listed[::3])
