"""One picture of a run: timers waiting and fired over virtual time, and the faults as bands behind them.

A self-contained SVG of bounded size: above ``COLUMNS_MAX`` blocks, neighbours share a column and the
picture says so. Everything in it comes from finalized blocks and fault edges; times are virtual.
"""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Final, NamedTuple

WIDTH: Final = 960
HEIGHT: Final = 360
LEFT: Final = 70
RIGHT: Final = 20
TOP: Final = 56
BOTTOM: Final = 44
COLUMNS_MAX: Final = 600

_BAND_COLOURS: Final = ("#e0a100", "#c0392b", "#7d5fb2", "#2e86c1", "#5d6d7e")

_STYLE: Final = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-size:15px;font-weight:600}"
    ".dead{fill:#b03a2e}.fired{fill:#1e8449}.axis{stroke:#888;fill:none}"
    "@media(prefers-color-scheme:dark){svg{background:#16191d}text{fill:#ddd}}"
)


class BlockPoint(NamedTuple):
    """One finalized block: its header's time, timers left waiting after it, timers fired and removed in it."""

    timestamp_ms: int
    waiting: int
    fired: int
    removed: int


class FaultBand(NamedTuple):
    """When a fault was at work, in virtual milliseconds."""

    name: str
    start_ms: int
    stop_ms: int


def draw_run(title: str, points: Sequence[BlockPoint], bands: Sequence[FaultBand]) -> str:
    """Return the picture as SVG text."""
    end_ms = max([point.timestamp_ms for point in points] + [band.stop_ms for band in bands] + [1])
    shown = _thin(points)
    note = f" ({len(points):,} blocks in {len(shown):,} columns)" if len(shown) < len(points) else ""
    body = [
        f'<text class="title" x="{LEFT}" y="22">{escape(title)}{note}</text>',
        *_draw_bands(bands, end_ms),
        *_draw_columns(shown, end_ms),
        *_draw_axes(shown, end_ms),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(_describe(title, points, bands))}"><style>{_STYLE}</style>{"".join(body)}</svg>\n'
    )


def _thin(points: Sequence[BlockPoint]) -> list[BlockPoint]:
    share = -(-len(points) // COLUMNS_MAX) or 1
    groups = [points[first : first + share] for first in range(0, len(points), share)]
    return [
        BlockPoint(
            group[0].timestamp_ms,
            max(point.waiting for point in group),
            sum(point.fired for point in group),
            sum(point.removed for point in group),
        )
        for group in groups
    ]


def _x(time_ms: int, end_ms: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * time_ms / end_ms


def _draw_bands(bands: Sequence[FaultBand], end_ms: int) -> Iterable[str]:
    for index, band in enumerate(bands):
        left, right = _x(band.start_ms, end_ms), _x(band.stop_ms, end_ms)
        colour = _BAND_COLOURS[index % len(_BAND_COLOURS)]
        width = max(1.0, right - left)
        yield (
            f'<rect x="{left:.1f}" y="{TOP}" width="{width:.1f}" height="{HEIGHT - TOP - BOTTOM}" '
            f'fill="{colour}" opacity=".18"/>'
            f'<text x="{left + 3:.1f}" y="{TOP - 6 - 13 * (index % 2)}">{escape(band.name)}</text>'
        )


def _draw_columns(points: Sequence[BlockPoint], end_ms: int) -> Iterable[str]:
    floor, room = HEIGHT - BOTTOM, HEIGHT - TOP - BOTTOM
    waiting_max = max([point.waiting for point in points] + [1])
    fired_max = max([point.fired for point in points] + [1])
    gaps_ms = [after.timestamp_ms - before.timestamp_ms for before, after in pairwise(points)]
    width = max(1.0, min(8.0, 0.85 * (WIDTH - LEFT - RIGHT) * min(gaps_ms, default=end_ms) / end_ms))
    for point in points:
        left = _x(point.timestamp_ms, end_ms)
        dead = room * point.waiting / waiting_max
        fired = room * point.fired / fired_max / 12
        label = f"{point.waiting:,} waiting, {point.fired:,} fired, {point.removed:,} removed dead"
        yield (
            f"<g><title>{point.timestamp_ms / 1000:g} s: {label}</title>"
            f'<rect class="dead" x="{left:.1f}" y="{floor - dead:.1f}" width="{width:.1f}" height="{dead:.1f}"/>'
            f'<rect class="fired" x="{left:.1f}" y="{floor - fired:.1f}" width="{width:.1f}" height="{fired:.1f}"/></g>'
        )


def _draw_axes(points: Sequence[BlockPoint], end_ms: int) -> Iterable[str]:
    floor = HEIGHT - BOTTOM
    waiting_max = max([point.waiting for point in points] + [0])
    yield f'<path class="axis" d="M{LEFT} {TOP}V{floor}H{WIDTH - RIGHT}"/>'
    yield f'<text x="{LEFT - 6}" y="{TOP + 10}" text-anchor="end">{waiting_max:,}</text>'
    yield f'<text x="{LEFT - 6}" y="{floor}" text-anchor="end">0</text>'
    for tenth in range(11):
        at_ms = end_ms * tenth // 10
        yield f'<text x="{_x(at_ms, end_ms):.1f}" y="{floor + 16}" text-anchor="middle">{at_ms // 1000} s</text>'
    legend = "red: due timers waiting after each block; green: timers fired in it (own scale); bands: faults"
    yield f'<text x="{LEFT}" y="{HEIGHT - 8}">{legend}</text>'


def _describe(title: str, points: Sequence[BlockPoint], bands: Sequence[FaultBand]) -> str:
    peak = max([point.waiting for point in points] + [0])
    fired, removed = sum(point.fired for point in points), sum(point.removed for point in points)
    names = ", ".join(band.name for band in bands) or "none"
    figures = f"{len(points)} blocks, at most {peak} timers waiting, {fired} fired, {removed} removed"
    return f"{title}: {figures}; faults: {names}"
