"""A small chain for tests: accounts, actors with programs made for trouble, transactions in one line."""

from collections.abc import Iterable

import msgspec

from scheduler import CalendarProfile, LaneConfig, Rejected, TimerConfig
from scheduler.policies.fifo_free import FreeConfig
from validators.actors import PROGRAMS, Actor, OutOfGas, Revert
from validators.execution import (
    Engine,
    ExecuteActor,
    Executed,
    Genesis,
    GenesisAccount,
    GenesisActor,
    PolicyEntry,
    ProposalContext,
    Transaction,
    Transfer,
    address_of,
    decode_receipt,
)
from validators.execution.schema import account_key, storage_key

KEYS = tuple(bytes([index]) * 32 for index in range(1, 5))
SENDERS = tuple(address_of(key) for key in KEYS)
ALICE, BOB, CAROL, DAVE = SENDERS
PROPOSER = b"\xee" * 20
HEART, STORM, PUPPET, POOR = (bytes([0xA0 + index]) * 20 for index in range(4))
BALANCE = 10**13


class Order(msgspec.Struct, array_like=True):
    """A puppet's script, step by step: [verb, arguments...]."""

    steps: list[list]


class Puppet(Actor):
    """Does what its payload says, as a transaction or as a timer: for tests of everything that a host can do."""

    handlers = ("do", "handle_timer")

    def do(self, payload: bytes) -> None:
        for verb, *arguments in msgspec.msgpack.decode(payload, type=Order).steps:
            getattr(self, f"_{verb}")(*arguments)

    handle_timer = do

    def hidden(self, payload: bytes) -> None:
        self.host.put(b"hidden", payload)

    def _put(self, key, value):
        self.host.put(key, value)

    def _delete(self, key):
        self.host.delete(key)

    def _pay(self, to, amount):
        self.host.transfer(to, amount)

    def _emit(self, topic):
        self.host.emit(topic, b"data")

    def _compute(self, cycles):
        self.host.compute(cycles)

    def _revert(self, reason):
        raise Revert(reason)

    def _crash(self):
        raise ZeroDivisionError("a bug of the program")

    def _swallow(self, cycles):
        try:
            self.host.compute(cycles)
        except OutOfGas:
            self.host.events.clear()

    def _timer(self, delay, steps, gas_limit=None, ttl=None, payer=None, gba=None, bid=None):
        expires_at = None if ttl is None else self.host.now + delay + ttl
        payload = msgspec.msgpack.encode(Order(steps))
        timer_id = self.host.schedule_timer(
            self.host.now + delay,
            payload,
            gas_limit=gas_limit,
            expires_at=expires_at,
            fee_payer=payer,
            gba=gba,
            bid=bid,
        )
        self.host.put(b"last", timer_id)

    def _cancel_last(self):
        try:
            self.host.cancel_timer(self.host.get(b"last") or bytes(32))
        except Rejected as error:
            self.host.emit(error.name)

    def _send(self, actor, steps, cycles, handler="do"):
        self.host.send(actor, handler, msgspec.msgpack.encode(Order(steps)), cycles)

    def _try_send(self, *message):
        try:
            self._send(*message)
        except Rejected as error:
            self.host.emit(error.name)

    def _extend_last(self, expires_at):
        self.host.extend_timer(self.host.get(b"last") or bytes(32), expires_at)


TEST_PROGRAMS = dict(PROGRAMS) | {"puppet": Puppet}


def policies_of(policy: str = "fifo", activation: int = 1, lane: LaneConfig | None = None) -> tuple[PolicyEntry, ...]:
    """Return the policies of a chain that is `fifo` below the activation of its policy."""
    config = FreeConfig() if policy == "fifo-free" else lane
    own = PolicyEntry(activation, policy, b"" if config is None else msgspec.msgpack.encode(config))
    return (own,) if activation == 1 else (PolicyEntry(1, "fifo"), own)


def in_lane(activation: int = 1, **parameters) -> dict[str, object]:
    """Return what of a genesis puts a chain into the timer lane; a parameter is the lane's or the calendar's."""
    sizes = {name: parameters.pop(name) for name in CalendarProfile.__struct_fields__ if name in parameters}
    lane = LaneConfig(**parameters)
    return {"policies": policies_of("eip1559", activation, lane), "calendar": CalendarProfile(**sizes)}


