"""Configurations of engines that agree on names of blocks: a block comes each 150 ms, a message takes at most 25 ms."""

from typing import Final

from network.types import MILLISECOND_US
from validators.consensus.hotstuff.config import HotStuffConfig
from validators.consensus.longest_chain.config import LongestChainConfig
from validators.consensus.simplex.config import SimplexConfig


def _hotstuff(profile):
    return HotStuffConfig(
        profile=profile,
        view_timeout_us=1_000 * MILLISECOND_US,
        view_timeout_max_us=4_000 * MILLISECOND_US,
        view_retention=4,
    )


CONFIGS: Final = {
    "simplex": (
        SimplexConfig(
            leader_timeout_us=500 * MILLISECOND_US,
            certification_timeout_us=1_000 * MILLISECOND_US,
            timeout_retry_us=1_000 * MILLISECOND_US,
            fetch_timeout_us=60 * MILLISECOND_US,
            skip_timeout_us=3_000 * MILLISECOND_US,
            view_retention=4,
        ),
    ),
    "hotstuff": (_hotstuff("three-chain"), _hotstuff("two-chain")),
    "longest-chain": (
        LongestChainConfig(
            slot_us=250 * MILLISECOND_US,
            # Half of the validators alone cannot come so far while they are cut off.
            finality_depth=14,
            fetch_timeout_us=60 * MILLISECOND_US,
            view_retention=4,
        ),
    ),
}
"""By engine."""
