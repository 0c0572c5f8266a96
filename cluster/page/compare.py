"""The page of two runs side by side, with the first thing that differs marked."""

from collections.abc import Iterator
from typing import Final

from checker.record.run_directory import RecordReader
from cluster.inspect.diff import Diff
from cluster.page.gather import gather
from cluster.page.write import bounded_page
from cluster.scenario.load import decode_scenario
from report.page.rows import RunDifference, RunRows

PAIRS_MAX: Final = 200
"""The most pairs of values that a page shows."""


def page_of_two(first: RecordReader, second: RecordReader, found: Diff) -> bytes:
    """Return the page of two recorded runs.

    Raises:
        DamagedRecordError: One of them cannot be read.
        ScenarioError: One of their scenarios cannot be read.
    """
    names = [f"{letter}: {reader.path}" for letter, reader in (("A", first), ("B", second))]
    return bounded_page([_rows(first), _rows(second)], difference=_difference(first, found), names=names)


def _rows(reader: RecordReader) -> RunRows:
    scenario = decode_scenario(reader.scenario(), str(reader.path))
    return gather(reader.path, reader.verdict(), scenario, reader.checks())


def _difference(first: RecordReader, found: Diff) -> RunDifference:
    if found.is_same:
        return RunDifference(f"They are the same run, digest {found.digests[0]}.", (), None, None)
    event = found.event
    sentence = (
        "All events are the same." if event is None else f"The first event that differs is number {event.index:,}."
    )
    at_us = None
    if event is not None:
        at_us = next((each.at_us for index, each in enumerate(first.events()) if index == event.index), None)
    return RunDifference(sentence, tuple(_pairs(found))[:PAIRS_MAX], at_us, found.height)


def _pairs(found: Diff) -> Iterator[tuple[str, str, str]]:
    if found.event is not None:
        yield f"event {found.event.index:,}", found.event.first, found.event.second
    yield from ((name, *pair) for name, pair in found.settings.items())
    yield from ((f"block: {name}", *pair) for name, pair in found.block.items())
    yield from ((key.name, key.first, key.second) for key in found.keys)
    yield from ((name, *pair) for name, pair in found.figures.items())
