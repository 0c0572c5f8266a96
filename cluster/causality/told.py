"""The curve of a failure in words, as plain data, and as a table."""

import csv
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Final

from checker.record.places import OwnFile, write_own
from cluster.causality.asking import Mode, Point
from cluster.causality.continuations import FailedRun
from cluster.causality.intervals import wilson_ppm
from cluster.causality.rise import Rise
from network.words import counted

COLUMNS: Final = (
    *("mode", "turn", "virtual_us", "continuations", "same", "other", "passed", "low_ppm", "high_ppm"),
    "rise",
)
LOW: Final = "before"
HIGH: Final = "after"
"""The rise in its column: the row before it, and the row after it."""

CSV: Final = OwnFile(",".join(COLUMNS).encode(), "table of a curve")

BAR_CHARACTERS: Final = 24
OTHERS_SHOWN: Final = 4

TITLES: Final[Mapping[Mode, str]] = {
    "chance": "other chance from a turn on, the same faults",
    "chance and faults": "other chance from a turn on, and other faults after it",
}


def curve_lines(run: FailedRun, mode: Mode, rise: Rise, *, is_quiet: bool = False) -> Iterator[str]:
    """Yield the curve of one mode for a console, and what it says; if quiet, no rows of points."""
    yield f"{TITLES[mode]}:"
    if rise.is_unavoidable:
        yield from (f"  {sentence}; {run.answer}" for sentence in rise_sentences(run, rise))
        return
    if not is_quiet:
        yield from _rows(run, rise)
    yield from (f"  {sentence}" for sentence in rise_sentences(run, rise))
    others: dict[str, int] = {}
    for point in rise.points:
        for signature, count in point.others.items():
            others[signature] = others.get(signature, 0) + count
    for signature, count in sorted(others.items(), key=lambda item: -item[1])[:OTHERS_SHOWN]:
        yield f"  another failure in {counted(count, 'continuations')}: {signature}"


def _rows(run: FailedRun, rise: Rise) -> Iterator[str]:
    yield f"  {'turn':>9} {'virtual s':>10} {'fail alike':>10}  0 %{'100 %':>{BAR_CHARACTERS - 1}}  otherwise  passed"
    for point in rise.points:
        mark = ">" if point in (rise.low, rise.high) else " "
        yield f"{mark} {_columns(point)}" if point.turn <= run.turns else _end_line(run)


def _columns(point: Point) -> str:
    filled = BAR_CHARACTERS * point.same // point.runs
    bar = f"|{'#' * filled}{' ' * (BAR_CHARACTERS - filled)}|"
    alike = f"{point.same} of {point.runs}"
    rest = f"{sum(point.others.values()):>9}  {point.passed:>6}"
    return f"  {point.turn:>7,} {point.at_us / 1_000_000:>10.3f} {alike:>10}  {bar}  {rest}"


def _end_line(run: FailedRun) -> str:
    return f"    {run.turns + 1:>7,} {'the end':>10} {'the run':>10}  |{'#' * BAR_CHARACTERS}|"


def rise_sentences(run: FailedRun, rise: Rise) -> Iterator[str]:
    """Yield where the rise of one mode is and whether it decides, or that the failure is unavoidable."""
    if rise.is_unavoidable:
        first = rise.points[0]
        yield f"unavoidable from genesis: the same in {first.same} of {first.runs} continuations"
        return
    low, high = rise.low, rise.high
    assert low is not None, "a failure that chance moves has a rise"
    assert high is not None, "a failure that chance moves has a rise"
    at = f"turn {low.turn:,} ({low.at_us / 1_000_000:,.3f} s)"
    after = "in the run itself" if high.turn > run.turns else f"with other chance only after it, {_share(high)}"
    yield f"the rise is at {at}: with other chance in it, {_share(low)}; {after}"
    if rise.is_baked_in:
        before_s = (run.times_us[-1] - low.at_us) / 1_000_000
        yield f"after that turn the failure is decided, {before_s:,.3f} s before the end of the run"


def point_words(run: FailedRun, point: Point) -> str:
    """Return what the continuations from a turn on came to."""
    if point.turn > run.turns:
        return f"the end, {point.at_us / 1_000_000:,.3f} s: the run itself, which no later draw changes"
    alike = f"{point.same} of {point.runs} continuations from turn {point.turn:,} ({point.at_us / 1_000_000:,.3f} s) on"
    low, high = (bound // 10_000 for bound in wilson_ppm(point.same, point.runs))
    others = sum(point.others.values())
    return f"{alike} fail alike ({low} to {high} %), {others} otherwise, {point.passed} pass"


def _share(point: Point) -> str:
    low, high = (bound // 10_000 for bound in wilson_ppm(point.same, point.runs))
    return f"{point.same} of {point.runs} fail alike ({low} to {high} %)"


def curve_as_json(run: FailedRun, rise: Rise) -> dict[str, object]:
    """Return the curve of one mode as plain data."""
    return {
        "unavoidable": rise.is_unavoidable,
        "baked_in": rise.is_baked_in,
        "rise": None if rise.low is None or rise.high is None else [rise.low.turn, rise.high.turn],
        "points": [_point_as_json(point) for point in rise.points if point.turn <= run.turns],
    }


def _point_as_json(point: Point) -> dict[str, object]:
    low_ppm, high_ppm = wilson_ppm(point.same, point.runs)
    return {
        "turn": point.turn,
        "virtual_us": point.at_us,
        "continuations": point.runs,
        "same": point.same,
        "others": point.others,
        "passed": point.passed,
        "low_ppm": low_ppm,
        "high_ppm": high_ppm,
    }


def write_csv(path: Path, run: FailedRun, curves: Mapping[Mode, Rise]) -> None:
    """Write a row for each turn and mode, in the place of another curve or of no file; raises ForeignFileError."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for mode, rise in curves.items():
        for point in rise.points:
            if point.turn <= run.turns:
                counts = (point.runs, point.same, sum(point.others.values()), point.passed)
                place = LOW if point is rise.low else HIGH if point is rise.high else ""
                writer.writerow((mode, point.turn, point.at_us, *counts, *wilson_ppm(point.same, point.runs), place))
    write_own(path, text.getvalue().encode(), CSV)
