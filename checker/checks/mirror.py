"""The checker's own copy of the state, built from the changes of the first validator to apply each height.

Every block-wise check sees a height once, as a SettledBlock, before the mirror applies the block's changes.
`write-sets` compares them with the changes of the other validators.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from checker.tables import TIMER_CONFIG_KEY
from scheduler import MAX_U63, Guarantees, InvalidInput, LaneConfig, Parameters, Policy, TimerConfig
from validators.execution.blocks import Header
from validators.execution.phases import PhaseEntry
from validators.execution.receipts import ChainEvent, TimerReceipt, TransactionReceipt
from validators.execution.summary import BlockSummary

HAS_LANE_BUDGET: Final[Mapping[str, bool]] = {
    "fifo": True,
    "fifo-free": False,
    "eip1559": True,
    "gba-auction": True,
    "bias-auction": True,
    "aptos": False,
}
"""Whether the lane bounds the fires of a block, by policy, restated from docs/spec.md: a policy may be wrong about
itself. The check believes a policy of another package.
"""


class SettledBlock(NamedTuple):
    """A block at the height after the mirror's, with the state before it.

    `now` is the slot or the height, by the chain's timebase. `before` is the state before the block; `config`, `lane`
    and `own` are the timer configuration, the lane's configuration (or None) and the policy's own parameters in this
    state. `guarantees` are the promises of the policy. Without `has_lane_budget` fires have no budget. `root` is the
    root of the first replica that applied the block. `told` and `included` are reports of an outside application.
    """

    header: Header
    digest: bytes
    root: bytes
    transactions: Sequence[bytes]
    length_bytes: int
    parent_view: int
    now: int
    receipts: tuple[TransactionReceipt | TimerReceipt, ...]
    changes: Mapping[bytes, bytes | None]
    before: Mapping[bytes, bytes]
    config: TimerConfig
    summary: BlockSummary
    lane: LaneConfig | None = None
    guarantees: Guarantees = Guarantees()
    has_lane_budget: bool = True
    phases: Sequence[PhaseEntry] = ()
    own: Parameters | None = None
    told: Sequence[Mapping[str, object]] = ()
    included: Sequence[bytes] = ()

    @property
    def height(self) -> int:
        """The block's height."""
        return self.header.height

    @property
    def view(self) -> int:
        """The view in which it was proposed."""
        return self.header.view

    def events(self) -> Iterator[ChainEvent]:
        """Yield all events of its receipts, in their order."""
        for receipt in self.receipts:
            if isinstance(receipt, TransactionReceipt):
                yield from receipt.events
            else:
                yield receipt.event

    @property
    def lane_cycles_max(self) -> int:
        """The cycles that fires may use in a block whose execution lane is not paused."""
        return self.config.lane_timer_cycles if self.has_lane_budget else MAX_U63


def included_in(block: SettledBlock) -> Iterator[bytes]:
    """Yield the digests of the pooled transactions that are in a block."""
    yield from (hashlib.sha256(encoded).digest() for encoded in block.transactions)
    yield from block.included


class Mirror:
    """The state after `height`: state key to encoded value."""

    def __init__(self, genesis_values: Mapping[bytes, bytes]) -> None:
        self.height = 0
        self.values = dict(genesis_values)
        self._config = (b"", TimerConfig())

    def config(self) -> TimerConfig:
        """Return the timer configuration that holds for the next block.

        Where the state has no readable configuration, the last readable configuration stays.
        """
        encoded = self.values.get(TIMER_CONFIG_KEY, b"")
        if encoded != self._config[0]:
            self._config = (encoded, read_timer_config(encoded, self._config[1]))
        return self._config[1]

    def parameters(self, policy: Policy) -> Parameters | None:
        """Return the policy's own parameters for the next block; None where they cannot be read."""
        table = policy.config_table
        encoded = None if table is None else self.values.get(table.key())
        try:
            return None if table is None or encoded is None else msgspec.msgpack.decode(encoded, type=table.record)
        except (msgspec.MsgspecError, InvalidInput):
            return None

    def take(self, changes: Mapping[bytes, bytes | None]) -> None:
        """Apply the changes of the next height."""
        self.height += 1
        take_changes(self.values, changes)


def take_changes(values: dict[bytes, bytes], changes: Mapping[bytes, bytes | None]) -> None:
    """Apply one block's changes to a state."""
    for key, value in changes.items():
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value


def read_timer_config(encoded: bytes | None, otherwise: TimerConfig) -> TimerConfig:
    """Return a stored timer configuration; `otherwise` where it is missing or malformed."""
    try:
        return otherwise if encoded is None else msgspec.msgpack.decode(encoded, type=TimerConfig)
    except (msgspec.MsgspecError, InvalidInput):
        return otherwise