def make_genesis(**changes) -> Genesis:
    """Return a genesis with four rich senders and four actors, in height time unless told otherwise."""
    fields = {
        "chain_id": "test",
        "validators": (PROPOSER, b"\xef" * 20),
        "timebase": "height",
        "timer_config": TimerConfig(max_cells_per_fire=2_000),
        "accounts": tuple(GenesisAccount(sender, BALANCE) for sender in SENDERS),
        "actors": (
            GenesisActor(HEART, "heartbeat", ALICE, BALANCE),
            GenesisActor(STORM, "storm-maker", ALICE, BALANCE),
            GenesisActor(PUPPET, "puppet", ALICE, BALANCE, ((b"born", b"yes"), (b"a key too long to stand", b"v"))),
            GenesisActor(POOR, "puppet", BOB, 0),
        ),
    }
    return Genesis(**(fields | changes))


def make_engine(genesis: Genesis | None = None, **options) -> Engine:
    """Return an engine that finds every signature valid that begins with a zero byte."""
    return Engine(
        genesis or make_genesis(),
        programs=TEST_PROGRAMS,
        verify_transaction=lambda transaction: transaction.signature[0] == 0,
        **options,
    )


def transaction(sender: int, nonce: int, call, **changes) -> Transaction:
    """Return a transaction with ample limits."""
    fields = {
        "public_key": KEYS[sender],
        "nonce": nonce,
        "cycles_limit": 400_000,
        "cells_limit": 400_000,
        "max_fee_per_cycle": 2_000,
        "max_fee_per_cell": 2_000,
        "priority_fee_per_cycle": 3,
        "call": call,
        "signature": bytes(64),
    }
    return Transaction(**(fields | changes))


def pay(sender: int, nonce: int, to: bytes, amount: int, **changes) -> Transaction:
    """Return a transfer."""
    return transaction(sender, nonce, Transfer(to, amount), **changes)


def do(sender: int, nonce: int, *steps, actor: bytes = PUPPET, **changes) -> Transaction:
    """Return a call of a puppet."""
    payload = msgspec.msgpack.encode(Order([list(step) for step in steps]))
    return transaction(sender, nonce, ExecuteActor(actor, "do", payload), **changes)


def order(sender: int, nonce: int, actor: bytes, handler: str, record: msgspec.Struct | None) -> Transaction:
    """Return a call with a record, or nothing, as payload."""
    payload = b"" if record is None else msgspec.msgpack.encode(record)
    return transaction(sender, nonce, ExecuteActor(actor, handler, payload))


def propose(
    engine: Engine,
    transactions: Iterable[Transaction] = (),
    *,
    parent: bytes | None = None,
    after_ms: int = 1_000,
    proposer: int = 0,
    skipped_views: int = 0,
) -> Executed:
    """Build a block on a parent, the finalized one by default."""
    digest = engine.finalized_digest if parent is None else parent
    known = engine.executed(digest)
    header = engine.finalized if known is None else known.header
    context = ProposalContext(
        parent=digest,
        view=header.view + 1 + skipped_views,
        proposer=proposer,
        timestamp_ms=header.timestamp_ms + after_ms,
    )
    return engine.propose(context, transactions)


def advance(engine: Engine, transactions: Iterable[Transaction] = (), **options) -> Executed:
    """Build a block and finalize it; every transaction must have found its place."""
    candidates = list(transactions)
    executed = propose(engine, candidates, **options)
    assert executed.summary.transactions == len(candidates)
    engine.finalize(executed.digest)
    return executed


def balance_of(engine, address):
    """Return the finalized balance of an address."""
    stored = engine.database.get(account_key(address))
    return 0 if stored is None else msgspec.msgpack.decode(stored)[0]


def stored(engine, actor, key):
    """Return a finalized value of an actor's storage under a short key."""
    value = engine.database.get(storage_key(actor, key))
    return None if value is None else msgspec.msgpack.decode(value)[0]


def receipt(executed, index=0):
    """Return one of a block's receipts."""
    return decode_receipt(executed.receipts[index])
