"""The base of every kind of workload: clients that sign, additions to genesis, and times of submission."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Self

import msgspec
from nacl.signing import SigningKey

from cluster.scenario.fields import means
from scheduler import LaneConfig, Parameters, TimerConfig, keccak256
from scheduler.aptos_records import AptosConfig
from validators.actors import Emitted
from validators.execution import GenesisAccount, GenesisActor
from validators.execution.blocks import (
    Call,
    ExecuteActor,
    Transaction,
    address_of,
    encode_transaction,
    transaction_digest,
    transaction_signing_bytes,
)
from validators.identity import public_key_of, secret_seed

FUNDS: Final = 10**14
"""Units that a funded account or actor starts with."""

FEE_MAX: Final = 1_000_000
"""Units per cycle and per cell that clients offer: enough for any basefee."""

CALL_CYCLES: Final = 20_000
"""Cycles that a client allows for a plain call."""

CALL_CELLS: Final = 2_000
"""Cells that a client allows for a plain call."""


@dataclass(frozen=True, slots=True)
class TimedTransaction:
    """An encoded transaction, its hash, and the virtual time at which a client submits it.

    `workload` is the name of its workload; with `may_fail`, a failure shows nothing.
    """

    at_us: int
    encoded: bytes
    digest: bytes
    workload: str
    may_fail: bool


@dataclass(frozen=True, slots=True)
class GenesisShare:
    """The accounts, actors and system deployers that a workload adds to genesis."""

    accounts: tuple[GenesisAccount, ...] = ()
    actors: tuple[GenesisActor, ...] = ()
    system_deployers: tuple[bytes, ...] = ()


class Volume(NamedTuple):
    """The size of a workload: submissions, timers scheduled, and bytes of their payloads."""

    transactions: int = 0
    timers: int = 0
    payload_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Site:
    """The surroundings of a workload: its chain and name, the configurations at genesis, all workloads by name.

    `slot_ms` is the length of a slot in milliseconds; `made` has the transactions of a workload that are made before
    the run, in their order.
    """

    chain_id: str
    name: str
    config: TimerConfig
    workloads: Mapping[str, "WorkloadKind"]
    others: tuple[Parameters, ...] = ()
    slot_ms: int = 1_000
    made: Sequence[bytes] = ()

    @property
    def parameters(self) -> tuple[Parameters, ...]:
        """Return all parameters that governance may change, the timer configuration first."""
        return (self.config, *self.others)

    @property
    def lane(self) -> LaneConfig | None:
        """The lane's configuration at genesis; None on a chain without a lane."""
        return next((record for record in self.others if isinstance(record, LaneConfig)), None)

    @property
    def queue(self) -> AptosConfig | None:
        """The configuration of the queue at genesis; None on a chain without scheduled transactions."""
        return next((record for record in self.others if isinstance(record, AptosConfig)), None)

    def actor(self, index: int, workload: str = "") -> bytes:
        """Return the address of an actor of this workload, or of another workload."""
        return keccak256(f"stampede/actor/{workload or self.name}/{index}".encode())[-20:]

    def at(self, name: str) -> "Site":
        """Return the site of another workload."""
        return replace(self, name=name)

    def owned_actors(self, program: str, count: int, balance: int = FUNDS) -> GenesisShare:
        """Return an owner for each of `count` actors of a program, and the actors with a balance of their own."""
        owners = [Client(self, index) for index in range(count)]
        actors = (GenesisActor(self.actor(index), program, it.address, balance) for index, it in enumerate(owners))
        return GenesisShare(tuple(owner.funded for owner in owners), tuple(actors))


