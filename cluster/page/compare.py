"""The page of two runs side by side, with the first thing that differs marked."""

from collections.abc import Iterator, Mapping
from typing import Final

from checker.record.run_directory import RecordReader
from cluster.inspect.diff import ABSENT, Diff, Pair
from cluster.page.gather import gather
from cluster.page.write import bounded_page
from cluster.scenario.load import decode_scenario
from report.page.rows import RunDifference, RunRows

PAIRS_MAX: Final = 200
"""The most pairs of values that a page shows."""


UNSAID: Final = ("None", "[]", "{}", "")
"""Values of a key that say nothing of a fault or workload that only one run has."""


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
    yield from _settings(found.settings)
    yield from ((f"block: {name}", *pair) for name, pair in found.block.items())
    yield from ((key.name, key.first, key.second) for key in found.keys)
    yield from ((name, *pair) for name, pair in found.figures.items())


def _settings(settings: Mapping[str, Pair]) -> Iterator[tuple[str, str, str]]:
    """Yield the settings that differ; a fault or workload that only one run has is one row, and not one a key."""
    sections: dict[str, dict[str, Pair]] = {}
    for name, pair in settings.items():
        sections.setdefault(".".join(name.split(".")[:2]) if name.count(".") > 1 else name, {})[name] = pair
    for section, pairs in sections.items():
        is_alone = [all(pair[side] == ABSENT for pair in pairs.values()) for side in (0, 1)]
        if len(pairs) == 1 or not any(is_alone):
            yield from ((name, *pair) for name, pair in pairs.items())
            continue
        told = ", ".join(
            f"{name.removeprefix(section + '.')} {pair[is_alone[0]]}"
            for name, pair in pairs.items()
            if pair[is_alone[0]] not in UNSAID
        )
        yield (section, ABSENT, told) if is_alone[0] else (section, told, ABSENT)
