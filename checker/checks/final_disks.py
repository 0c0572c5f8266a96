"""Final blocks on every disk: any peer can serve a final block to a replica that restarts, joins or lags.

Peers make up for a block that a disk lacks, so the loss would show only when the last copy is gone. The check reads
the blocks from the block file beside the replica, and again from the answers that the replica itself would give a peer
without blocks. A replica keeps all blocks above the base of its finalized log: genesis, or a peer's snapshot.
"""

from collections.abc import Mapping
from itertools import chain, pairwise
from typing import Final

import msgspec

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.observations import ReadBack, short
from checker.results import CheckResult
from faults.events import Healed
from network.events import Event, Handlers
from network.words import counted
from validators.events import BlockFinalized, Booted
from validators.execution.blocks import without_seal
from validators.messages import BLOCKS_PER_RESPONSE
from validators.storage import RecordFile
from validators.sync.block_exchange import RESPONSE_BYTES_MAX

ROUNDS: Final = 2
"""A replica has fetched a lost block once it could have asked every peer this often."""


class _Kept(msgspec.Struct, array_like=True, frozen=True):
    """A block in the block file."""

    height: int
    digest: bytes
    block: bytes


class FinalDisks(Check):
    """At the end the disk of each replica holds every final block above its base, and the replica serves it.

    A replica that was restarted shortly before the end may still lack blocks. So may a replica whose disk a fault
    may have damaged after its last start, because only a start reads the whole disk.
    """

    name = "final-disks"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._restarted_us: dict[int, int] = {}
        self._healed_us = 0
        self._now_us = 0
        self._blocks = 0

    @property
    def handlers(self) -> Handlers:
        """Starts, and the end of faults."""
        return {Booted: self.booted, Healed: self.healed, BlockFinalized: self.finalized}

    def booted(self, event: Event, booted: Booted) -> None:
        """Note a start, which reads the whole disk."""
        if booted.incarnation:
            self._restarted_us[event.node] = event.at_us

    def healed(self, event: Event, _healed: Healed) -> None:
        """Note the time from which no fault keeps a replica from fetching."""
        self._healed_us = event.at_us

    def finalized(self, event: Event, _block: BlockFinalized) -> None:
        """Follow the time."""
        self._now_us = event.at_us

    def finish(self) -> CheckResult:
        """Return the result."""
        # A replica does not serve after a halt or during its start.
        readbacks = [each for each in self.run.end.readbacks if self.run.world.life(each.node) is not None]
        for readback in readbacks:
            self._compare(readback)
        return self.tally.result(
            f"{counted(self._blocks, 'final blocks')} are on the disks of {counted(len(readbacks), 'replicas')}, and "
            "served from there"
        )

    def _is_excused(self, node: int) -> bool:
        """Return whether a replica may lack a block: it has not read its disk yet, or had no time to fetch."""
        plan, restarted_us = self.run.plan, self._restarted_us.get(node, 0)
        ends_us = [fault.stop_us for fault in plan.faults if node in fault.nodes]
        if node in self.run.disk_faults.destroyed and restarted_us < max(ends_us, default=0):
            return True
        if node not in self._restarted_us:
            return False
        needed_us = plan.fetch_grace_us + ROUNDS * self.run.validators * plan.fetch_timeout_us
        return self._now_us - max(restarted_us, self._healed_us) < needed_us

    def _compare(self, readback: ReadBack) -> None:
        node = readback.node
        stored, served = self._stored(node), dict.fromkeys(map(without_seal, chain.from_iterable(readback.served)))
        is_excused = self._is_excused(node)
        self._compare_answers(readback)
        for height in range(readback.base_height + 1, min(readback.height, len(self.run.chain)) + 1):
            final = self.run.chain[height - 1]
            lacks = [
                lack
                for lack, holds in (
                    ("its disk does not hold", stored.get(final.digest) == final.encoded),
                    ("it does not serve", final.encoded in served),
                )
                if not holds
            ]
            self._blocks += not lacks
            self.tally.compared += not is_excused or not lacks
            if lacks and not is_excused:
                place = f"validator {node}, final up to height {readback.height}"
                self.tally.fail(
                    f"{place}: {lacks[0]} block {short(final.digest)} of height {height}",
                    validator=node,
                    height=height,
                )

    def _compare_answers(self, readback: ReadBack) -> None:
        """Compare the length of an answer: all blocks down to the requested height, as far as the limits allow."""
        for answer, following in pairwise(readback.served):
            self.tally.compared += 1
            room_bytes = RESPONSE_BYTES_MAX - sum(map(len, answer))
            if len(answer) < BLOCKS_PER_RESPONSE and len(following[0]) <= room_bytes:
                self.tally.fail(
                    f"validator {readback.node} answers a request for all blocks with "
                    f"{counted(len(answer), 'blocks')}, and has more",
                    validator=readback.node,
                    blocks=len(answer),
                )

    def _stored(self, node: int) -> Mapping[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for record in RecordFile(self.run.disks[node].written(), "blocks").read().records:
            kept = msgspec.msgpack.decode(record.payload, type=_Kept)
            found[kept.digest] = without_seal(kept.block)
        return found
