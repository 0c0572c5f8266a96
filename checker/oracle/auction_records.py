"""Configuration and tables of the policy `gba-auction` (docs/state.md, "The GBA auction")."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from checker.oracle.contents import OwnTable, plain_key
from checker.oracle.parameters import FieldRule, Ratio, hold, is_ratio, one_of, ratio_of, whole
from checker.oracle.records import be8


class AuctionConfig(NamedTuple):
    """The auction configuration, field by field."""

    ema_lambda: Ratio = (1, 5)
    weight_initial: Ratio = (1, 1)
    weight_min: Ratio = (1, 2)
    weight_max: Ratio = (2, 1)
    starvation_floor: Ratio = (4, 5)
    starvation_deferrals: int = 3
    reset_epoch: int = 0
    rescale_epoch: int = 0
    rescale: Ratio = (1, 1)
    gba_call_cycles: int = 10_000
    max_gba_calls_per_block: int = 1_000
    effective_tip: str = "bid"
    budget: str = "hard"
    timer_phase: str = "after"
    tie_break: str = "id"


class Books(NamedTuple):
    """The auction's books at the end of a block, field by field as their record."""

    used_cycles: int
    epoch: int
    actors: int
    budget_cycles: int


class Tally(NamedTuple):
    """An actor's part in the auctions of an epoch, field by field as its record."""

    fires: int = 0
    succeeded: int = 0
    tips: int = 0
    lateness: int = 0
    cycles: int = 0
    deferrals: int = 0


class Weight(NamedTuple):
    """An actor's weight in millionths, and the epoch in which it holds."""

    epoch: int
    millionths: int


def _row(_key: object, row: Any) -> list[object]:  # noqa: ANN401 - a record of whatever table
    return list(row)


CONFIG: Final = OwnTable(lambda _: plain_key(0x16, b""), _row)
BOOKS: Final = OwnTable(lambda _: plain_key(0x17, b""), _row)
ACTORS: Final = OwnTable(lambda index: plain_key(0x18, be8(index)), lambda _, actor: [actor])
TALLIES: Final = OwnTable(lambda actor: plain_key(0x19, actor), _row)
WEIGHTS: Final = OwnTable(lambda actor: plain_key(0x1A, actor), _row)
CURSOR: Final = OwnTable(lambda _: plain_key(0x1B, b""), _row)

GREATEST_WEIGHT: Final = 10**6


def _is_at_most_one(field: object) -> bool:
    ratio = ratio_of(field)
    return ratio is not None and ratio <= 1


_RULES: Final[Sequence[FieldRule]] = (
    *(_is_at_most_one, is_ratio, is_ratio, is_ratio, is_ratio, whole(1), whole(), whole(), is_ratio, whole(), whole()),
    *(one_of("bid", "intro"), one_of("hard", "literal"), one_of("after", "before"), one_of("id", "append")),
)


def auction_config_of(fields: Sequence[Any]) -> AuctionConfig | None:
    """Return the configuration of these fields, or None if a field breaks its rule."""
    if not hold(_RULES, fields):
        return None
    config = AuctionConfig(*fields)
    least, most = Fraction(*config.weight_min), Fraction(*config.weight_max)
    is_bounded = least <= Fraction(*config.weight_initial) <= most <= GREATEST_WEIGHT
    return config if is_bounded and Fraction(*config.starvation_floor) <= most else None


def auction_key_of(name: str) -> str:
    """Return the key by which governance knows a field."""
    return f"system:gba:{name}"
