"""The sample: which mutation points are tried, each room and each kind of operator having its share.

Rooms take turns, and within a room the kinds of operators; within both, points come in the order of a hash of seed,
file, operator and occurrence. So a sample is a function of the seed and the sources, and a longer one begins with the
shorter one.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeVar

from checker.record.errors import ReportedError
from tools.mutation.scan.points import (
    MutationLibrary,
    MutationPoint,
    ScanMutant,
    read_source,
    source_files,
)
from tools.mutation.scan.triage import Triage

ROOMS: Final = (
    *("scheduler", "validators", "validators/execution", "validators/actors", "validators/state"),
    *("validators/consensus", "validators/sync", "validators/mempool", "validators/storage", "faults", "network"),
)
"""The rooms that are mutated; `validators` is the files that stand in no folder of it."""


class UnknownPlaceError(ReportedError):
    """A line that no operator changes."""


_NOTHING: Final = Triage()

_Item = TypeVar("_Item")


def draw_sample(
    library: MutationLibrary,
    size: int,
    seed: int,
    *,
    rooms: Collection[str] = ROOMS,
    families: Collection[str] = (),
    triage: Triage = _NOTHING,
) -> Iterator[ScanMutant]:
    """Yield mutants of some rooms in the order in which they are tried.

    Args:
        library: The operators.
        size: The number of mutants.
        seed: Another seed gives another sample.
        rooms: The rooms.
        families: The kinds of operators; all where none is given.
        triage: What is left out.
    """
    files = [file for file in source_files() if _room_of(file) in rooms]
    points = (point for point in _points_in(library, files, families) if not triage.leaves_out(point))
    return islice(_mutants_of(library, in_turns(points, seed)), size)


def mutants_at(
    library: MutationLibrary, places: Collection[tuple[str, int]], families: Collection[str] = ()
) -> Iterator[ScanMutant]:
    """Yield the mutants of lines, which are given as `(file, line)`, in the order of the sources.

    Raises:
        UnknownPlaceError: No operator changes a line.
    """
    files = [file for file in source_files() if file in {file for file, _ in places}]
    points = [point for point in _points_in(library, files, families) if (point.file, point.line) in places]
    for file, line in places:
        if (file, line) not in {(point.file, point.line) for point in points}:
            raise UnknownPlaceError(f"--only: no operator changes {file}:{line}")
    return _mutants_of(library, points)


def _points_in(library: MutationLibrary, files: Iterable[str], families: Collection[str]) -> Iterator[MutationPoint]:
    for file in files:
        for point in library.points_of(file, read_source(file)):
            if not families or point.family in families:
                yield point


def _mutants_of(library: MutationLibrary, points: Iterable[MutationPoint]) -> Iterator[ScanMutant]:
    mutants = (library.mutant_at(point, read_source(point.file)) for point in points)
    return (mutant for mutant in mutants if mutant is not None)


def in_turns(points: Iterable[MutationPoint], seed: int) -> Iterator[MutationPoint]:
    """Yield points so that rooms take turns, and in each room the kinds of operators."""
    by_room: dict[str, dict[str, list[MutationPoint]]] = {}
    for point in points:
        by_room.setdefault(point.room, {}).setdefault(point.family, []).append(point)
    rooms = [
        list(_turns([sorted(points, key=lambda point: _rank(point, seed)) for _, points in sorted(families.items())]))
        for _, families in sorted(by_room.items())
    ]
    return _turns(rooms)


def _turns(queues: Sequence[Sequence[_Item]]) -> Iterator[_Item]:
    """Yield the first of each queue, then the second of each that has one, and so on."""
    for place in range(max(map(len, queues), default=0)):
        for queue in queues:
            if place < len(queue):
                yield queue[place]


def _rank(point: MutationPoint, seed: int) -> bytes:
    key = f"{seed}|{point.file}|{point.operator}|{point.occurrence}"
    return hashlib.sha256(key.encode()).digest()


def _room_of(file: str) -> str:
    return MutationPoint(file, "", "", 0, 0, 0).room
