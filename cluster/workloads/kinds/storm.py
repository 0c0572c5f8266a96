"""The workload `storm`: timers by the thousand.

One height is `spread_slots = 1`. Payers run out of funds for three reasons. Their actors never had any
(`unfunded_actors`), their owners withdraw the money (`withdraw_ms`), or they share an account (`payer = "sender"`).
Fires fail by `handler`; `cancel_ms` brings floods of cancellations, `cancel_all_ms` raised authorization numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import msgspec

from cluster.scenario.fields import Milliseconds, NotNegative, Positive, TenThousand, means
from cluster.workloads.identifiers import ids_problem, storm_entry, storm_timer_name
from cluster.workloads.quoting import QuotingKind
from cluster.workloads.submission import FUNDS, Client, GenesisShare, Site, TimedTransaction, Volume
from scheduler import MAX_PAYLOAD_BYTES
from scheduler.aptos_records import AptosConfig
from validators.actors import CancelOrder, StormOrder, storm_payload
from validators.execution import GenesisAccount, GenesisActor
from validators.execution.blocks import CancelAll, ExecuteActor, Transfer

POLICY_CELLS_PER_TIMER: Final = 320
"""Cells that a client allows for each new timer, besides the payload: its index takes up to 300 cells."""

POLICY_CELLS_PER_CANCEL: Final = 64
"""Cells that a client allows for each timer it cancels: the bytes of its name."""

POLICY_CYCLES_PER_TIMER: Final = 400
"""Cycles that a client allows for each new timer, besides the chain's price."""

CANCELS_PER_TRANSACTION: Final = 100
"""Timers that one transaction of a cancel flood names."""

SWEEP_BITS: Final = range(46, 23, -1)
"""Powers of two that a sweep transfers in turn: together more than FUNDS, the last below what a timer costs."""

SWEEP_FEE_MAX: Final = 10_000
"""Units per cycle and cell that a sweep offers: few, because the account needs the same amount to send it."""


@dataclass(frozen=True, slots=True)
class PlannedOrder:
    """One order of a storm: its actor, its place among the sender's transactions, the timers placed before it."""

    actor: int
    nonce: int
    placed: int
    order: StormOrder


