"""What the clients of a scenario do: kinds of workload as data, and the transactions they become.

A workload adds accounts and actors to genesis and submits signed transactions at its times. It is a
function of the scenario: no chance is drawn here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Protocol

import msgspec
from nacl.signing import SigningKey

from scheduler import keccak256
from validators.actors import HeartbeatOrder, StormOrder
from validators.execution import GenesisAccount, GenesisActor
from validators.execution.blocks import (
    ExecuteActor,
    Transaction,
    Transfer,
    address_of,
    encode_transaction,
    transaction_digest,
    transaction_signing_bytes,
)
from validators.identity import public_key_of, secret_seed

if TYPE_CHECKING:
    from cluster.scenario import Scenario

FUNDS: Final = 10**14
"""Units that a funded account or actor starts with."""

FEE_MAX: Final = 1_000_000
"""Units per cycle and per cell that clients are ready to pay: enough that no basefee prices them out."""

POLICY_CELLS_PER_TIMER: Final = 64
"""Cells that a client allows for each timer it asks for, besides the payload."""

POLICY_CYCLES_PER_TIMER: Final = 400
"""Cycles that a client allows for each timer it asks for."""

Milliseconds = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class TimedTransaction:
    """An encoded transaction, its hash, and the virtual time at which a client submits it."""

    at_us: int
    encoded: bytes
    digest: bytes


@dataclass(frozen=True, slots=True)
class GenesisShare:
    """What a workload needs to find in genesis."""

    accounts: tuple[GenesisAccount, ...]
    actors: tuple[GenesisActor, ...]


def actor_address(name: str) -> bytes:
    """Return the address of a genesis actor, from its name in the scenario."""
    return keccak256(b"stampede/actor/" + name.encode())[-20:]


class Client:
    """One account with its key; signs transactions with ascending nonces."""

    def __init__(self, chain_id: str, role: str, index: int) -> None:
        seed = secret_seed(chain_id, role, index)
        self._key = SigningKey(seed)
        self.public_key = public_key_of(seed)
        self.address = address_of(self.public_key)
        self._nonce = 0

    def sign(
        self, at_ms: int, call: Transfer | ExecuteActor, *, cycles_limit: int, cells_limit: int
    ) -> TimedTransaction:
        """Return the next transaction of this account, signed, to be submitted at ``at_ms``."""
        unsigned = Transaction(
            public_key=self.public_key,
            nonce=self._nonce,
            cycles_limit=cycles_limit,
            cells_limit=cells_limit,
            max_fee_per_cycle=FEE_MAX,
            max_fee_per_cell=FEE_MAX,
            priority_fee_per_cycle=1,
            call=call,
            signature=b"",
        )
        signature = self._key.sign(transaction_signing_bytes(unsigned)).signature
        transaction = msgspec.structs.replace(unsigned, signature=signature)
        self._nonce += 1
        return TimedTransaction(at_ms * 1_000, encode_transaction(transaction), transaction_digest(transaction))


class WorkloadKind(Protocol):
    """What each kind of workload supplies. ``chain_id`` and ``name`` keep the accounts of workloads apart."""

    def genesis(self, chain_id: str, name: str) -> GenesisShare:
        """Return accounts and actors to add to genesis."""

    def transactions(self, chain_id: str, name: str) -> Iterator[TimedTransaction]:
        """Yield the submissions."""


class _Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", kw_only=True):
    @property
    def rule(self) -> str:
        """What ``is_possible`` demands, in words."""
        return "is always possible"

    def is_possible(self) -> bool:
        """Whether the values fit together."""
        return True


class Heartbeats(_Workload, tag="heartbeats", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Actors that schedule themselves for ever: each fires once every ``interval_slots``."""

    actors: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    interval_slots: Positive = 1
    gas_limit: Positive = 20_000
    start_ms: Milliseconds = 0

    def genesis(self, chain_id: str, name: str) -> GenesisShare:
        """One client account, and the actors with funds of their own."""
        client = Client(chain_id, name, 0)
        actors = tuple(
            GenesisActor(actor_address(f"{name}/{index}"), "heartbeat", client.address, FUNDS)
            for index in range(self.actors)
        )
        return GenesisShare((GenesisAccount(client.address, FUNDS),), actors)

    def transactions(self, chain_id: str, name: str) -> Iterator[TimedTransaction]:
        """One transaction an actor starts it."""
        client = Client(chain_id, name, 0)
        order = msgspec.msgpack.encode(HeartbeatOrder(self.interval_slots, self.gas_limit))
        for index in range(self.actors):
            call = ExecuteActor(actor_address(f"{name}/{index}"), "start", order)
            yield client.sign(self.start_ms, call, cycles_limit=20_000, cells_limit=2_000)


