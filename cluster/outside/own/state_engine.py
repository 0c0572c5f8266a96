"""The answers of the validators' code to the cases of level 0."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

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
    LogStep,
    OverflowAnswer,
    OverflowInput,
    ProofAnswer,
    ProofInput,
    PruneLog,
    RebuildLog,
    RestoreLog,
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
from scheduler import CalendarProfile, LaneConfig, Quote, Timer, timer_id_of
from scheduler.aptos_keys import map_key, removal_slot, transaction_bytes, transaction_id
from scheduler.aptos_records import Token
from scheduler.bias import bias
from scheduler.calendar import Tier
from scheduler.fees import next_basefee
from scheduler.height_tree import EMPTY
from scheduler.lane_state import LANE_MARKET
from scheduler.lifecycle import resolve_convention
from scheduler.quotes import tip_of_tier
from scheduler.types import DEFAULT_HANDLER
from validators.execution import schema
from validators.execution.blocks import (
    address_of,
    decode_block,
    decode_transaction,
    header_digest,
    transaction_digest,
    transaction_signing_bytes,
)
from validators.execution.errors import InvalidEncodingError
from validators.identity import TransactionVerifier
from validators.state import AbsentKey, Database, mmr_root, verify_key, verify_operation, verify_root

RETAIN: Final = 64
"""Batches that a log of a case can take back."""

_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "variable": {"encoding": "variable"},
    "bare": {"encoding": "variable", "bare_values": True},
    "fixed": {"encoding": "fixed"},
}


def answer_state(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a case of level 0, in the normative form."""
    case: Any = msgspec.convert(asked, StateInput)
    answer: dict[str, Any] = plain(_ANSWERS[type(case)](case))
    return answer


def _hex(value: str) -> bytes:
    return bytes.fromhex(value)


def _list(case: ListInput) -> ListAnswer:
    return ListAnswer(root=mmr_root(tuple(map(_hex, case.items))).hex())


# -- logs and proofs -----------------------------------------------------------------------------


def _append(database: Database, step: AppendBatch) -> tuple[bytes, ...]:
    batch = database.batch()
    for key, value in step.writes:
        batch.write(_hex(key), None if value is None else _hex(value))
    batch.merkleize()
    return database.apply(batch)


def _moment(database: Database, appended: tuple[bytes, ...] = ()) -> LogMoment:
    return LogMoment(
        size=database.size,
        floor=database.floor,
        operations_root=database.root.hex(),
        root=database.canonical_root.hex(),
        appended=tuple(operation.hex() for operation in appended),
    )


def _log(case: LogInput) -> LogAnswer:
    options = _OPTIONS[case.encoding]
    database = Database(**options, retain=RETAIN)
    moments = [_moment(database)]
    for step in case.steps:
        appended: tuple[bytes, ...] = ()
        if isinstance(step, AppendBatch):
            appended = _append(database, step)
        else:
            database = _taken(database, step, options)
        moments.append(_moment(database, appended))
    return LogAnswer(after=tuple(moments))


def _taken(database: Database, step: LogStep, options: Mapping[str, Any]) -> Database:
    """Return the database after a step that appends nothing."""
    if isinstance(step, UndoBatches):
        database.rewind(step.batches)
    elif isinstance(step, RebuildLog):
        return Database.from_operations(database.operations(), retain=RETAIN, **options)
    elif isinstance(step, RestoreLog):
        return Database.from_snapshot(database.snapshot(), database.canonical_root, retain=RETAIN, **options)
    else:
        assert isinstance(step, PruneLog), f"{step} is no step of a log"
        database.prune()
    return database


def _database_of(case: ProofInput | VerifyInput) -> Database:
    database = Database(**_OPTIONS[case.encoding])
    for step in case.steps:
        _append(database, step)
    return database


def _proof(case: ProofInput) -> ProofAnswer:
    database = _database_of(case)
    if case.claim == "operation":
        proof, root = database.prove_operation(case.location), database.root
        proved = database.operations(case.location)[0]
    elif case.claim == "key":
        key = _hex(case.key or "")
        value = database.get(key)
        if value is None:
            raise AbsentKey(f"the log has no key {case.key}")
        proof, root, proved = database.prove_key(key), database.canonical_root, value
    else:
        proof, root, proved = database.prove_root(), database.canonical_root, database.root
    return ProofAnswer(proof=proof.hex(), root=root.hex(), proved=proved.hex())


def _verify(case: VerifyInput) -> VerifyAnswer:
    proof, root, proved = _hex(case.proof), _hex(case.root), _hex(case.proved)
    if case.claim == "operation":
        return VerifyAnswer(is_valid=verify_operation(proof, root, case.location, proved))
    if case.claim == "key":
        options = _OPTIONS[case.encoding]
        return VerifyAnswer(is_valid=verify_key(proof, root, _hex(case.key or ""), proved, **options))
    return VerifyAnswer(is_valid=verify_root(proof, root, proved))