class Storm(QuotingKind, tag="storm", kw_only=True, frozen=True):
    """Timers of many actors, due in a range of slots, or of heights where `chain.timebase` is `height`."""

    unfunded_actors: Annotated[NotNegative, means("The last actors, which have nothing when their timers are due.")] = 0
    timers_per_actor: Annotated[Positive, means("Timers of each actor.")]
    timers_per_transaction: Annotated[TenThousand, means("Timers that one transaction orders.")] = 100
    first_slot: Annotated[Positive, means("The first slot in which timers are due.")]
    spread_slots: Annotated[Positive, means("Slots over which all timers are spread evenly; 1 is one height.")]
    ttl_slots: Annotated[NotNegative, means("Slots that a timer lives beyond its own.")]
    unfunded_ttl_slots: Annotated[NotNegative, means("The same for timers of `unfunded_actors`.")] = 100_000
    gas_limit: Annotated[Positive, means("Cycles that a fire may use.")] = 20_000
    payload_bytes: Annotated[int, msgspec.Meta(ge=0, le=MAX_PAYLOAD_BYTES), means("Bytes of each timer's payload.")] = (
        32
    )
    handler: Annotated[
        Literal["", "fail", "spin", "crash", "spend"],
        means("How fires fail: by a revert, by using all gas, by a fault, or by leaving no funds for the next fire."),
    ] = ""
    payer: Annotated[Literal["actor", "sender"], means("Each actor for its own timers, or one account for all.")] = (
        "actor"
    )
    tips_by: Annotated[Literal["actor", "order"], means("Whether the orders of an actor tip alike.")] = "actor"
    start_ms: Annotated[Milliseconds, means("When the first order is submitted.")] = 0
    every_ms: Annotated[Milliseconds, means("Time from one order to the next.")] = 100
    withdraw_ms: Annotated[
        Milliseconds | None,
        means("When the owners empty their actors, or the common payer its account.", left_out="never"),
    ] = None
    cancel_ms: Annotated[
        Milliseconds | None,
        means("When the first `cancels_per_actor` timers of each actor are cancelled.", left_out="never"),
    ] = None
    cancels_per_actor: Annotated[NotNegative, means("Timers of each actor that are cancelled.")] = 0
    cancel_all_ms: Annotated[
        Milliseconds | None,
        means("When the owner of each actor raises its authorization number (policy `aptos`).", left_out="never"),
    ] = None

    def problem(self, site: Site) -> str:
        """Return the first contradiction among the keys; empty if there is none."""
        if self.unfunded_actors > self.actors:
            return f"unfunded_actors must not be above actors, which is {self.actors}"
        if self.cancels_per_actor > self.timers_per_actor:
            return f"cancels_per_actor must not be above timers_per_actor, which is {self.timers_per_actor}"
        if bool(self.cancels_per_actor) != (self.cancel_ms is not None):
            return "cancel_ms and cancels_per_actor belong together"
        if self.payer == "sender" and self.unfunded_actors:
            return "unfunded_actors means nothing where payer is sender"
        return super().problem(site) or self._queue_problem(site)

    def _queue_problem(self, site: Site) -> str:
        """Return which key does not fit the queue of scheduled transactions, or needs it."""
        queue = site.queue
        if queue is not None and self.payer == "sender":
            return "payer must be actor where chain.policy is aptos: an entry is paid for by its own actor"
        if self.cancel_all_ms is not None and (queue is None or queue.authorization == "none"):
            return "cancel_all_ms needs chain.policy aptos with chain.policy_parameters.authorization = token"
        if self.cancels_per_actor and ids_problem(site):
            return f"cancels_per_actor: {ids_problem(site)}"
        return "" if queue is None else self._size_problem(site, queue)

    def _size_problem(self, site: Site, queue: AptosConfig) -> str:
        """Return that the queue refuses an entry because of its size."""
        most, size = queue.max_size_bytes - 1, len(storm_entry(site, queue, site.actor(0), self._order(site, 0, 0, 1)))
        if size <= most:
            return ""
        return f"payload_bytes: an entry has {size} bytes, chain.policy_parameters.max_size_bytes allows {most}"

    def volume(self, slots: int) -> Volume:
        """Return its submissions and timers."""
        del slots
        timers = self.actors * self.timers_per_actor
        orders = self.actors * -(-self.timers_per_actor // self.timers_per_transaction)
        cancels = self.actors * -(-self.cancels_per_actor // CANCELS_PER_TRANSACTION)
        withdrawals = 0 if self.withdraw_ms is None else max(self.actors, len(SWEEP_BITS))
        raised = 0 if self.cancel_all_ms is None else self.actors
        return Volume(orders + cancels + withdrawals + raised, timers, timers * self.payload_bytes)

    def first_due(self, slot_ms: int) -> int:
        """Return the first slot of the storm, or the slot in which owners begin to cancel timers."""
        due = max(self.first_slot, self.start_ms // slot_ms)
        return due if self.cancel_ms is None else min(due, self.cancel_ms // slot_ms)

    def genesis(self, site: Site) -> GenesisShare:
        """Return a client for each actor, or a common client if the sender pays, and the actors."""
        clients = self._clients(site)
        accounts = tuple(dict.fromkeys(GenesisAccount(client.address, FUNDS) for client in clients))
        actors = tuple(
            GenesisActor(site.actor(index), "storm-maker", client.address, 0 if self._is_unfunded(index) else FUNDS)
            for index, client in enumerate(clients)
        )
        return GenesisShare(accounts, (*actors, *self.agents(site)))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield the orders, then the cancellations and withdrawals."""
        clients = self._clients(site)
        for ordinal, planned in enumerate(self._plan(site)):
            at_ms = self.start_ms + ordinal * self.every_ms
            yield self._ask(clients[planned.actor], planned, at_ms=at_ms, site=site)
        later = [(self.cancel_ms, self._cancel), (self.withdraw_ms, self._withdraw), (self.cancel_all_ms, self._raise)]
        for at_ms, act in sorted(((at_ms, act) for at_ms, act in later if at_ms is not None), key=lambda it: it[0]):
            yield from act(site, clients, at_ms)

    def timers_known(self) -> tuple[int, int]:
        """Return its actors, and the timers of each."""
        return self.actors, self.timers_per_actor

    def timer_ids(self, site: Site, actor: int, first: int, count: int) -> list[bytes]:
        """Return identifiers that hold where every order is executed before `first_slot`."""
        return [name[-32:] for name in self._timer_names(site, actor, first, count)]

    def _timer_names(self, site: Site, actor: int, first: int, count: int) -> list[bytes]:
        """Return the names by which owners refer to these timers, under the same condition."""
        found: list[bytes] = []
        for planned in self._plan(site):
            if planned.actor == actor:
                found += [
                    storm_timer_name(
                        site,
                        site.actor(actor),
                        planned.order,
                        index,
                        nonce=planned.nonce,
                        counter=planned.placed + index,
                    )
                    for index in range(planned.order.count)
                ]
        return found[first : first + count]

    def _clients(self, site: Site) -> list[Client]:
        """Return the client of each actor; if the sender pays, all actors have the same client."""
        if self.payer == "sender":
            return [Client(site)] * self.actors
        return [Client(site, index) for index in range(self.actors)]

    def _plan(self, site: Site) -> Iterator[PlannedOrder]:
        """Yield orders of `timers_per_transaction` timers each, actor by actor in rounds, until all are placed."""
        placed = rounds = ordinal = 0
        while placed < self.timers_per_actor:
            count = min(self.timers_per_transaction, self.timers_per_actor - placed)
            for index in range(self.actors):
                nonce = ordinal if self.payer == "sender" else rounds
                yield PlannedOrder(index, nonce, placed, self._order(site, index, placed, count))
                ordinal += 1
            placed += count
            rounds += 1

    def _order(self, site: Site, index: int, placed: int, count: int) -> StormOrder:
        return StormOrder(
            count=count,
            delay=1,
            not_before=self.first_slot,
            spread=self.spread_slots,
            ttl=self.unfunded_ttl_slots if self._is_unfunded(index) else self.ttl_slots,
            gas_limit=self.gas_limit,
            payload_size=self.payload_bytes,
            handler=self.handler,
            sender_pays=self.payer == "sender",
            terms=self.terms(site, index + (placed // self.timers_per_transaction if self.tips_by == "order" else 0)),
            # The timers of all actors are numbered continuously, so that few timers of many actors reach every slot
            # too.
            offset=(index * self.timers_per_actor + placed) % self.spread_slots,
        )

    def _ask(self, client: Client, planned: PlannedOrder, *, at_ms: int, site: Site) -> TimedTransaction:
        order = planned.order
        call = ExecuteActor(site.actor(planned.actor), "make", msgspec.msgpack.encode(order))
        payload = len(storm_payload(order, 0))
        return client.sign(
            at_ms,
            call,
            cycles_limit=10_000 + order.count * (POLICY_CYCLES_PER_TIMER + site.config.schedule_cycles),
            cells_limit=2_000 + order.count * (payload + POLICY_CELLS_PER_TIMER),
            # In the queue a deposit is paid in advance: an actor without funds is refused when it schedules.
            may_fail=site.queue is not None and self._is_unfunded(planned.actor),
        )

    def _cancel(self, site: Site, clients: list[Client], at_ms: int) -> Iterator[TimedTransaction]:
        for actor, client in enumerate(clients):
            for first in range(0, self.cancels_per_actor, CANCELS_PER_TRANSACTION):
                count = min(CANCELS_PER_TRANSACTION, self.cancels_per_actor - first)
                order = CancelOrder(tuple(self._timer_names(site, actor, first, count)))
                call = ExecuteActor(site.actor(actor), "cancel", msgspec.msgpack.encode(order))
                cycles = 10_000 + count * (POLICY_CYCLES_PER_TIMER + site.config.cancel_cycles)
                yield client.sign(at_ms, call, cycles_limit=cycles, cells_limit=2_000 + count * POLICY_CELLS_PER_CANCEL)

    def _raise(self, site: Site, clients: list[Client], at_ms: int) -> Iterator[TimedTransaction]:
        for actor, client in enumerate(clients):
            yield client.sign(at_ms, CancelAll(site.actor(actor)))

    def _withdraw(self, site: Site, clients: list[Client], at_ms: int) -> Iterator[TimedTransaction]:
        if self.payer == "actor":
            for actor, client in enumerate(clients):
                yield client.sign(at_ms, ExecuteActor(site.actor(actor), "withdraw", b""))
            return
        # The account's rest is not known here: powers of two that it can cover are transferred, larger transfers
        # revert.
        for bit in SWEEP_BITS:
            call = Transfer(site.actor(0), 1 << bit)
            yield clients[0].sign(
                at_ms, call, cycles_limit=1_200, cells_limit=300, fee_max=SWEEP_FEE_MAX, may_fail=True
            )

    def _is_unfunded(self, index: int) -> bool:
        return index >= self.actors - self.unfunded_actors
