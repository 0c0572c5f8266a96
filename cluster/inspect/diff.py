"""Where two recorded runs part: settings, events, blocks and roots by height, values there, figures."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any, Final

import msgspec

from checker.explain.formatting import name_key, order_of_key, show_entry
from checker.record.cold_replay import replay_heights
from checker.record.errors import on_one_line
from checker.record.manifest import SCENARIO
from checker.record.run_directory import RecordReader
from checker.record.streams import BlockRecord, DamagedRecordError, Difference, first_difference
from cluster.inspect.told_events import ToldEvents, told_events_of
from cluster.scenario.load import decode_scenario, encode_scenario
from cluster.scenario.messages import ScenarioError
from cluster.verdict.replay import is_made_by_this_code
from report.block import event_words
from validators.execution.blocks import decode_block
from validators.execution.errors import InvalidEncodingError

KEYS_MAX: Final = 12
"""The largest number of differing keys shown."""

ABSENT: Final = "none"
"""Stands for a value that a run does not have."""

_OF_AN_APPLICATION: Final = "values are not compared: they are those of an application, which alone knows its states"

Pair = tuple[str, str]
"""A value of the first run, and of the second run."""


class KeyDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A key with its value in both runs."""

    key: str
    name: str
    first: str
    second: str


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """The differences of two runs; `height` is None where all blocks and roots are the same."""

    is_same: bool
    digests: Pair
    settings: dict[str, Pair]
    event: Difference | None
    height: int | None
    block: dict[str, Pair]
    keys: list[KeyDifference]
    keys_differing: int
    figures: dict[str, Pair]
    notes: list[str]


def compare_records(first: RecordReader, second: RecordReader) -> Diff:
    """Compare two run directories.

    Raises:
        DamagedRecordError: One of them cannot be read.
        ScenarioError: One of their scenarios cannot be read.
    """
    event = first_difference(first.events(), second.events())
    height, block = _first_block(first, second)
    told = told_events_of(first), told_events_of(second)
    if told == (None, None):
        values, notes = _values_at(first, second, height)
    else:
        values, notes = [], [] if height is None else [_OF_AN_APPLICATION]
        block |= _told_at(_of_height(first, told[0], height), _of_height(second, told[1], height))
    settings = _settings(first, second)
    figures = _pairs(_figures(first), _figures(second))
    return Diff(
        is_same=event is None and height is None and not settings and not figures,
        digests=(first.manifest.digest, second.manifest.digest),
        settings=settings,
        event=event,
        height=height,
        block=block,
        keys=values[:KEYS_MAX],
        keys_differing=len(values),
        figures=figures,
        notes=notes,
    )


def _of_height(reader: RecordReader, told: ToldEvents | None, height: int | None) -> Sequence[str]:
    """Return the events that an application told for the final block of a height, each on a line."""
    if told is None or height is None:
        return ()
    if height == 0:
        return [event_words(event) for event in told.at_genesis]
    record = next(islice(reader.blocks(), height - 1, None), None)
    events = None if record is None else told.of(record.digest, record.root)
    return [event_words(event) for event in events or ()]


def _told_at(first: Sequence[str], second: Sequence[str]) -> dict[str, Pair]:
    """Return the first event that two applications told differently for the blocks of a height."""
    for index, pair in enumerate(zip_longest(first, second, fillvalue=ABSENT)):
        if pair[0] != pair[1]:
            return {f"event {index} of its application": pair}
    return {}


def _settings(first: RecordReader, second: RecordReader) -> dict[str, Pair]:
    """Return the seed, the checks that did not pass and the keys of the scenario that differ."""
    sides = []
    for reader in (first, second):
        manifest = reader.manifest
        sides.append({"seed": manifest.seed, **_not_passed(reader), **_flat_scenario(reader)})
    return _pairs(*sides)


def _flat_scenario(reader: RecordReader) -> dict[str, object]:
    """Return the keys of a record's scenario; unconverted if other code wrote it and this code cannot read it."""
    try:
        scenario = decode_scenario(reader.scenario(), str(reader.path / SCENARIO))
        return dict(_flatten("", msgspec.json.decode(encode_scenario(scenario))))
    except ScenarioError:
        if is_made_by_this_code(reader):
            raise
    try:
        return dict(_flatten("", msgspec.json.decode(reader.scenario())))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise DamagedRecordError(reader.path, SCENARIO, str(error)) from None


