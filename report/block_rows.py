"""The rows of a height of a run, which `--json` prints: its blocks, one block in full, and the replicas' parts.

Bytes are hexadecimal digits, and amounts are whole units. Due, expiry and waits count in the chain's timebase.
"""

from typing import Any

import msgspec


class Party(msgspec.Struct, frozen=True):
    """An address, and its name in the scenario; the name may be empty."""

    address: str
    name: str

    def __str__(self) -> str:
        """The name, or the first digits of the address."""
        return self.name or self.address[:8]


class BlockLine(msgspec.Struct, frozen=True, kw_only=True):
    """A block of the height: its status, its root in the record, and the replicas that executed or refused it.

    The status is `final`, `lost`, `refused`, or `open` until the block is lost. `reason` says why a validator refused
    it.
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
    """A block with a root of honest replicas; `is_final` says whether these replicas finalized the block."""

    block: str
    root: str
    is_final: bool
    replicas: list[int]


class AbsentReplica(msgspec.Struct, frozen=True, kw_only=True):
    """A replica without a final block at the height, and the reason."""

    replica: int
    reason: str


class ReplicaExecution(msgspec.Struct, frozen=True, kw_only=True):
    """A block that a replica executed and kept: the virtual time, the purpose, and the root."""

    at_us: int
    block: str
    view: int
    mode: str
    root: str


class ReplicaPart(msgspec.Struct, frozen=True, kw_only=True):
    """The part of one replica at the height, in the order of its log.

    `final` is the block that the replica finalized, and `root` its root; both may be empty. `left` are blocks that the
    replica dropped or rewound, `refused` blocks that it would not certify.
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
    """A kind of certificate of the block: the greatest number of signers, and the replicas that held a certificate."""

    certificate: str
    signers: int
    held_by: list[int]


class HeaderRow(msgspec.Struct, frozen=True, kw_only=True):
    """A block's header, and the settings of its chain."""

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
    """A transaction with its outcome; `refusal` is the reason for a failure, and `fee` is the sum of burned and tip.

    The status is `not run` if the execution aborted before the transaction.
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
    """A timer that fired; `returned` is the returned part of its deposit."""

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
    """A timer that left without a fire; `charged` is the burned amount, `returned` its deposit.

    For an insolvent timer, `required` is the greatest cost of its fire, and `available` its payer's balance.
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
    """A timer that waits at the end of the block, and the reason; `max_fee` and `tip` are None if it states none."""

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
    """The timers of a block; a limit is None if the policy has no such limit.

    `waiting_live` and `waiting_dead` count due timers, `triggered` the timers that became due as the block ended, and
    `waiting_later` the timers due later. `held_back` counts live due timers by reason. `waiting` is in waiting order.
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

    `root` is the executed root, empty after an aborted execution. `refusal` is the reason to refuse the block. `source`
    names the origin of the execution. `summary` has the block's counts, and is empty after an aborted execution.
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
    """A receipt that differs on another replica; None for a side without this receipt."""

    receipt: int
    here: str | None
    elsewhere: str | None


class DifferentKey(msgspec.Struct, frozen=True, kw_only=True):
    """A state key with different values on two replicas, and both values."""

    key: str
    name: str
    here: str
    elsewhere: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The differing execution of the same block by another replica.

    `receipt_counts` are the numbers of receipts here and on the other replica. If an execution aborted, receipts are
    compared up to the abort, and keys are not compared.
    """

    replica: int
    root: str
    refusal: str
    receipt_counts: tuple[int, int]
    receipts: list[DifferentReceipt]
    keys: list[DifferentKey]


class HeightReport(msgspec.Struct, frozen=True, kw_only=True):
    """A height of a run; `block` is None if the chosen replica executed no block at this height.

    `is_agreed` means that at most one block is final, and that all honest replicas have the same root of each block.
    `heights` are the first and the last height with a block in the record. `view_word` is the engine's word for a view.
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


class ToldBlockRow(msgspec.Struct, frozen=True, kw_only=True):
    """A block of an outside application: its transactions in hexadecimal digits, a replica's root, and its events.

    `events` is None if the record has no answer with this root.
    """

    header: HeaderRow
    replica: int
    root: str
    transactions: list[str]
    events: list[dict[str, Any]] | None


class ToldHeightReport(HeightReport, frozen=True, kw_only=True):
    """A height of a run of an outside application; in place of `block` it has the application's answer."""

    told: ToldBlockRow | None
