"""The rows of one height of a run: its blocks, one of them in full, and the replicas' parts; what `--json` prints.

Bytes are hexadecimal digits, amounts whole units; due, expiry and waits are in the chain's timebase.
"""

from typing import Any

import msgspec


class Party(msgspec.Struct, frozen=True):
    """An address, and its name; empty where the scenario gives it none."""

    address: str
    name: str

    def __str__(self) -> str:
        """The name, or the first digits of the address."""
        return self.name or self.address[:8]


class BlockLine(msgspec.Struct, frozen=True, kw_only=True):
    """A block of the height: `final`, `lost` or `refused`, its roots by the record, and who had it.

    `reason` says why a validator refused it. A block that is not lost yet is `open`.
    """

    block: str
    status: str
    view: int
    proposer: int
    state_root: str
    transactions: int
    final_on: list[int]
    executed_by: list[int]
    refused_by: list[int]
    reason: str = ""


class RootLine(msgspec.Struct, frozen=True, kw_only=True):
    """A block with a root that honest replicas came to; `is_final` is whether it became final for them."""

    block: str
    root: str
    is_final: bool
    replicas: list[int]


class AbsentReplica(msgspec.Struct, frozen=True, kw_only=True):
    """A replica that has no final block at the height, and why."""

    replica: int
    reason: str


class ReplicaExecution(msgspec.Struct, frozen=True, kw_only=True):
    """A block that a replica executed and kept: at which virtual time, for what, and to which root."""

    at_us: int
    block: str
    view: int
    mode: str
    root: str


class ReplicaPart(msgspec.Struct, frozen=True, kw_only=True):
    """The part of one replica at the height, in the order of its log.

    `final` is the block that became final for it, with `root`; both are empty without one. `left` are blocks that it
    dropped or took back, `refused` blocks that it would not certify.
    """

    replica: int
    mode: str
    mutants: list[str]
    executed: list[ReplicaExecution]
    final: str
    root: str
    left: list[str]
    refused: list[str]
    halted: str
    joined_by_snapshot_at: int | None


class CertificateLine(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of certificate of the block: the most signers that one had, and the replicas that held one."""

    certificate: str
    signers: int
    held_by: list[int]


class HeaderRow(msgspec.Struct, frozen=True, kw_only=True):
    """A block's header, and the chain that it is of."""

    block: str
    height: int
    view: int
    proposer: int
    parent: str
    timestamp_ms: int
    slot: int
    state_root: str
    tx_root: str
    receipts_root: str
    engine: str
    policy: str
    timebase: str
    validators: int
    certificates: list[CertificateLine]


class TransactionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction with its outcome; `refusal` says why it is not ok, `fee` is burned and tip together.

    Of a block whose execution broke off before it, status is `not run`.
    """

    index: int
    transaction: str
    sender: Party
    nonce: int
    kind: str
    call: str
    arguments: dict[str, Any]
    status: str
    refusal: str
    cycles: int
    cells: int
    burned: int
    tip: int
    fee: int


class FiredRow(msgspec.Struct, frozen=True, kw_only=True):
    """A timer that fired; `returned` is what came back of its deposit."""

    timer: str
    actor: Party
    fee_payer: Party
    handler: str
    due: int
    waited: int
    result: str
    gas_limit: int
    cycles: int
    cells: int
    burned: int
    tip: int
    deposit: int
    returned: int


class LeftRow(msgspec.Struct, frozen=True, kw_only=True):
    """A timer that left without a fire; `charged` is burned, `returned` is its deposit.

    Of an insolvent one, `required` is the most that its fire could cost, `available` what its payer had.
    """

    timer: str
    actor: Party
    fee_payer: Party
    exit: str
    due: int
    expires_at: int
    charged: int
    returned: int
    required: int | None = None
    available: int | None = None


class WaitingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A timer that waits at the end of the block, and why; `max_fee` and `tip` are None where it states none."""

    timer: str
    actor: Party
    fee_payer: Party
    due: int
    expires_at: int
    gas_limit: int
    max_fee: int | None
    tip: int | None
    deposit: int
    is_due: bool
    why: str


class TimerRows(msgspec.Struct, frozen=True, kw_only=True):
    """The timers of a block; the limits are None where its policy has none.

    `waiting_live` and `waiting_dead` are those that are due, `triggered` those that became due as the block ended,
    `waiting_later` those that are not due; `held_back` counts the live ones by reason. `waiting` is in waiting order.
    """

    now: int
    fired: list[FiredRow]
    left: list[LeftRow]
    waiting_live: int
    waiting_dead: int
    triggered: int
    waiting_later: int
    held_back: dict[str, int]
    lane_cycles: int
    lane_limit: int | None
    clean_up_cycles: int
    clean_up_limit: int | None
    waiting: list[WaitingRow]


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the block: its receipt, the transaction that made it, its fields, and both as text."""

    index: int
    receipt: int
    transaction: int | None
    event: str
    fields: dict[str, Any]
    text: str


class BlockRow(msgspec.Struct, frozen=True, kw_only=True):
    """A block in full, as one replica's code executes it.

    `root` is the root that the execution gives, empty where it broke off; `refusal` says why the block is refused.
    `source` says where the execution comes from. `summary` has the block in numbers, where it did not break off.
    """

    header: HeaderRow
    executed_as: int
    source: str
    root: str
    refusal: str
    transactions: list[TransactionRow]
    timers: TimerRows
    events: list[EventRow]
    summary: dict[str, int]


class DifferentReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """A receipt that is another one on another replica; None where one side has none."""

    receipt: int
    here: str | None
    elsewhere: str | None


class DifferentKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key of the state that another replica's execution writes otherwise, with both values."""

    key: str
    name: str
    here: str
    elsewhere: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The same block as another replica executes it, where that differs.

    `receipt_counts` are the numbers of receipts here and there. Where one of the two broke off, receipts are compared
    up to there, and no keys.
    """

    replica: int
    root: str
    refusal: str
    receipt_counts: tuple[int, int]
    receipts: list[DifferentReceipt]
    keys: list[DifferentKey]


class HeightReport(msgspec.Struct, frozen=True, kw_only=True):
    """One height of a run; `block` is None where the replica that was asked for executed none there.

    `is_agreed` is whether at most one block is final there and no two honest replicas came to different roots of one.
    `heights` are the first and the last that the record has a block of, `view_word` is the engine's word for a view.
    """

    run: str
    scenario: str
    seed: int
    verdict: str
    height: int
    heights: tuple[int, int]
    view_word: str
    blocks: list[BlockLine]
    is_agreed: bool
    roots: list[RootLine]
    absent: list[AbsentReplica]
    replica: ReplicaPart | None
    block: BlockRow | None
    comparison: Comparison | None
    notes: list[str]
