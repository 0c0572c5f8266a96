"""Configuration and tables of the policy `bias-auction` (docs/state.md, "The bias auction")."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from checker.oracle.contents import OwnTable, plain_key
from checker.oracle.parameters import FieldRule, Ratio, hold, is_ratio, one_of, whole
from checker.oracle.records import be8

MOST_LAMBDA: Final = 80_000_000


class BiasConfig(NamedTuple):
    """The bias configuration, field by field; lambdas are in millionths."""

    bias_lambda: int = 100_000
    reserve: int = 10
    max_fires_per_block: int = 256
    max_fires_per_actor: int = 32
    payment: str = "vcg-literal"
    lambda_window_blocks: int = 100
    value_decay: Ratio = (1, 1)
    target_wait: int = 100
    lambda_min: int = 1_000
    lambda_max: int = 1_000_000
    gba_call_cycles: int = 10_000
    max_watches_per_actor: int = 64
    max_keys_per_watch: int = 8
    max_triggers_per_block: int = 1_000


class BiasBooks(NamedTuple):
    """Lambda and the sums of its window at the end of a block, field by field as their record."""

    lambda_: int
    base_lambda: int
    window: int
    window_start: int
    fires: int = 0
    waited: int = 0
    worst_wait: int = 0


def _row(_key: object, row: Any) -> list[object]:  # noqa: ANN401 - a record of whatever table
    return list(row)


CONFIG: Final = OwnTable(lambda _: plain_key(0x1C, b""), _row)
BOOKS: Final = OwnTable(lambda _: plain_key(0x1D, b""), _row)
WINDOWS: Final = OwnTable(lambda window: plain_key(0x1E, be8(window)), _row)
SLOT_ROWS: Final = OwnTable(lambda _: plain_key(0x1F, b""), _row)
SLOT_ROW: Final = OwnTable(lambda index: plain_key(0x20, be8(index)), _row)

_RULES: Final[Sequence[FieldRule]] = (
    *(whole(), whole(), whole(1), whole(1), one_of("vcg-literal", "vcg-critical", "first-price"), whole(), is_ratio),
    *(whole(), whole(1), whole(0, MOST_LAMBDA), whole(), whole(), whole(1), whole()),
)


def bias_config_of(fields: Sequence[Any]) -> BiasConfig | None:
    """Return the configuration of these fields, or None if a field breaks its rule."""
    if not hold(_RULES, fields):
        return None
    config = BiasConfig(*fields)
    return config if config.lambda_min <= config.bias_lambda <= config.lambda_max else None


def bias_key_of(name: str) -> str:
    """Return the key by which governance knows a field."""
    return f"system:bias:{name}"
