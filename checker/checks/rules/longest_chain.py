"""The rules of the longest chain that checks beside `consensus` ask for, restated from its document."""

import struct
from hashlib import sha256
from typing import Final

import msgspec

from checker.checks.planned import PlannedRun
from checker.checks.rules.engine_rules import EngineRules
from checker.observations import short
from validators.consensus.longest_chain import Announcement, LongestChainConfig
from validators.consensus.longest_chain.kind import LONGEST_CHAIN
from validators.execution.blocks import Header
from validators.messages import message_codec

_FINALITY_SLOTS_MAX: Final = 20
"""Slots beyond the depth of finality, for leaders that are down and heads that have to be fetched."""


def _leader_of_slot(view: int, validators: int, plan: PlannedRun) -> int | None:
    """Return the leader by rotation, or by the lottery's two 64-bit numbers: whether there is a leader, and who."""
    if plan.lottery_key is None:
        return view % validators
    drawn = sha256(b"stampede_LOTTERY" + struct.pack(">QQ", plan.lottery_key, view)).digest()
    emptiness, winner = struct.unpack(">QQ16x", drawn)
    return None if emptiness * 1_000_000 // 2**64 < plan.empty_slot_share_ppm else winner * validators // 2**64


def _finality_lag(config: LongestChainConfig) -> int:
    """Return the depth in slots; a lottery adds its slots without a leader, and a half for its variance.

    A lottery varies without empty slots too: slots of Byzantine and absent validators may follow each other.
    """
    if config.lottery_key is None:
        return config.finality_depth
    led_ppm = 1_000_000 - config.empty_slot_share_ppm
    slots = -(-config.finality_depth * 1_000_000 // led_ppm)
    return slots + slots // 2


def _describe_announcement(encoded: bytes) -> str:
    announced = message_codec(LONGEST_CHAIN).decode(encoded)
    assert isinstance(announced, Announcement), "evidence is two of these"
    header = announced.block.header
    height = msgspec.msgpack.decode(header, type=Header).height
    return f"block {short(sha256(header).digest())} of height {height}"


LONGEST_CHAIN_RULES: Final = EngineRules(
    name=LONGEST_CHAIN.name,
    finality="burial",
    leader_of=_leader_of_slot,
    finality_views_max=_FINALITY_SLOTS_MAX,
    finality_lag=_finality_lag,
    evidence=("ConflictingBlocks",),
    describe_vote=_describe_announcement,
)
