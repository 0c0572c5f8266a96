"""The lane configuration: its fields and the rule of each (docs/state.md, "The timer lane")."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from checker.oracle.parameters import FieldRule, Ratio, hold, is_ratio, one_of, ratio_of, whole


class LaneConfig(NamedTuple):
    """The lane configuration, field by field."""

    max_cycles_per_fire_auction_phase: int = 250_000
    min_lane_basefee: int = 800
    max_lane_basefee: int = 2**62
    initial_lane_basefee: int = 0
    target_utilisation: Ratio = (1, 2)
    max_basefee_step: Ratio = (1, 8)
    lane_multiplier: Ratio = (1, 1)
    fairness_window_blocks: int = 1_000
    weight_min: Ratio = (1, 1)
    weight_max: Ratio = (2, 1)
    economy: Ratio = (4, 5)
    standard: Ratio = (1, 1)
    fast: Ratio = (3, 2)
    urgent: Ratio = (5, 2)
    gba_call_cycles: int = 10_000
    max_gba_calls_per_block: int = 1_000
    gc_scan_per_block: int = 25_000
    bid_deprecation_blocks: int = 0
    slope: str = "literal"
    settlement: str = "additive"
    packing_account: str = "use"
    packing_misfit: str = "skip"
    classification: str = "eager"
    default_gba: str = "schedule"
    tie_break: str = "id"
    weight: str = "multiplicative"
    median: str = "mean"
    fairness_subject: str = "actor"
    max_allowed_delays: int = 100
    excessive_delay: str = "off"


class Calendar(NamedTuple):
    """The sizes of the calendar queue's tiers, field by field; every chain has them."""

    ring_size: int = 4_096
    epoch_length: int = 3_600
    epoch_horizon: int = 24


TIERS: Final = ("economy", "standard", "fast", "urgent")
"""Names of the priority tiers, which are also the fields of their multipliers."""


def _is_part(field: object) -> bool:
    ratio = ratio_of(field)
    return ratio is not None and 0 < ratio < 1


_RULES: Final[Sequence[FieldRule]] = (
    *(whole(), whole(8), whole(0, 2**62), whole(), _is_part, _is_part, is_ratio),
    *(whole(1), *(is_ratio,) * 6, whole(), whole(), whole(), whole()),
    *(
        one_of("literal", "classic"),
        one_of("additive", "literal", "intro"),
        one_of("use", "limit"),
        one_of("skip", "stop"),
    ),
    *(one_of("eager", "cursor"), one_of("schedule", "fire"), one_of("id", "age", "append")),
    *(one_of("multiplicative", "additive"), one_of("mean", "lower", "upper"), one_of("actor", "deployer")),
    *(whole(), one_of("off", "force", "cancel")),
)


def lane_config_of(fields: Sequence[Any]) -> LaneConfig | None:
    """Return the configuration of these fields, or None if a field breaks its rule."""
    if not hold(_RULES, fields):
        return None
    config = LaneConfig(*fields)
    return config if Fraction(*config.weight_min) <= Fraction(*config.weight_max) else None


def calendar_of(fields: Sequence[Any]) -> Calendar | None:
    """Return the calendar profile of these fields, or None if a field breaks its rule."""
    rules = (whole(1, 65_536), whole(1), whole(0, 65_536))
    return Calendar(*fields) if hold(rules, fields) else None


def is_excessive(delays: int, config: LaneConfig) -> bool:
    """Return whether a timer that was passed over in this number of blocks has waited too long."""
    return delays >= config.max_allowed_delays + 1


def lane_key_of(name: str) -> str:
    """Return the key by which governance knows a field."""
    return f"system:cip1:{'priority_tier_multipliers.' if name in TIERS else ''}{name}"
