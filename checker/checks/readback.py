"""Reads a replica's memory, disk, proofs and audit at the end of a run, for the checks that compare them."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext

import msgspec

from checker.checks.proofs import prove_database
from checker.observations import ReadBack
from network.words import counted
from validators.execution import Header, LayerTables
from validators.restored import StateBase
from validators.state import Rebuilds
from validators.storage import Disk, DiskError, FinalizedLog


def read_back(
    node: int,
    tables: LayerTables,
    disk: Disk,
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
    *,
    rebuilds: Rebuilds | None = None,
) -> ReadBack:
    """Return a validator's memory and disk, both at the height that its engine has finalized.

    The validator makes its proofs itself, within `around`. Audits of several validators may share `rebuilds`.

    A validator that applies blocks early rewinds them first, which shows that it can do so.
    """
    tables.rewind_to_finalized()
    readback, operations = _read_log(node, tables.finalized, disk)
    with around():
        proved = prove_database(tables.database)
    live = dict(tables.live_values())
    return readback._replace(live=live, operations=operations, audit=tables.audit(rebuilds), proved=proved)


def read_disk(node: int, final: Header, disk: Disk) -> ReadBack:
    """Return the readback of the disk of a replica without tables, at its final block."""
    return _read_log(node, final, disk)[0]


def _read_log(node: int, final: Header, disk: Disk) -> tuple[ReadBack, list[bytes]]:
    """Return the readback of a finalized log up to a block, and its operations."""
    operations: list[bytes] = []
    base_height = 0
    try:
        log = FinalizedLog(disk).read()
        if log.base is not None:
            base_height = log.base.height
            operations += msgspec.msgpack.decode(log.base.encoded, type=StateBase).snapshot.operations
        # Blocks synced but not applied when the run ended lie above the values in memory.
        operations += [each for entry in log.entries if entry.height <= final.height for each in entry.operations]
        error = "; ".join(f"{damage.file} at byte {damage.offset}: {damage.what}" for damage in log.damages)
        last = log.entries[-1].height if log.entries else base_height
        if last < final.height and not error:
            error = f"it ends at height {last}"
    except (DiskError, msgspec.MsgspecError) as failure:
        error = str(failure)
    return ReadBack(node, final.height, final.state_root, error=error, base_height=base_height), operations


def share_log(readback: ReadBack, others: Iterable[ReadBack]) -> ReadBack:
    """Return a readback that shares the operations of an earlier readback, where the bytes are the same.

    Replicas that agree have the same log, which is the longest part of a readback.
    """
    for other in others:
        if other.operations == readback.operations:
            return readback._replace(operations=other.operations)
    return readback


def take_back(readback: ReadBack, tables: LayerTables, rebuilds: Rebuilds | None = None) -> ReadBack:
    """Have a validator rewind every block that it can, as its last act; return the readback with this audit too.

    Runs rewind few blocks, and apply most of them again: otherwise an error in rewinding would not show.
    """
    database = tables.database
    blocks = database.retained
    database.rewind(blocks)
    found = [
        deviation._replace(place=f"{deviation.place} after {counted(blocks, 'blocks')} were rewound")
        for deviation in database.audit(rebuilds).deviations
    ]
    audit = readback.audit
    return readback._replace(audit=audit._replace(deviations=(*audit.deviations, *found)))