class Client:
    """One account with its key; signs transactions with ascending nonces."""

    def __init__(self, site: Site, index: int = 0) -> None:
        seed = secret_seed(site.chain_id, site.name, index)
        self._workload = site.name
        self._key = SigningKey(seed)
        self.public_key = public_key_of(seed)
        self.address = address_of(self.public_key)
        self._nonce = 0

    @property
    def funded(self) -> GenesisAccount:
        """The account with its funds at genesis."""
        return GenesisAccount(self.address, FUNDS)

    def sign(
        self,
        at_ms: int,
        call: Call,
        *,
        cycles_limit: int = CALL_CYCLES,
        cells_limit: int = CALL_CELLS,
        fee_max: int = FEE_MAX,
        may_fail: bool = False,
        change: Mapping[str, Any] | None = None,
        is_spoilt: bool = False,
    ) -> TimedTransaction:
        """Return the next transaction of this account, signed, to be submitted at `at_ms`.

        `change` gives some of its fields other values; `is_spoilt` spoils the signature.
        """
        unsigned = Transaction(
            public_key=self.public_key,
            nonce=self._nonce,
            cycles_limit=cycles_limit,
            cells_limit=cells_limit,
            max_fee_per_cycle=fee_max,
            max_fee_per_cell=fee_max,
            priority_fee_per_cycle=1,
            call=call,
            signature=b"",
        )
        unsigned = msgspec.structs.replace(unsigned, **(change or {}))
        signature = self._key.sign(transaction_signing_bytes(unsigned)).signature
        if is_spoilt:
            signature = bytes((signature[0] ^ 1,)) + signature[1:]
        transaction = msgspec.structs.replace(unsigned, signature=signature)
        self._nonce += 1
        encoded, digest = encode_transaction(transaction), transaction_digest(transaction)
        return TimedTransaction(at_ms * 1_000, encoded, digest, self._workload, may_fail)

    def order(self, at_ms: int, actor: bytes, handler: str, order: msgspec.Struct) -> TimedTransaction:
        """Return the next transaction of this account: a plain call of a program with an order."""
        return self.sign(at_ms, ExecuteActor(actor, handler, msgspec.msgpack.encode(order)))


class WorkloadKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", kw_only=True):
    """The data and methods of one workload; a subclass with a `tag` is a kind (docs/extend/workload.md)."""

    is_recurring: ClassVar[bool] = False
    """Whether its actors schedule themselves again, so that without a successful fire it has had no effect."""

    narrowed_by: ClassVar[tuple[str, ...]] = ()
    """Keys that `narrower` changes: leaving out such a key makes the workload larger."""

    enabled: Annotated[bool, means("Switched off, it stands in genesis and submits nothing.")] = True
    may_be_idle: Annotated[
        bool, means("Whether the run shows something although not one of its transactions succeeds.")
    ] = False

    def problem(self, site: Site) -> str:
        """Return the contradiction among the values, with its key; empty if there is none."""
        del site
        return ""

    def firing_actors(self, site: Site) -> tuple[bytes, ...]:
        """Return the actors whose fires `expect.fired_by` counts."""
        del site
        return ()

    def required_events(self, site: Site) -> tuple[Emitted, ...]:
        """Return the events of its actors that show that the workload has taken effect."""
        del site
        return ()

    def volume(self, slots: int) -> Volume:
        """Return the workload's size over a number of slots; nothing is built or signed."""
        raise NotImplementedError

    def first_due(self, slot_ms: int) -> int | None:
        """Return the earliest slot in which one of its timers can be due or leave; None if none is known."""
        del slot_ms
        return None

    def genesis(self, site: Site) -> GenesisShare:
        """Return the accounts and actors to add to genesis."""
        raise NotImplementedError

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield the submissions."""
        raise NotImplementedError

    def narrower(self) -> Iterator[Self]:
        """Yield workloads that do a part of this workload, for `shrink`: large parts first."""
        yield from ()

    def timers_known(self) -> tuple[int, int]:
        """Return how many actors have timers whose identifiers are known in advance, and the timers of each."""
        return 0, 0

    def timer_ids(self, site: Site, actor: int, first: int, count: int) -> list[bytes]:
        """Return the identifiers of an actor's timers from the `first` timer on; see `timers_known`."""
        raise NotImplementedError
