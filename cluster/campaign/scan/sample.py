"""The sample: which mutation points are tried, each room and each kind of operator having its share.

Rooms take turns, and within a room the kinds of operators; within both, points come in the order of a hash of seed,
file, operator and occurrence. So a sample is a function of the seed and the sources, and a longer one begins with the
shorter one.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeVar

from cluster.campaign.scan.points import (
    MutationLibrary,
    MutationPoint,
    ScanMutant,
    read_source,
    source_files,
)
from cluster.campaign.scan.triage import Triage

ROOMS: Final = (
    *("scheduler", "validators", "validators/execution", "validators/actors", "validators/state"),
    *("validators/consensus", "validators/sync", "validators/mempool", "validators/storage", "faults", "network"),
)
"""The rooms that are mutated; `validators` is the files that stand in no folder of it."""

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
    sources = {file: read_source(file) for file in source_files()}
    points = [
        point
        for file, source in sources.items()
        if _room_of(file) in rooms
        for point in library.points_of(file, source)
        if (not families or point.family in families) and not triage.leaves_out(point)
    ]
    mutants = (library.mutant_at(point, sources[point.file]) for point in in_turns(points, seed))
    return islice((mutant for mutant in mutants if mutant is not None), size)


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