# -- encodings, identifiers and keys -------------------------------------------------------------


def _transaction(case: TransactionInput) -> TransactionAnswer:
    try:
        transaction = decode_transaction(_hex(case.encoded))
    except InvalidEncodingError:
        return TransactionAnswer(is_canonical=False)
    return TransactionAnswer(
        is_canonical=True,
        digest=transaction_digest(transaction).hex(),
        signing_bytes=transaction_signing_bytes(transaction).hex(),
        sender=address_of(transaction.public_key).hex(),
        is_signed=TransactionVerifier()(transaction),
    )


def _block(case: BlockBytesInput) -> BlockBytesAnswer:
    try:
        block = decode_block(_hex(case.encoded))
    except InvalidEncodingError:
        return BlockBytesAnswer(is_canonical=False)
    root = mmr_root(block.transactions)
    return BlockBytesAnswer(is_canonical=True, id=header_digest(block.header).hex(), tx_root=root.hex())


def _timer_id(case: TimerIdInput) -> TimerIdAnswer:
    counter = None if case.counter is None else int(case.counter)
    found = timer_id_of(_hex(case.actor), int(case.due), _hex(case.payload), int(case.nonce), counter=counter)
    return TimerIdAnswer(timer_id=found.hex())


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
        quote=Quote(int(case.price), 0),
    )
    token = None if case.token is None else Token(case.token[0], int(case.token[1]), int(case.token[2]))
    bcs = transaction_bytes(
        timer,
        slot_ms=int(case.slot_ms),
        counter=int(case.counter),
        expiry_delta_ms=None if case.expiry_ms is None else int(case.expiry_ms),
        token=token,
        pass_signer=case.pass_signer,
    )
    txn_id = transaction_id(bcs)
    key = map_key(int(case.due) * int(case.slot_ms), int(case.price), txn_id)
    slot = removal_slot(txn_id, int(case.removal_slots))
    return EntryIdAnswer(bcs=bcs.hex(), txn_id=txn_id.hex(), key=key.hex(), slot=slot)


def _storage_key(actor: bytes, key: bytes) -> bytes:
    is_short = len(key) <= schema.SHORT_STORAGE_KEY_BYTES
    return schema.storage_key(actor, key) if is_short else schema.long_storage_key(actor, key)


def _bcs_id(case: BcsIdInput) -> BcsIdAnswer:
    txn_id = transaction_id(_hex(case.bcs))
    return BcsIdAnswer(txn_id=txn_id.hex(), slot=removal_slot(txn_id, int(case.removal_slots)))


_KEYS: Final[Mapping[str, Callable[..., bytes]]] = {
    "account": schema.account_key,
    "actor": schema.actor_key,
    "storage": _storage_key,
    "timer": schema.timer_key,
    "bucket": schema.bucket_key,
    "bucket-entry": schema.bucket_entry_key,
    "timer-counts": schema.timer_counts_key,
    "message": schema.message_key,
    "epoch": schema.epoch_key,
    "market": LANE_MARKET.key,
}


def _state_key(case: StateKeyInput) -> StateKeyAnswer:
    parts = [_hex(part) if isinstance(part, str) else part for part in case.parts]
    return StateKeyAnswer(key=_KEYS[case.table](*parts).hex())


# -- tiers and prices ----------------------------------------------------------------------------


def _tier(case: TierInput) -> TierAnswer:
    profile = CalendarProfile(int(case.ring_size), int(case.epoch_length), int(case.epoch_horizon))
    tiers: list[Any] = []
    for height, is_queued in case.heights:
        tier = profile.tier_of(int(height), int(case.now), is_queued=is_queued)
        places = {Tier.RING: profile.place_of, Tier.EPOCH: profile.epoch_of}
        place = -1 if tier is None or tier not in places else places[tier](int(height))
        tiers.append(("due" if tier is None else str(tier), place))
    return TierAnswer(tiers=tuple(tiers))


def _overflow(case: OverflowInput) -> OverflowAnswer:
    tree = EMPTY
    for height, record in case.buckets:
        tree = tree.put(int(height), _hex(record))
    return OverflowAnswer(root=tree.root().hex())


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
    handler, inner = resolve_convention(payload) or (DEFAULT_HANDLER, payload)
    return HandlerAnswer(handler=handler, payload=inner.hex())


def _tier_tip(case: TierTipInput) -> TierTipAnswer:
    names = ("economy", "standard", "fast", "urgent")
    ratios: dict[str, Any] = {
        f"tier_{name}": (int(over), int(under)) for name, (over, under) in zip(names, case.multipliers, strict=True)
    }
    config = LaneConfig(**ratios)
    economy, standard, fast, urgent = (tip_of_tier(name, int(case.p50_tip), config) for name in names)
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
