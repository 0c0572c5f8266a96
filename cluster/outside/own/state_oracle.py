"""The answers of the oracle to the cases of level 0."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import msgspec

from checker.oracle.bias_scores import bias
from checker.oracle.blocks import is_signed, next_basefee
from checker.oracle.calls import DEFAULT_HANDLER
from checker.oracle.contents import Quote, Timer, hashed_key, plain_key, storage_key
from checker.oracle.lane_config import Calendar
from checker.oracle.market import tier_tip
from checker.oracle.merkle import list_root
from checker.oracle.operations import OperationLog
from checker.oracle.proofs import prove_operation, prove_root, prove_update
from checker.oracle.queue_records import Token, bcs_of, key_of, slot_of, txn_id_of
from checker.oracle.records import (
    MalformedError,
    address_of,
    be8,
    keccak256,
    read_block,
    read_transaction,
    sha256,
    signing_bytes,
    write,
)
from checker.oracle.tiers import radix_root, tier_of
from checker.oracle.timers import read_convention
from cluster.fixtures.cases import plain
from cluster.fixtures.state_form import (
    AppendBatch,
    BasefeeAnswer,
    BasefeeInput,
    BcsIdAnswer,
    BcsIdInput,
    BiasAnswer,
    BiasInput,
    BlockBytesAnswer,
    BlockBytesInput,
    EntryIdAnswer,
    EntryIdInput,
    HandlerAnswer,
    HandlerInput,
    ListAnswer,
    ListInput,
    LogAnswer,
    LogInput,
    LogMoment,
    OverflowAnswer,
    OverflowInput,
    ProofAnswer,
    ProofInput,
    StateInput,
    StateKeyAnswer,
    StateKeyInput,
    TierAnswer,
    TierInput,
    TierTipAnswer,
    TierTipInput,
    TimerIdAnswer,
    TimerIdInput,
    TransactionAnswer,
    TransactionInput,
    UndoBatches,
    VerifyAnswer,
    VerifyInput,
)

_FIXED_BYTES: Final = 65
_UPDATE: Final = b"\xd2"
_COMMIT: Final = b"\xd3"


class BareLog(OperationLog):
    """A log whose values have 32 bytes and stand without their length."""

    def _append(self, operation: bytes, key: bytes | None) -> None:
        super()._append(operation[:33] + operation[34:] if operation[:1] == _UPDATE else operation, key)


class FixedLog(BareLog):
    """The same with operations of one length, in which a floor has 8 bytes."""

    def _append(self, operation: bytes, key: bytes | None) -> None:
        if operation[:1] == _COMMIT:
            operation = _COMMIT + bytes(33) + be8(self.floor)
        super()._append(operation.ljust(_FIXED_BYTES + (operation[:1] == _UPDATE), b"\0"), key)


_LOGS: Final[Mapping[str, type[OperationLog]]] = {"variable": OperationLog, "bare": BareLog, "fixed": FixedLog}


def answer_state(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a case of level 0, in the normative form."""
    case: Any = msgspec.convert(asked, StateInput)
    answer: dict[str, Any] = plain(_ANSWERS[type(case)](case))
    return answer


def _hex(value: str) -> bytes:
    return bytes.fromhex(value)


def _list(case: ListInput) -> ListAnswer:
    return ListAnswer(root=list_root(map(_hex, case.items)).hex())


# -- logs and proofs -----------------------------------------------------------------------------


def _commit(log: OperationLog, step: AppendBatch) -> None:
    """Append a batch: a value that is there already, and an absent key to delete, make no operation."""
    writes = {_hex(key): None if value is None else _hex(value) for key, value in step.writes}
    log.commit({key: value for key, value in writes.items() if log.values.get(key) != value})


def _moment(log: OperationLog, appended: Sequence[bytes] = ()) -> LogMoment:
    return LogMoment(
        size=log.size,
        floor=log.floor,
        operations_root=log.operations_root.hex(),
        # From scratch: nothing that a branch or a rewind has left can be in it.
        root=log.canonical_root_from_scratch().hex(),
        appended=tuple(operation.hex() for operation in appended),
    )


