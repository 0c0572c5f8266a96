"""Live values at the end: memory, disk and a cold replay must give the same values, byte for byte.

Other checks see the events of validators. This check sees their data: live values encoded again from objects in memory,
and values folded from the operation log on the disk. It finds a byte that changed although no block changed it, even
if no block has touched its key for long.
"""

from collections.abc import Mapping, Sequence

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.observations import ReadBack
from checker.results import CheckResult
from checker.tables import describe_place, describe_value
from network.words import counted
from validators.state import CorruptLog
from validators.state.operations import DELETE, UPDATE, choose_codec


class LiveValues(Check):
    """At the end a replica's values in memory are those of its log on disk and of the cold replay.

    A log that a fault of the plan has damaged is skipped; then memory is compared with the cold replay alone.
    """

    name = "live-values"
    needs = "tables"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._judged: dict[int, None] = {}
        # Validators that agree have the same log, which is folded once.
        self._folded: tuple[int, Sequence[bytes], Mapping[bytes, bytes]] | None = None

    def finish(self) -> CheckResult:
        """Return the result; a validator whose memory cannot be read fails."""
        end = self.run.end
        for node, reason in end.unreadable.items():
            self._refuse(node, reason)
        for readback in end.readbacks:
            self._judge(readback, None if end.cold is None else end.cold.values.get(readback.height))
        return self.tally.result(
            f"{counted(self.tally.compared, 'values')} of {counted(len(self._judged), 'validators')} equal the log's "
            "and the cold replay's"
        )

    def _judge(self, readback: ReadBack, cold: Mapping[bytes, bytes] | None) -> None:
        """Compare a validator; `cold` has the values of the cold replay at its height, if there is any."""
        if cold is not None:
            self._compare(readback, cold, "the cold replay")
        if readback.error and readback.node in self.run.disk_faults.touched:
            return
        if readback.error:
            self.tally.compared += 1
            self.tally.fail(
                f"validator {readback.node}: its operation log cannot be read back: {readback.error}",
                validator=readback.node,
                found=f"{len(readback.live):,} values in memory",
                expected=f"cannot be read back: {readback.error}",
            )
            return
        try:
            logged = self._fold(readback.base_height, readback.operations)
        except CorruptLog as error:
            self.tally.compared += 1
            self.tally.fail(
                f"validator {readback.node}: its operation log cannot be decoded: {error}",
                validator=readback.node,
                found=f"{len(readback.live):,} values in memory",
                expected=f"cannot be decoded: {error}",
            )
            return
        self._compare(readback, logged, "its operation log")

    def _refuse(self, node: int, reason: str) -> None:
        self.tally.compared += 1
        self.tally.fail(
            f"validator {node}: its memory cannot be read: {reason}",
            validator=node,
            found=f"cannot be read: {reason}",
            expected="was not compared",
        )

    def _fold(self, base_height: int, operations: Sequence[bytes]) -> Mapping[bytes, bytes]:
        if self._folded is None or self._folded[:2] != (base_height, operations):
            # A snapshot holds every live value; values of genesis may have been deleted below it.
            values = {} if base_height else self.run.genesis_values
            self._folded = (base_height, operations, fold_operations(values, operations))
        return self._folded[2]

    def _compare(self, readback: ReadBack, expected: Mapping[bytes, bytes], source: str) -> None:
        live = readback.live
        self._judged[readback.node] = None
        self.tally.compared += max(len(live), len(expected))
        if live == expected:
            return
        for key in sorted(live.keys() | expected.keys()):
            if live.get(key) != expected.get(key):
                ours, theirs = live.get(key), expected.get(key)
                found, wanted = describe_value(ours, key), describe_value(theirs, key)
                self.tally.fail(
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

    The log may begin with genesis' own operations or after them: they only repeat the values of genesis.
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