class Storm(_Workload, tag="storm", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Timers of many actors, due in a range of slots. Those of ``unfunded_actors`` cannot pay when due."""

    actors: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    unfunded_actors: Annotated[int, msgspec.Meta(ge=0)] = 0
    timers_per_actor: Positive
    timers_per_transaction: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100
    first_slot: Positive
    spread_slots: Positive
    ttl_slots: Annotated[int, msgspec.Meta(ge=0)]
    unfunded_ttl_slots: Annotated[int, msgspec.Meta(ge=0)] = 100_000
    gas_limit: Positive = 20_000
    payload_bytes: Annotated[int, msgspec.Meta(ge=0, le=4_096)] = 32
    start_ms: Milliseconds = 0
    every_ms: Milliseconds = 100

    @property
    def rule(self) -> str:
        """What ``is_possible`` demands, in words."""
        return f"unfunded_actors must not be above actors, which is {self.actors}"

    def is_possible(self) -> bool:
        """Whether the values fit together."""
        return self.unfunded_actors <= self.actors

    def genesis(self, chain_id: str, name: str) -> GenesisShare:
        """A client for each actor; the last ``unfunded_actors`` actors have nothing."""
        clients = [Client(chain_id, name, index) for index in range(self.actors)]
        accounts = tuple(GenesisAccount(client.address, FUNDS) for client in clients)
        actors = tuple(
            GenesisActor(
                actor_address(f"{name}/{index}"),
                "storm-maker",
                client.address,
                0 if self._is_unfunded(index) else FUNDS,
            )
            for index, client in enumerate(clients)
        )
        return GenesisShare(accounts, actors)

    def transactions(self, chain_id: str, name: str) -> Iterator[TimedTransaction]:
        """Orders of ``timers_per_transaction`` timers each, actor by actor in rounds, until all are placed."""
        clients = [Client(chain_id, name, index) for index in range(self.actors)]
        at_ms, placed = self.start_ms, 0
        while placed < self.timers_per_actor:
            count = min(self.timers_per_transaction, self.timers_per_actor - placed)
            for index, client in enumerate(clients):
                yield self._order(client, actor_address(f"{name}/{index}"), count, at_ms, placed, index)
                at_ms += self.every_ms
            placed += count

    def _order(  # noqa: PLR0917 - one order's place in the rounds
        self, client: Client, actor: bytes, count: int, at_ms: int, placed: int, index: int
    ) -> TimedTransaction:
        ttl = self.unfunded_ttl_slots if self._is_unfunded(index) else self.ttl_slots
        order = StormOrder(
            count=count,
            delay=1,
            not_before=self.first_slot + placed % self.spread_slots,
            spread=self.spread_slots,
            ttl=ttl,
            gas_limit=self.gas_limit,
            payload_size=self.payload_bytes,
        )
        call = ExecuteActor(actor, "make", msgspec.msgpack.encode(order))
        return client.sign(
            at_ms,
            call,
            cycles_limit=10_000 + count * POLICY_CYCLES_PER_TIMER,
            cells_limit=2_000 + count * (self.payload_bytes + POLICY_CELLS_PER_TIMER),
        )

    def _is_unfunded(self, index: int) -> bool:
        return index >= self.actors - self.unfunded_actors


class Transfers(_Workload, tag="transfers", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Accounts that pay each other in a ring, one transaction every ``every_ms``."""

    accounts: Annotated[int, msgspec.Meta(ge=2, le=10_000)]
    amount: Positive = 1_000
    count: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    start_ms: Milliseconds = 0
    every_ms: Positive = 200

    def genesis(self, chain_id: str, name: str) -> GenesisShare:
        """The accounts of the ring, all with funds."""
        clients = [Client(chain_id, name, index) for index in range(self.accounts)]
        return GenesisShare(tuple(GenesisAccount(client.address, FUNDS) for client in clients), ())

    def transactions(self, chain_id: str, name: str) -> Iterator[TimedTransaction]:
        """Each account in turn pays the next one."""
        clients = [Client(chain_id, name, index) for index in range(self.accounts)]
        for index in range(self.count):
            payer, payee = clients[index % self.accounts], clients[(index + 1) % self.accounts]
            call = Transfer(payee.address, self.amount)
            at_ms = self.start_ms + index * self.every_ms
            yield payer.sign(at_ms, call, cycles_limit=5_000, cells_limit=2_000)


Workload = Heartbeats | Storm | Transfers


def genesis_shares(scenario: "Scenario") -> Iterator[GenesisShare]:
    """Yield what each workload of a scenario adds to genesis, in the scenario's order."""
    for name, workload in scenario.workload.items():
        yield workload.genesis(scenario.name, name)


def transactions_of(scenario: "Scenario") -> list[TimedTransaction]:
    """Return every submission of a scenario in the order of their times; ties in the scenario's order."""
    every = [
        timed for name, workload in scenario.workload.items() for timed in workload.transactions(scenario.name, name)
    ]
    return sorted(every, key=lambda timed: timed.at_us)
