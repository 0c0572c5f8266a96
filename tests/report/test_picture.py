"""The picture of a run: well-formed, bounded, and true to its figures."""

import xml.etree.ElementTree as ET

from report.picture import COLUMNS_MAX, BlockPoint, FaultBand, draw_run

SVG = "{http://www.w3.org/2000/svg}"


def parse(points, bands=(), title="outage-storm"):
    return ET.fromstring(draw_run(title, points, bands))


def test_every_block_is_a_column_with_its_figures():
    """Hovering over a column says what happened in the block."""
    root = parse([BlockPoint(1_000, 0, 3, 0), BlockPoint(2_500, 40, 5, 7)])

    titles = [title.text for title in root.iter(f"{SVG}title")]

    assert titles == ["1 s: 0 waiting, 3 fired, 0 removed dead", "2.5 s: 40 waiting, 5 fired, 7 removed dead"]


def test_a_long_run_shares_columns_and_says_so():
    """The size does not grow with the run; sums are kept."""
    points = [BlockPoint(1_000 * index, index, 1, 0) for index in range(3 * COLUMNS_MAX)]

    root = parse(points)

    assert len(list(root.iter(f"{SVG}title"))) == COLUMNS_MAX
    assert f"{len(points):,} blocks in {COLUMNS_MAX} columns" in "".join(root.itertext())


def test_names_cannot_break_the_picture():
    """Titles and fault names come from files."""
    root = parse([BlockPoint(1, 0, 0, 0)], [FaultBand("<&\"'>", 0, 1)], title="a < b & c")

    assert "a < b & c" in "".join(root.itertext())
    assert "<&\"'>" in "".join(root.itertext())


def test_a_run_without_blocks_still_has_a_picture():
    """Nothing was finalized: the axes and the faults are all there is."""
    assert parse([], [FaultBand("dark", 0, 5_000)]).tag == f"{SVG}svg"
