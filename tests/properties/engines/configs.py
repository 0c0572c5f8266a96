"""Configurations of engines that agree on names of blocks: a block comes each 150 ms, a message takes at most 25 ms."""

from typing import Final

from network.types import MILLISECOND_US
from validators.consensus.hotstuff.config import HotStuffConfig
from validators.consensus.longest_chain.config import LongestChainConfig
from validators.consensus.simplex.config import SimplexConfig


def _simplex(skip_timeout_ms):
    return SimplexConfig(
        leader_timeout_us=500 * MILLISECOND_US,
        certification_timeout_us=1_000 * MILLISECOND_US,
        timeout_retry_us=1_000 * MILLISECOND_US,
        fetch_timeout_us=60 * MILLISECOND_US,
        skip_timeout_us=skip_timeout_ms * MILLISECOND_US,
        view_retention=4,
    )


def _hotstuff(profile):
    return HotStuffConfig(
        profile=profile,
        view_timeout_us=1_000 * MILLISECOND_US,
        view_timeout_max_us=4_000 * MILLISECOND_US,
        view_retention=4,
    )


def _longest_chain(finality_depth, **lottery):
    return LongestChainConfig(
        slot_us=250 * MILLISECOND_US,
        finality_depth=finality_depth,
        fetch_timeout_us=60 * MILLISECOND_US,
        view_retention=4,
        **lottery,
    )


CONFIGS: Final = {
    "simplex": (_simplex(3_000), _simplex(1_001)),
    "hotstuff": (_hotstuff("three-chain"), _hotstuff("two-chain")),
    # Half of the validators alone cannot come so far while they are cut off.
    "longest-chain": (_longest_chain(14),),
}
"""By engine."""

SHALLOW: Final = {
    "simplex": (),
    "hotstuff": (),
    "longest-chain": tuple(
        _longest_chain(depth, **lottery)
        for depth in (1, 2, 3)
        for lottery in ({}, {"lottery_key": 7, "empty_slot_share_ppm": 200_000})
    ),
}
"""By engine, those with which honest validators may come to two final blocks of one height."""
