"""Headers that break a rule of their own, over a block whose roots are true."""

from typing import Any, ClassVar

import msgspec

from faults.byzantine.blocks import ForgeBlock
from validators.execution import Block


class ForgeHeader(ForgeBlock):
    """Proposes its block with another version, epoch, view, slot, or with its parent's time; all roots are true.

    A guard that compares roots refuses none of these: only the guard of the field itself does.
    """

    CLAIMS: ClassVar[tuple[str, ...]] = ("version", "epoch", "view", "time", "slot")

    def forge(self, block: Block) -> Block:
        """Return the block with the field of the claim changed."""
        return Block(msgspec.structs.replace(block.header, **self._change(block)), block.transactions)

    def _change(self, block: Block) -> dict[str, Any]:
        header = block.header
        if self.claim == "time":
            engine = self.adversary.engine
            assert engine is not None, "who proposes has an engine"
            parent = engine.executed(header.parent)
            return {"timestamp_ms": (engine.finalized if parent is None else parent.header).timestamp_ms}
        changes = {
            "version": {"version": header.version + 1},
            "epoch": {"consensus_epoch": header.consensus_epoch + 1},
            "view": {"view": header.view + 1},
            "slot": {"slot": header.slot + 1},
        }
        return changes[self.claim]