def _log(case: LogInput) -> LogAnswer:
    """Keep a copy after each batch: rewinding goes back to a copy, and the other steps change nothing."""
    kept = [_LOGS[case.encoding]()]
    moments = [_moment(kept[-1])]
    for step in case.steps:
        appended: Sequence[bytes] = ()
        if isinstance(step, AppendBatch):
            log = kept[-1].fork()
            _commit(log, step)
            appended = log.operations(kept[-1].size)
            kept.append(log)
        elif isinstance(step, UndoBatches):
            del kept[len(kept) - step.batches :]
        moments.append(_moment(kept[-1], appended))
    return LogAnswer(after=tuple(moments))


def _log_of(case: ProofInput | VerifyInput) -> OperationLog:
    log = _LOGS[case.encoding]()
    for step in case.steps:
        _commit(log, step)
    return log


def _proof(case: ProofInput | VerifyInput) -> ProofAnswer:
    log = _log_of(case)
    operations, root = log.operations(0), log.canonical_root_from_scratch()
    if case.claim == "operation":
        proof, root = prove_operation(operations, log.floor, case.location), log.operations_root
        proved = operations[case.location]
    elif case.claim == "key":
        key = _hex(case.key or "")
        # The key's latest update.
        location = max(at for at, each in enumerate(operations) if each[:33] == _UPDATE + key)
        proof, proved = prove_update(operations, log.floor, location), log.values[key]
    else:
        proof, proved = prove_root(operations, log.floor), log.operations_root
    return ProofAnswer(proof=proof.hex(), root=root.hex(), proved=proved.hex())


def _verify(case: VerifyInput) -> VerifyAnswer:
    """A claim about a log has one proof: another proof, root or content is false."""
    size = _log_of(case).size
    if case.claim == "operation" and case.location >= size:
        return VerifyAnswer(is_valid=False)
    if case.claim == "key" and _hex(case.key or "") not in _log_of(case).values:
        return VerifyAnswer(is_valid=False)
    found = _proof(case)
    return VerifyAnswer(is_valid=(found.proof, found.root, found.proved) == (case.proof, case.root, case.proved))


# -- encodings, identifiers and keys -------------------------------------------------------------


def _transaction(case: TransactionInput) -> TransactionAnswer:
    encoded = _hex(case.encoded)
    try:
        transaction = read_transaction(encoded)
    except MalformedError:
        return TransactionAnswer(is_canonical=False)
    return TransactionAnswer(
        is_canonical=True,
        digest=sha256(encoded).hex(),
        signing_bytes=signing_bytes(transaction).hex(),
        sender=address_of(transaction.public_key).hex(),
        is_signed=is_signed(transaction),
    )


def _block(case: BlockBytesInput) -> BlockBytesAnswer:
    try:
        header, transactions = read_block(_hex(case.encoded))
    except MalformedError:
        return BlockBytesAnswer(is_canonical=False)
    root = list_root(transactions)
    return BlockBytesAnswer(is_canonical=True, id=sha256(write(header)).hex(), tx_root=root.hex())


def _timer_id(case: TimerIdInput) -> TimerIdAnswer:
    content = _hex(case.actor) + be8(int(case.due)) + _hex(case.payload) + be8(int(case.nonce))
    counter = b"" if case.counter is None else be8(int(case.counter))
    return TimerIdAnswer(timer_id=keccak256(content + counter).hex())


def _entry_id(case: EntryIdInput) -> EntryIdAnswer:
    actor = _hex(case.actor)
    timer = Timer(
        timer_id=bytes(32),
        actor=actor,
        due=int(case.due),
        sequence=0,
        payload=_hex(case.payload),
        handler=case.handler,
        fee_payer=actor,
        gas_limit=int(case.gas_limit),
        gas_limit_is_default=False,
        expires_at=0,
        quote=Quote(int(case.price), 0, None),
    )
    time_ms = int(case.due) * int(case.slot_ms)
    bcs = bcs_of(
        timer,
        time_ms,
        expiry_delta_ms=None if case.expiry_ms is None else int(case.expiry_ms),
        token=None if case.token is None else Token(case.token[0], int(case.token[1]), int(case.token[2])),
        counter=int(case.counter),
        pass_signer=case.pass_signer,
    )
    txn_id = txn_id_of(bcs)
    key, slot = key_of(time_ms, int(case.price), txn_id), slot_of(txn_id, int(case.removal_slots))
    return EntryIdAnswer(bcs=bcs.hex(), txn_id=txn_id.hex(), key=key.hex(), slot=slot)


