"""One transaction in a block: its admission, its execution and its fees.

Admission checks everything before it writes anything. Fees are charged at the limits and the maximum fees, and the
unused part is refunded. The basefee part is burned, and the tip goes to the proposer (docs/chain.md, transactions).
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from scheduler import Basefees, Rejected
from validators.actors import CallResult, Frame, Meter, OutOfGas, Revert, Status
from validators.actors.metering import (
    SYSTEM_INSTRUCTION_CYCLES,
    TRANSACTION_BYTE_CELLS,
    TRANSACTION_CYCLES,
    TRANSFER_CYCLES,
)
from validators.execution.blocks import (
    TRANSACTION_BYTES_MAX,
    CancelAll,
    ExecuteActor,
    SystemInstruction,
    Transaction,
    Transfer,
    address_of,
    decode_transaction,
)
from validators.execution.errors import InvalidBlockError, InvalidEncodingError, InvalidTransactionError
from validators.execution.ledger import StateLedger
from validators.execution.receipts import TransactionReceipt, as_chain_events
from validators.execution.world import ChainWorld


class Candidate(NamedTuple):
    """A transaction that may enter a block; `place` is its place in the block when a block is checked."""

    transaction: Transaction
    encoded: bytes
    place: int = 0

    @property
    def max_fee_per_cycle(self) -> int:
        """The maximum that its sender pays for a cycle."""
        return self.transaction.max_fee_per_cycle

    @property
    def priority_fee_per_cycle(self) -> int:
        """The maximum part of it that is for the proposer."""
        return self.transaction.priority_fee_per_cycle

    @property
    def cycles_limit(self) -> int:
        """The most cycles that it may use."""
        return self.transaction.cycles_limit

    @property
    def cells_limit(self) -> int:
        """The most cells that it may use."""
        return self.transaction.cells_limit


@dataclass(frozen=True, slots=True)
class Room:
    """The rest of a block's limits."""

    cycles: int
    cells: int


@dataclass(frozen=True, slots=True)
class Admitted:
    """A transaction that is valid in the block: its sender's address and the amount charged before it runs."""

    transaction: Transaction
    encoded: bytes
    sender: bytes
    prepaid: int


def decoded(transactions: Iterable[bytes]) -> Iterator[Candidate]:
    """Yield a block's transactions, each decoded when it is its turn; raises InvalidBlockError."""
    for place, encoded in enumerate(transactions):
        try:
            yield Candidate(decode_transaction(encoded), encoded, place)
        except InvalidEncodingError as error:
            raise InvalidBlockError(f"transaction {place}: {error}") from None


def admit(transaction: Transaction, encoded: bytes, *, ledger: StateLedger, basefees: Basefees, room: Room) -> Admitted:
    """Check everything but the signature, and write nothing.

    Raises:
        InvalidTransactionError: Size, limits, fees, nonce or balance are wrong here.
    """
    _check_limits(transaction, len(encoded), room)
    _check_fees(transaction, basefees)
    sender = address_of(transaction.public_key)
    account = ledger.account(sender)
    if transaction.nonce != account.nonce:
        raise InvalidTransactionError(f"nonce {transaction.nonce} where {account.nonce} comes next")
    prepaid = (
        transaction.cycles_limit * transaction.max_fee_per_cycle
        + transaction.cells_limit * transaction.max_fee_per_cell
    )
    if account.balance < prepaid:
        raise InvalidTransactionError(f"balance {account.balance} does not cover {prepaid}")
    return Admitted(transaction, encoded, sender, prepaid)


def run_transaction(
    admitted: Admitted, *, world: ChainWorld, ledger: StateLedger, basefees: Basefees, proposer: bytes
) -> TransactionReceipt:
    """Charge, run, refund, burn and tip; return the receipt."""
    transaction = admitted.transaction
    digest = hashlib.sha256(admitted.encoded).digest()
    # The whole limit first, so that the call cannot spend units that it may still owe for its own gas.
    ledger.charge(admitted.sender, admitted.prepaid)
    # Outside the call's savepoint, because a reverted transaction uses up its nonce.
    ledger.count_transaction(admitted.sender)
    meter = Meter(transaction.cycles_limit, transaction.cells_limit)
    intrinsic_cells = len(admitted.encoded) * TRANSACTION_BYTE_CELLS
    meter.use(TRANSACTION_CYCLES, intrinsic_cells)
    result = _perform(admitted, digest, world, meter)
    # A revert refunds the cells of discarded writes; the transaction itself stays in the block.
    cells = result.cells if result.status is Status.OK else intrinsic_cells
    burned = result.cycles * basefees.cycle + cells * basefees.cell
    tip = result.cycles * tip_per_cycle(transaction, basefees)
    ledger.burn(burned)
    ledger.credit(proposer, tip)
    ledger.credit(admitted.sender, admitted.prepaid - burned - tip)
    return TransactionReceipt(
        digest, int(result.status), result.error, result.cycles, cells, burned, tip, as_chain_events(result.events)
    )


