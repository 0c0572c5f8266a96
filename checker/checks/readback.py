"""What validators hold at the end: memory, disk and a cold replay must give the same values, byte for byte.

The online checks see what validators said. These see what they have: live values encoded again from the objects in
memory, and values folded from the operation log as it is on the disk. A byte that changed in one validator without a
block to change it shows here, however long nobody touched its key.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import final

import msgspec

from checker.checks.observations import NO_DISK_FAULTS, DiskFaults, ReadBack, short
from checker.checks.proofs import prove_database
from checker.record.cold_replay import ColdReplay
from checker.results import CheckResult, Tally
from checker.tables import describe_place, describe_value
from validators.execution import Engine
from validators.recovery import StateBase
from validators.state import CorruptLog
from validators.state.operations import DELETE, UPDATE, choose_codec
from validators.storage import Disk, DiskError, FinalizedLog


def read_back(
    node: int, engine: Engine, disk: Disk, around: Callable[[], AbstractContextManager[None]] = nullcontext
) -> ReadBack:
    """Return what a validator holds in memory and on its disk, both at the height that its engine has finalized.

    What it proves it proves itself: `around` is what its steps run in.

    What was applied early is taken back for it, so that a validator on that road has shown that it can.
    """
    engine.rewind_to_finalized()
    height = engine.finalized.height
    operations: list[bytes] = []
    base_height = 0
    try:
        log = FinalizedLog(disk).read()
        if log.base is not None:
            base_height = log.base.height
            operations += msgspec.msgpack.decode(log.base.encoded, type=StateBase).snapshot.operations
        # What was synced but not applied when the run ended lies above the values in memory.
        operations += [operation for entry in log.entries if entry.height <= height for operation in entry.operations]
        error = "; ".join(f"{damage.file} at byte {damage.offset}: {damage.what}" for damage in log.damages)
        last = log.entries[-1].height if log.entries else base_height
        if last < height and not error:
            error = f"it ends at height {last}"
    except (DiskError, msgspec.MsgspecError) as failure:
        error = str(failure)
    with around():
        proved = prove_database(engine.database)
    return ReadBack(
        node=node,
        height=height,
        root=engine.finalized.state_root,
        live=dict(engine.live_values()),
        operations=operations,
        audit=engine.audit(),
        error=error,
        base_height=base_height,
        proved=proved,
    )


def take_back(readback: ReadBack, engine: Engine) -> ReadBack:
    """Have a validator take back every block that it can, as its last act; return what is wrong with it then as well.

    Most blocks are never taken back, and those that are come again: what taking back does wrong would not show.
    """
    database = engine.database
    blocks = database.retained
    database.rewind(blocks)
    found = [
        deviation._replace(place=f"{deviation.place} after {blocks} blocks were taken back")
        for deviation in database.audit().deviations
    ]
    audit = readback.audit
    return readback._replace(audit=audit._replace(deviations=(*audit.deviations, *found)))


@final
class LiveValues:
    """Each validator's live values are those of its own operation log and those of the cold replay.

    A log that a fault of the plan has damaged says nothing; then there is the cold replay.
    """

    def __init__(self, genesis_values: Mapping[bytes, bytes], disk_faults: DiskFaults = NO_DISK_FAULTS) -> None:
        self._tally = Tally("live-values", "safety")
        self._disk_faults = disk_faults
        self._genesis_values = genesis_values
        self._judged: dict[int, None] = {}
        # Validators that agree have one and the same log; it is folded once.
        self._folded: tuple[int, Sequence[bytes], Mapping[bytes, bytes]] | None = None

    def compare(self, readback: ReadBack, cold: Mapping[bytes, bytes] | None) -> None:
        """Compare one validator; `cold` are the values of the cold replay at its height, if there are any."""
        if cold is not None:
            self._compare(readback, cold, "the cold replay")
        if readback.error and readback.node in self._disk_faults.touched:
            return
        if readback.error:
            self._tally.compared += 1
            self._tally.fail(
                f"validator {readback.node}: its operation log cannot be read back: {readback.error}",
                validator=readback.node,
                found=f"{len(readback.live):,} values in memory",
                expected=f"cannot be read back: {readback.error}",
            )
            return
        try:
            logged = self._fold(readback.base_height, readback.operations)
        except CorruptLog as error:
            self._tally.compared += 1
            self._tally.fail(
                f"validator {readback.node}: its operation log cannot be decoded: {error}",
                validator=readback.node,
                found=f"{len(readback.live):,} values in memory",
                expected=f"cannot be decoded: {error}",
            )
            return
        self._compare(readback, logged, "its operation log")

    def refuse(self, node: int, reason: str) -> None:
        """Note a validator whose memory is such that it cannot even be read."""
        self._tally.compared += 1
        self._tally.fail(
            f"validator {node}: what it holds cannot be read: {reason}",
            validator=node,
            found=f"cannot be read: {reason}",
            expected="was not compared",
        )

    def result(self) -> CheckResult:
        """Return what came of it."""
        return self._tally.result(
            f"{self._tally.compared:,} values of {len(self._judged)} validators are those of log and cold replay"
        )

    def _fold(self, base_height: int, operations: Sequence[bytes]) -> Mapping[bytes, bytes]:
        if self._folded is None or self._folded[:2] != (base_height, operations):
            # A snapshot holds every live value; genesis' own may have been deleted below it.
            values = {} if base_height else self._genesis_values
            self._folded = (base_height, operations, fold_operations(values, operations))
        return self._folded[2]

    def _compare(self, readback: ReadBack, expected: Mapping[bytes, bytes], source: str) -> None:
        live = readback.live
        self._judged[readback.node] = None
        self._tally.compared += max(len(live), len(expected))
        if live == expected:
            return
        for key in sorted(live.keys() | expected.keys()):
            if live.get(key) != expected.get(key):
                ours, theirs = live.get(key), expected.get(key)
                found, wanted = describe_value(ours, key), describe_value(theirs, key)
                self._tally.fail(
                    f"validator {readback.node}, height {readback.height}: {describe_place(key, ours, theirs)}: "
                    f"{found} in memory and {wanted} in {source}",
                    validator=readback.node,
                    height=readback.height,
                    key=key.hex(),
                    found=found,
                    expected=wanted,
                    source=source,
                )


def fold_operations(genesis_values: Mapping[bytes, bytes], operations: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the values that an operation log leads to; raises CorruptLog.

    The log may begin with genesis' own operations or after them: they only say again what genesis says.
    """
    decode = choose_codec("variable", bare_values=False).decode
    values = dict(genesis_values)
    for encoded in operations:
        operation = decode(encoded)
        if operation.kind == UPDATE:
            values[operation.key] = operation.value or b""
        elif operation.kind == DELETE:
            values.pop(operation.key, None)
    return values


def judge_cold_replay(cold: ColdReplay | None, roots: Mapping[int, bytes]) -> CheckResult:
    """Compare the roots of the cold replay with those of the run, height by height; height 0 is genesis."""
    tally = Tally("cold-replay", "safety")
    if cold is None:
        return tally.inconclusive("no cold replay was made")
    replayed = dict(enumerate(cold.roots))
    if cold.error:
        tally.compared += 1
        tally.fail(f"the chain cannot be replayed from genesis: {cold.error}", height=len(cold.roots))
    for height in sorted(roots.keys() | replayed.keys()):
        expected, found = roots.get(height), replayed.get(height)
        tally.compared += 1
        if expected != found:
            names = [("none" if root is None else short(root)) for root in (expected, found)]
            tally.fail(f"height {height}: root {names[0]} in the run, {names[1]} in the cold replay", height=height)
    return tally.result(f"a fresh process came from genesis to the same root at each of {len(replayed)} heights")
