"""The rows of a study's page, tables and files."""

import math
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

FINEST_PLACES: Final = 6
"""The most decimal places of a figure; a finer figure has significant digits instead."""

GREATEST_IN_FULL: Final = 1e12
"""Figures below this one have all their digits before the point."""


class SpreadRow(NamedTuple):
    """The mean of a figure over seeds, and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


class ArmRow(NamedTuple):
    """An arm: its value on each axis, its number of seeds, and a spread for each figure that has a value."""

    values: Sequence[str]
    seeds: int
    spreads: Sequence[SpreadRow | None]


class Series(NamedTuple):
    """A line of a plot: a spread for each place on the horizontal axis, or nothing."""

    name: str
    spreads: Sequence[SpreadRow | None]


class Plot(NamedTuple):
    """A figure against the values of an axis; `x` holds the labels of these values."""

    title: str
    x_name: str
    x: Sequence[str]
    series: Sequence[Series]


class FindingRow(NamedTuple):
    """A finding as a sentence, and whether the intervals support it."""

    sentence: str
    status: Literal["holds", "does not hold", "unclear"]


class StudyRows(NamedTuple):
    """A study: the question and its place in the documents, the answer, and the figures behind it.

    `verdict` is a verdict as of a run, for example `passed` or `inconclusive`. A row of `validity` is a figure, the
    bound that the study demands, and the value that the study found.
    """

    name: str
    title: str
    question: str
    place: str
    verdict: str
    headline: str
    sentences: Sequence[str]
    limits: Sequence[str]
    facts: Sequence[tuple[str, str]]
    axes: Sequence[str]
    figures: Sequence[str]
    arms: Sequence[ArmRow]
    findings: Sequence[FindingRow]
    validity: Sequence[tuple[str, str, str]]
    plots: Sequence[Plot]


def describe_spread(spread: SpreadRow | None) -> str:
    """Return mean and interval as text, to two digits of the interval's width."""
    if spread is None:
        return "no value"
    width = spread.high - spread.low
    return f"{_number(spread.mean, width)} [{_number(spread.low, width)}, {_number(spread.high, width)}]"


def _number(value: float, width: float) -> str:
    """Return a figure as text, with the decimal places that an interval of this width deserves."""
    if not width and float(value).is_integer() and abs(value) < GREATEST_IN_FULL:
        return f"{value:,.0f}"
    if not math.isfinite(width) or abs(value) >= GREATEST_IN_FULL:
        return f"{value:.4g}"
    # An interval without width leaves four digits of the figure.
    (_, _, exponent) = f"{width or abs(value) / 100:.1e}".partition("e")
    places = max(0, 1 - int(exponent))
    if places > FINEST_PLACES:
        return f"{value:.4g}"
    return f"{value:,.{places}f}"