def _not_passed(reader: RecordReader) -> dict[str, str]:
    """Return by name what each check came to that did not pass; the verdict may be that this was expected."""
    return {f"check {check.name}": check.status for check in reader.checks() if check.status != "passed"}


def _flatten(prefix: str, value: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401 - whatever JSON can hold
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _flatten(f"{prefix}.{name}" if prefix else name, inner)
    else:
        yield prefix, value


def _figures(reader: RecordReader) -> Mapping[str, object]:
    figures = reader.verdict().get("figures")
    return figures if isinstance(figures, dict) else {}


def _pairs(first: Mapping[str, object], second: Mapping[str, object]) -> dict[str, Pair]:
    names = dict.fromkeys([*first, *second])
    pairs = {
        name: (on_one_line(str(first.get(name, ABSENT))), on_one_line(str(second.get(name, ABSENT)))) for name in names
    }
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _first_block(first: RecordReader, second: RecordReader) -> tuple[int | None, dict[str, Pair]]:
    """Return the first height at which finalized blocks or the validators' roots differ, and what differs."""
    if first.genesis() != second.genesis():
        return 0, {"genesis": (_digest(first.genesis()), _digest(second.genesis()))}
    roots = _roots_by_height(first), _roots_by_height(second)
    for height, (one, other) in enumerate(zip_longest(first.blocks(), second.blocks()), start=1):
        found = _pairs({**_describe(one), **roots[0].get(height, {})}, {**_describe(other), **roots[1].get(height, {})})
        if found:
            return height, found
    return None, {}


def _roots_by_height(reader: RecordReader) -> dict[int, dict[str, str]]:
    """Return the roots of validators at each height with different roots."""
    found: dict[int, dict[int, str]] = {}
    for record in reader.roots():
        found.setdefault(record.height, {})[record.node] = record.root.hex()
    return {
        height: {f"root of validator {node}": root for node, root in roots.items()}
        for height, roots in found.items()
        if len(dict.fromkeys(roots.values())) > 1
    }


def _describe(record: BlockRecord | None) -> dict[str, str]:
    if record is None:
        return {}
    reported = {"block": record.digest.hex(), "root": record.root.hex()}
    try:
        block = decode_block(record.block)
    except InvalidEncodingError as error:
        return {**reported, "content": str(error)}
    names = ("view", "proposer", "slot", "timestamp_ms")
    header = {name: str(getattr(block.header, name)) for name in names}
    return {**reported, **header, "transactions": str(len(block.transactions))}


def _values_at(first: RecordReader, second: RecordReader, height: int | None) -> tuple[list[KeyDifference], list[str]]:
    """Return the keys whose values differ after a height, by replaying both chains, and what stood in the way."""
    if height is None:
        return [], []
    notes: list[str] = []
    sides: list[dict[bytes, bytes]] = []
    for name, reader in (("A", first), ("B", second)):
        try:
            sides.append(_replay_to(reader, height))
        except Exception as error:  # noqa: BLE001 - a chain that cannot be replayed is a finding, whatever breaks
            notes.append(
                f"values are not compared: the chain of {name} cannot be replayed to there: {on_one_line(str(error))}"
            )
    if notes:
        return [], notes
    one, other = sides
    keys = sorted(dict.fromkeys([*one, *other]), key=order_of_key)
    return [_key_difference(key, one.get(key), other.get(key)) for key in keys if one.get(key) != other.get(key)], []


def _replay_to(reader: RecordReader, height: int) -> dict[bytes, bytes]:
    engine = next(islice(replay_heights(reader.path), height, None), None)
    if engine is None:
        raise LookupError(f"it has no height {height}")
    return dict(engine.database.items())


def _key_difference(key: bytes, one: bytes | None, other: bytes | None) -> KeyDifference:
    return KeyDifference(
        key=key.hex(), name=name_key(key, (one, other)), first=show_entry(key, one), second=show_entry(key, other)
    )


def _digest(encoded: bytes) -> str:
    return hashlib.sha256(encoded).hexdigest()