def tip_per_cycle(transaction: Transaction, basefees: Basefees) -> int:
    """Return the proposer's tip for each cycle used: the stated priority as far as the maximum fee allows."""
    # Never negative, because a maximum below the basefee was refused before.
    return min(transaction.priority_fee_per_cycle, transaction.max_fee_per_cycle - basefees.cycle)


def _check_limits(transaction: Transaction, size: int, room: Room) -> None:
    if size > TRANSACTION_BYTES_MAX:
        raise InvalidTransactionError(f"{size} bytes exceed {TRANSACTION_BYTES_MAX}")
    if transaction.cycles_limit < TRANSACTION_CYCLES or transaction.cells_limit < size * TRANSACTION_BYTE_CELLS:
        raise InvalidTransactionError(
            f"limits of {transaction.cycles_limit} cycles and {transaction.cells_limit} cells do not cover its own"
        )
    if transaction.cycles_limit > room.cycles or transaction.cells_limit > room.cells:
        raise InvalidTransactionError(
            f"limits exceed the {room.cycles} cycles and {room.cells} cells left in the block"
        )


def _check_fees(transaction: Transaction, basefees: Basefees) -> None:
    if transaction.max_fee_per_cycle < basefees.cycle or transaction.max_fee_per_cell < basefees.cell:
        raise InvalidTransactionError(
            f"maximum fees {transaction.max_fee_per_cycle} and {transaction.max_fee_per_cell} are below "
            f"the basefees {basefees.cycle} and {basefees.cell}"
        )
    if transaction.priority_fee_per_cycle > transaction.max_fee_per_cycle:
        raise InvalidTransactionError(
            f"priority fee {transaction.priority_fee_per_cycle} exceeds the maximum {transaction.max_fee_per_cycle}"
        )


def _perform(admitted: Admitted, digest: bytes, world: ChainWorld, meter: Meter) -> CallResult:
    call = admitted.transaction.call
    if isinstance(call, Transfer):
        return _transfer(admitted.sender, call, world, meter)
    if not isinstance(call, ExecuteActor):
        return _instruct(admitted.sender, call, world, meter)
    frame = Frame(call.actor, admitted.sender, digest, admitted.transaction.nonce)
    return world.call(frame, meter, handler=call.handler, payload=call.payload)


def _instruct(sender: bytes, instruction: SystemInstruction | CancelAll, world: ChainWorld, meter: Meter) -> CallResult:
    try:
        meter.use(SYSTEM_INSTRUCTION_CYCLES)
        events = world.obey(sender, instruction)
    except OutOfGas:
        return CallResult(Status.OUT_OF_GAS, "OutOfGas", meter.cycles, 0, ())
    except Rejected as error:
        world.refused("instruct", error)
        return CallResult(Status.REVERTED, error.name, meter.cycles, 0, ())
    return CallResult(Status.OK, "", meter.cycles, meter.cells, tuple(events))


def _transfer(sender: bytes, call: Transfer, world: ChainWorld, meter: Meter) -> CallResult:
    try:
        meter.use(TRANSFER_CYCLES)
    except OutOfGas:
        return CallResult(Status.OUT_OF_GAS, "OutOfGas", meter.cycles, 0, ())
    if world.balance(sender) < call.amount:
        world.refused("transaction", Revert("InsufficientBalance"))
        return CallResult(Status.REVERTED, "InsufficientBalance", meter.cycles, 0, ())
    try:
        world.move(sender, call.to, call.amount)
    except Rejected as error:
        world.refused("transaction", error)
        return CallResult(Status.REVERTED, error.name, meter.cycles, 0, ())
    return CallResult(Status.OK, "", meter.cycles, meter.cells, ())
