"""Headers that break a rule of their own, over a block whose roots are true."""

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from faults.byzantine.blocks import ForgeBlock
from validators.execution import Block, Header


class ForgeHeader(ForgeBlock):
    """Proposes its block with another version, epoch, height, view, leader or slot, or its parent's view or time.

    All roots are true, so only the check of the changed field refuses the block.
    """

    CLAIMS: ClassVar[tuple[str, ...]] = (
        *("version", "epoch", "view", "time", "slot", "height", "proposer", "parent-view"),
    )
    FOREIGN_CLAIMS = CLAIMS

    def forge(self, block: Block) -> Block:
        """Return the block with the field of the claim changed."""
        return Block(msgspec.structs.replace(block.header, **self._change(block)), block.transactions)

    def _change(self, block: Block) -> dict[str, Any]:
        header = block.header
        changes: dict[str, tuple[str, Callable[[], int]]] = {
            "version": ("version", lambda: header.version + 1),
            "epoch": ("consensus_epoch", lambda: header.consensus_epoch + 1),
            "height": ("height", lambda: self.other_height(header.height)),
            "view": ("view", lambda: header.view + 1),
            "parent-view": ("view", lambda: self._parent_of(header).view),
            "proposer": ("proposer", lambda: (self.adversary.validators, header.proposer + 1)[self.draw(2)]),
            "time": ("timestamp_ms", lambda: self._parent_of(header).timestamp_ms),
            "slot": ("slot", lambda: max(0, header.slot + (1, -1)[self.draw(2)])),
        }
        # Only the value of this claim is computed, because each may draw.
        name, value = changes[self.claim]
        return {name: value()}

    def _parent_of(self, header: Header) -> Header:
        layer = self.adversary.layer
        assert layer is not None, "who proposes has a layer"
        executed = layer.executed(header.parent)
        return layer.finalized if executed is None else executed.header