def _bcs_id(case: BcsIdInput) -> BcsIdAnswer:
    txn_id = txn_id_of(_hex(case.bcs))
    return BcsIdAnswer(txn_id=txn_id.hex(), slot=slot_of(txn_id, int(case.removal_slots)))


_KEYS: Final[Mapping[str, Callable[..., bytes]]] = {
    "account": lambda address: plain_key(1, address),
    "actor": lambda address: plain_key(2, address),
    "storage": lambda actor, key: storage_key((actor, key)),
    "timer": lambda timer_id: hashed_key(5, timer_id),
    "bucket": lambda due: plain_key(6, be8(due)),
    "bucket-entry": lambda due, sequence: plain_key(7, be8(due) + be8(sequence)),
    "timer-counts": lambda actor: plain_key(8, actor),
    "message": lambda sequence: plain_key(13, be8(sequence)),
    "epoch": lambda epoch: plain_key(18, be8(epoch)),
    "market": lambda: plain_key(15, b""),
}


def _state_key(case: StateKeyInput) -> StateKeyAnswer:
    parts = [_hex(part) if isinstance(part, str) else part for part in case.parts]
    return StateKeyAnswer(key=_KEYS[case.table](*parts).hex())


# -- tiers and prices ----------------------------------------------------------------------------


def _tier(case: TierInput) -> TierAnswer:
    calendar = Calendar(int(case.ring_size), int(case.epoch_length), int(case.epoch_horizon))
    tiers: list[Any] = []
    for height, is_queued in case.heights:
        tier, place = tier_of(int(height), int(case.now), is_queued, calendar)
        tiers.append((tier, place if tier in {"ring", "epoch"} else -1))
    return TierAnswer(tiers=tuple(tiers))


def _overflow(case: OverflowInput) -> OverflowAnswer:
    return OverflowAnswer(root=radix_root([(int(height), _hex(record)) for height, record in case.buckets]).hex())


def _basefee(case: BasefeeInput) -> BasefeeAnswer:
    price, found = int(case.basefee), []
    for used in case.used:
        price = next_basefee(price, int(used), int(case.limit), int(case.minimum))
        found.append(price)
    return BasefeeAnswer(basefees=tuple(found))


def _bias(case: BiasInput) -> BiasAnswer:
    return BiasAnswer(biases=tuple(bias(int(wait), int(case.lambda_millionths)) for wait in case.waits))


def _handler(case: HandlerInput) -> HandlerAnswer:
    payload = _hex(case.payload)
    handler, inner = read_convention(payload) or (DEFAULT_HANDLER, payload)
    return HandlerAnswer(handler=handler, payload=inner.hex())


def _tier_tip(case: TierTipInput) -> TierTipAnswer:
    ratios = (Fraction(int(over), int(under)) for over, under in case.multipliers)
    economy, standard, fast, urgent = (tier_tip(int(case.p50_tip), ratio) for ratio in ratios)
    return TierTipAnswer(tips=(economy, standard, fast, urgent))


_ANSWERS: Final[Mapping[type, Callable[[Any], msgspec.Struct]]] = {
    ListInput: _list,
    LogInput: _log,
    ProofInput: _proof,
    VerifyInput: _verify,
    TransactionInput: _transaction,
    BlockBytesInput: _block,
    TimerIdInput: _timer_id,
    EntryIdInput: _entry_id,
    BcsIdInput: _bcs_id,
    StateKeyInput: _state_key,
    TierInput: _tier,
    OverflowInput: _overflow,
    BasefeeInput: _basefee,
    BiasInput: _bias,
    HandlerInput: _handler,
    TierTipInput: _tier_tip,
}
