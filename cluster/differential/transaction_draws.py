"""Draws of the transactions of a differential block: calls that meet its timers, each from its own sender."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from nacl.signing import SigningKey

from checker.oracle.queue_records import key_of
from cluster.differential.cases import BlockCase, StatedTimer
from cluster.differential.draws import Draw, draw_digest
from cluster.workloads.boundary.scripts import script_of, timer
from validators.execution.blocks import (
    Call,
    ExecuteActor,
    SystemCancelTimer,
    SystemControlService,
    SystemExtendTimer,
    Transaction,
    Transfer,
    address_of,
    transaction_signing_bytes,
)
from validators.identity import public_key_of

COUNTS: Final = (0, 0, 1, 2, 4)
"""Numbers of transactions: in two of five blocks the timers alone use the payers' funds."""

CYCLES: Final = (20_000, 20_000, 5_000, 1_500)
CELLS: Final = 9_000
AMOUNTS: Final = (1, 900, 400_000, 10**10)
SERVICE: Final = ("pause", "unpause", "start_shutdown", "continue_shutdown", "re_initialize")
MESSAGE_CYCLES: Final = 3_000


def draw_transactions(case: BlockCase, actors: Sequence[bytes], scripts: Sequence[bytes], draw: Draw) -> BlockCase:
    """Return a case with transactions, their senders' accounts, and a system deployer among them."""
    senders = [draw_digest(draw) for _ in range(COUNTS[draw(len(COUNTS))])]
    for place, secret in enumerate(senders):
        address, nonce = address_of(public_key_of(secret)), draw(3)
        call = _system_call(case, draw) if draw(4) == 0 else _call(case, actors, scripts, draw)
        if not isinstance(call, Transfer | ExecuteActor) and (place or draw(8)):
            deployers = (*case.genesis.system_deployers, address)
            genesis = msgspec.structs.replace(case.genesis, system_deployers=deployers)
            case = msgspec.structs.replace(case, genesis=genesis)
        transaction = sign(_unsigned(case, call, nonce, draw), secret)
        charge = transaction.cycles_limit * transaction.max_fee_per_cycle
        charge += transaction.cells_limit * transaction.max_fee_per_cell
        # Sometimes 1 unit less than is required in advance: no block may have this transaction.
        account = (address, charge + (10**11, 0, 0, 1, 10**11, 10**11, 10**11, -(draw(4) == 0))[draw(8)], nonce)
        case = msgspec.structs.replace(
            case, accounts=(*case.accounts, account), transactions=(*case.transactions, transaction)
        )
    return case


def sign(transaction: Transaction, secret: bytes) -> Transaction:
    """Return a transaction with the sender and the signature of a key."""
    owned = msgspec.structs.replace(transaction, public_key=public_key_of(secret))
    signature = SigningKey(secret).sign(transaction_signing_bytes(owned)).signature
    return msgspec.structs.replace(owned, signature=signature)


def _unsigned(case: BlockCase, call: Call, nonce: int, draw: Draw) -> Transaction:
    cycle, cell = case.basefees
    tip = (0, 1, 40, 300, cycle)[draw(5)]
    room = case.genesis.block_cycles
    return Transaction(
        public_key=bytes(32),
        nonce=nonce,
        cycles_limit=min(CYCLES[draw(len(CYCLES))], max(room // (2 + draw(3)), 1_000)),
        cells_limit=min(CELLS, max(case.genesis.block_cells // (1 + draw(3)), 1)),
        max_fee_per_cycle=cycle + tip + (0, 0, 40, 5_000)[draw(4)],
        max_fee_per_cell=cell + draw(3),
        priority_fee_per_cycle=tip,
        call=call,
        signature=bytes(64),
    )


def _call(case: BlockCase, actors: Sequence[bytes], scripts: Sequence[bytes], draw: Draw) -> Call:
    """Return a transfer to a payer, or a script that pays, cancels, extends, schedules or sends."""
    if draw(4) == 0 or not case.timers:
        return Transfer(actors[draw(len(actors))], AMOUNTS[draw(len(AMOUNTS))])
    target = case.timers[draw(len(case.timers))]
    if draw(5) == 0:
        return ExecuteActor(target.actor, "run", scripts[draw(len(scripts))])
    steps = [_step(case, target, actors, draw) for _ in range(1 + draw(3))]
    return ExecuteActor(target.actor, "run", script_of(*steps, patience=(1, 1, 2, 0)[draw(4)]))


def _step(case: BlockCase, target: StatedTimer, actors: Sequence[bytes], draw: Draw) -> Any:  # noqa: ANN401 - a step of a script
    name, other, amount = _name_of(case, target), actors[draw(len(actors))], AMOUNTS[draw(len(AMOUNTS))]
    steps = (
        ("pay", other, amount),
        ("pay", other, amount),
        ("cancel", name),
        ("cancel", name),
        ("extend", name, draw(5)),
        timer(b"a", 1 + draw(2), script_of(("pay", other, amount)), gas=2_000),
        ("send", target.actor, "note", b"sent", MESSAGE_CYCLES),
        ("weigh", b"w", other),
    )
    return steps[draw(len(steps))]


def _name_of(case: BlockCase, target: StatedTimer) -> bytes:
    """Return the name by which a timer's actor refers to it: in the queue the key of its entry."""
    if case.queue is None or target.quote is None or target.quote.fee is None:
        return target.timer_id
    return key_of(target.due * case.genesis.slot_ms, target.quote.fee, target.timer_id)


def _system_call(case: BlockCase, draw: Draw) -> Call:
    timer_id = case.timers[draw(len(case.timers))].timer_id
    if case.queue is not None and draw(2):
        return SystemControlService(SERVICE[draw(len(SERVICE))], draw(3))
    if draw(2):
        return SystemCancelTimer(timer_id)
    return SystemExtendTimer(timer_id, case.now + draw(9))
