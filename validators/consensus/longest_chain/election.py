"""Leaders of slots: validators take turns, or a keyed lottery over all of them, which may leave slots without a leader.

docs/longest-chain.md specifies both. The lottery is a function of its key and of the slot alone. So everybody knows all
leaders in advance, and a block of any age, or a header alone, is judged without the chain around it.
"""

from hashlib import sha256
from typing import Final

from network.chance import below
from network.types import NodeId
from validators.consensus.longest_chain.config import LongestChainConfig

LOTTERY_NAMESPACE: Final = b"stampede_LOTTERY"

NOBODY: Final = -1
"""The leader of a slot without one, in the trace."""

PARTS: Final = 1_000_000


def leader_of(view: int, validators: int, config: LongestChainConfig) -> NodeId | None:
    """Return the leader of a slot, None where it has none."""
    if config.lottery_key is None:
        return view % validators
    drawn = sha256(LOTTERY_NAMESPACE + config.lottery_key.to_bytes(8, "big") + view.to_bytes(8, "big")).digest()
    if below(int.from_bytes(drawn[:8], "big"), PARTS) < config.empty_slot_share_ppm:
        return None
    return below(int.from_bytes(drawn[8:16], "big"), validators)
