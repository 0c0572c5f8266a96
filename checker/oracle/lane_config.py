"""The lane configuration: its fields and the rule of each (docs/state.md, "The timer lane")."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

Ratio = Sequence[int]
"""Two integers, the second above zero; kept as stated, because the state holds the pair itself."""

MAX_INTEGER: Final = 2**63 - 1


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

FieldRule = Callable[[object], bool]


def _whole(least: int = 0, greatest: int = MAX_INTEGER) -> FieldRule:
    return lambda field: type(field) is int and least <= field <= greatest


def _ratio_of(field: object) -> Fraction | None:
    whole = _whole()
    if not isinstance(field, list | tuple) or len(field) != 2 or not all(whole(number) for number in field):
        return None
    return Fraction(*field) if field[1] else None


def _is_ratio(field: object) -> bool:
    return _ratio_of(field) is not None


def _is_part(field: object) -> bool:
    ratio = _ratio_of(field)
    return ratio is not None and 0 < ratio < 1


def _one_of(*names: str) -> FieldRule:
    return lambda field: isinstance(field, str) and field in names


_RULES: Final[Sequence[FieldRule]] = (
    *(_whole(), _whole(8), _whole(0, 2**62), _whole(), _is_part, _is_part, _is_ratio),
    *(_whole(1), *(_is_ratio,) * 6, _whole(), _whole(), _whole(), _whole()),
    *(
        _one_of("literal", "classic"),
        _one_of("additive", "literal", "intro"),
        _one_of("use", "limit"),
        _one_of("skip", "stop"),
    ),
    *(_one_of("eager", "cursor"), _one_of("schedule", "fire"), _one_of("id", "age", "append")),
    *(_one_of("multiplicative", "additive"), _one_of("mean", "lower", "upper"), _one_of("actor", "deployer")),
    *(_whole(), _one_of("off", "force", "cancel")),
)


def lane_config_of(fields: Sequence[Any]) -> LaneConfig | None:
    """Return the configuration of these fields, or None where a field breaks its rule."""
    if len(fields) != len(_RULES) or not all(rule(field) for rule, field in zip(_RULES, fields, strict=True)):
        return None
    config = LaneConfig(*fields)
    return config if Fraction(*config.weight_min) <= Fraction(*config.weight_max) else None


def calendar_of(fields: Sequence[Any]) -> Calendar | None:
    """Return the calendar profile of these fields, or None where a field breaks its rule."""
    rules = (_whole(1, 65_536), _whole(1), _whole(0, 65_536))
    is_profile = len(fields) == len(rules) and all(rule(field) for rule, field in zip(rules, fields, strict=True))
    return Calendar(*fields) if is_profile else None


def is_excessive(delays: int, config: LaneConfig) -> bool:
    """Return whether a timer that was passed over in this number of blocks has waited too long."""
    return delays >= config.max_allowed_delays + 1


def lane_key_of(name: str) -> str:
    """Return the key by which governance knows a field."""
    return f"system:cip1:{'priority_tier_multipliers.' if name in TIERS else ''}{name}"
