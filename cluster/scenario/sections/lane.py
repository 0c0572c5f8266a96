"""`[chain.lane]` of a scenario: the lane configuration at genesis, by name."""

from typing import Literal

import msgspec

from scheduler import LaneConfig
from scheduler.types import Ratio


class LaneSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Fields of the lane configuration (docs/state.md); what is not named has its default. A ratio is two numbers."""

    max_cycles_per_fire_auction_phase: int | None = None
    min_lane_basefee: int | None = None
    max_lane_basefee: int | None = None
    initial_lane_basefee: int | None = None
    target_utilisation: Ratio | None = None
    max_basefee_step: Ratio | None = None
    lane_multiplier: Ratio | None = None
    fairness_window_blocks: int | None = None
    weight_min: Ratio | None = None
    weight_max: Ratio | None = None
    tier_economy: Ratio | None = None
    tier_standard: Ratio | None = None
    tier_fast: Ratio | None = None
    tier_urgent: Ratio | None = None
    gba_call_cycles: int | None = None
    max_gba_calls_per_block: int | None = None
    gc_scan_per_block: int | None = None
    bid_deprecation_blocks: int | None = None
    slope: Literal["literal", "classic"] | None = None
    settlement: Literal["additive", "literal", "intro"] | None = None
    packing_account: Literal["use", "limit"] | None = None
    packing_misfit: Literal["skip", "stop"] | None = None
    classification: Literal["eager", "cursor"] | None = None
    default_gba: Literal["schedule", "fire"] | None = None
    tie_break: Literal["id", "age", "append"] | None = None
    weight: Literal["multiplicative", "additive"] | None = None
    median: Literal["mean", "lower", "upper"] | None = None
    fairness_subject: Literal["actor", "deployer"] | None = None
    max_allowed_delays: int | None = None
    excessive_delay: Literal["off", "force", "cancel"] | None = None

    def config(self, profile: str = "default") -> LaneConfig:
        """Return the record that genesis holds; what is not named is the profile's.

        Raises:
            InvalidInput: A number is out of its range.
        """
        stated = msgspec.structs.asdict(self)
        given = {name: value for name, value in stated.items() if value is not None}
        return LaneConfig(**{**LaneConfig.profiles.get(profile, {}), **given})

    def resolved(self, profile: str) -> "LaneSection":
        """Return the section with every value written out."""
        return LaneSection(**msgspec.structs.asdict(self.config(profile)))
