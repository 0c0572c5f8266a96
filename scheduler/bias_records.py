"""The parameters and tables of the policy `bias-auction` (docs/state.md, the bias auction)."""

from typing import Annotated, Final, Literal

import msgspec

from scheduler.bias import EXPONENT_MAX, MILLION
from scheduler.errors import InvalidInput
from scheduler.tables import StateTable
from scheduler.types import MAX_U63, Parameters, Ratio, means

LAMBDA_LIMIT: Final = EXPONENT_MAX * MILLION
"""The greatest `lambda_max`, in millionths: above it a single block would take the bias to its bound."""


class BiasConfig(Parameters, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The parameters of the auction and the switch between payments, read once per block.

    Lambdas are in millionths, `value_decay` in units per block, `target_wait` in blocks.
    """

    bias_lambda: Annotated[
        int, means("The lambda from which the loop starts, in millionths: how fast a bias grows with the wait.")
    ] = 100_000
    reserve: Annotated[int, means("The least bid above 0, and the least payment, in units.")] = 10
    max_fires_per_block: Annotated[int, means("Timers that win in a block.")] = 256
    max_fires_per_actor: Annotated[int, means("Timers of one actor that win in a block.")] = 32
    payment: Annotated[
        Literal["vcg-literal", "vcg-critical", "first-price"],
        means("A winner pays by the text's formula, its least winning bid (`vcg-critical`), or its own bid."),
    ] = "vcg-literal"
    lambda_window_blocks: Annotated[int, means("Blocks after which lambda is set anew; 0: never.")] = 100
    value_decay: Annotated[
        Ratio, means("Units that a timer's value loses in a block; lambda falls where the bias outgrows it.")
    ] = (1, 1)
    target_wait: Annotated[int, means("Blocks; lambda rises while the worst wait is longer.")] = 100
    lambda_min: Annotated[int, means("The lowest lambda, in millionths.")] = 1_000
    lambda_max: Annotated[int, means("The greatest lambda, in millionths.")] = 1_000_000
    gba_call_cycles: Annotated[int, means("Cycles that the call of an agent costs, and may use.")] = 10_000
    max_watches_per_actor: Annotated[int, means("Timers of one actor that may watch values.")] = 64
    max_keys_per_watch: Annotated[int, means("Keys that one timer may watch.")] = 8
    max_triggers_per_block: Annotated[int, means("Timers that changes of values trigger in a block.")] = 1_000

    def __post_init__(self) -> None:
        """Refuse what no chain can run on.

        Raises:
            InvalidInput: A number is out of its range, or the ratio has no meaning.
        """
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, int):
                _require(name, value, 0 <= value <= MAX_U63, "within 0..2^63-1")
        for name in ("max_fires_per_block", "max_fires_per_actor", "lambda_min", "max_keys_per_watch"):
            _require(name, getattr(self, name), getattr(self, name) > 0, "above 0")
        is_ratio = all(0 <= part <= MAX_U63 for part in self.value_decay) and self.value_decay[1] > 0
        _require("value_decay", self.value_decay, is_ratio, "two numbers within 0..2^63-1, the second above 0")
        _require("lambda_max", self.lambda_max, self.lambda_max <= LAMBDA_LIMIT, f"at most {LAMBDA_LIMIT}")
        low, high = self.lambda_min, self.lambda_max
        is_within = low <= self.bias_lambda <= high
        _require("bias_lambda", self.bias_lambda, is_within, f"within lambda_min and lambda_max, {low} and {high}")

    @classmethod
    def key_of(cls, field: str) -> str:
        """Return the key by which governance knows a field."""
        return "system:bias:" + field


class BiasBooks(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The data that one block of the policy leaves to the next: lambda, and the sums of the open window.

    `lambda_` is in millionths, `base_lambda` the `bias_lambda` that it started from, `waited` and `worst_wait` in
    blocks.
    """

    lambda_: int
    base_lambda: int
    window: int
    window_start: int
    fires: int = 0
    waited: int = 0
    worst_wait: int = 0


class BiasWindow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A closed window of the lambda loop; heights are its first and last block's."""

    first_height: int
    last_height: int
    fires: int
    waited: int
    worst_wait: int
    lambda_: int
    next_lambda: int


class SlotRows(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The indexes of the first slot row and of the one to come."""

    head: int
    tail: int


class SlotRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The first block of a slot, or a later one that triggered timers: those of the slot from `first` on.

    `first` is a sequence of the slot's bucket, 0 in the slot's first block.
    """

    slot: int
    height: int
    first: int


BIAS_CONFIG: Final = StateTable(0x1C, "bias configuration", BiasConfig)
BIAS_BOOKS: Final = StateTable(0x1D, "bias books", BiasBooks)
BIAS_WINDOW: Final = StateTable(0x1E, "bias window", BiasWindow)
SLOT_ROWS: Final = StateTable(0x1F, "slot rows", SlotRows)
SLOT_ROW: Final = StateTable(0x20, "slot row", SlotRow)

BIAS_TABLES: Final = (BIAS_BOOKS, BIAS_WINDOW, SLOT_ROWS, SLOT_ROW)
"""The tables that blocks of the policy write, beside the bids of `scheduler.escrow`."""


def window_key(window: int) -> bytes:
    """Return the key of a closed window."""
    return BIAS_WINDOW.key(window.to_bytes(8, "big"))


def row_key(index: int) -> bytes:
    """Return the key of a slot row."""
    return SLOT_ROW.key(index.to_bytes(8, "big"))


def _require(name: str, value: object, is_valid: bool, allowed: str) -> None:  # noqa: FBT001 - what is required
    if not is_valid:
        raise InvalidInput(name, f"{value} must be {allowed}")
