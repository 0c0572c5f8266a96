"""The workload `boundary-cases`: transactions at each limit of the rules and one beyond it, refused, failing and odd.

The other workloads use the chain as intended. Here a bookkeeper owns a script actor (`validators.actors.script`) and
some other actors; it sends scripts and calls that try one rule each. Strangers are accounts without obligations; they
send transactions that no block may contain. A scenario takes `count` groups from the `first` group on, in rotation.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Final, Literal, Self

import msgspec

from cluster.scenario.fields import Milliseconds, Positive, means
from cluster.workloads.boundary.limits import LIMIT_CASES
from cluster.workloads.boundary.queue import QUEUE_CASES
from cluster.workloads.boundary.reads import READ_CASES, readers_of
from cluster.workloads.boundary.scripts import (
    FORBIDDEN,
    NOBODY,
    SCRIPT_CELLS,
    SCRIPTS,
    Attempt,
    Bench,
    Case,
    script_of,
    sent,
)
from cluster.workloads.submission import (
    CALL_CYCLES,
    FEE_MAX,
    FUNDS,
    Client,
    GenesisShare,
    Site,
    TimedTransaction,
    Volume,
    WorkloadKind,
)
from scheduler import MAX_U63
from validators.actors import (
    FeedOrder,
    GameOrder,
    HeartbeatOrder,
    PlanOrder,
    PositionOrder,
    PriceOrder,
    RiskOrder,
    StormOrder,
    Submission,
)
from validators.actors.metering import SYSTEM_INSTRUCTION_CYCLES, TRANSACTION_CYCLES
from validators.execution import GenesisActor, SystemCancelTimer, SystemExtendTimer, SystemUpdateTimerConfig
from validators.execution.blocks import ExecuteActor, Transaction, Transfer, encode_transaction


def _spending(bench: Bench) -> Iterable[Attempt]:
    """Fires of one block; the first fire spends the cost of all later fires."""
    storm = StormOrder(count=7, delay=2, not_before=0, spread=1, ttl=6, gas_limit=2_000, handler="spend")
    yield bench.order("storm-maker", "make", storm)
    for order in (RiskOrder(3, 2, 1), b"\x93\x01\x02"):
        yield bench.order("risk-agent", "assess", order)


def _services(bench: Bench) -> Iterable[Attempt]:
    """Actors that are started twice, stopped, stopped again, and given an invalid order."""
    beat, plan = HeartbeatOrder(4, 3_000), PlanOrder(bench.others["merchant"], 1_000, 2, 9_000)
    feed, game = FeedOrder(3, 4_000), GameOrder(2, (bench.scripted, NOBODY), 20_000, 300)
    orders: tuple[tuple[str, str, msgspec.Struct | bytes], ...] = (
        *[("heartbeat", "start", beat)] * 2,
        *(("heartbeat", "stop", b"x"), *[("heartbeat", "stop", b"")] * 2),
        *[("subscription", "subscribe", plan)] * 2,
        *[("subscription", "cancel", b"")] * 2,
        *[("game-loop", "start", game)] * 2,
        *(("oracle-feed", "submit", Submission(4)), ("oracle-feed", "start", feed)),
        *(("oracle-feed", "submit", Submission(5)), ("oracle-feed", "submit", b"\x90")),
    )
    # Without a limit of their own the protocol's limit holds.
    unlimited = (HeartbeatOrder(3), PlanOrder(bench.others["merchant"], 1_000, 3), GameOrder(2, (bench.scripted,)))
    orders += tuple(
        zip(("heartbeat", "subscription", "game-loop"), ("start", "subscribe", "start"), unlimited, strict=True)
    )
    yield from (bench.order(*order) for order in orders)
    # Positions at the limits of risk, each price for some blocks: at 10 the alarm is above a debt of 70, at 8 the limit
    # is above 72.
    for debts, price in (((70,), 10), ((71, 72), 10), ((), 8), ((), 2**40), ((), 2**40 + 1)):
        steps: list[tuple[str, msgspec.Struct]] = [("open", PositionOrder(10, debt)) for debt in debts]
        steps.append(("price", PriceOrder(price, 2, 9_000)))
        for place, (handler, order) in enumerate(steps):
            yield replace(bench.order("liquidation-bot", handler, order), pause_ms=0 if place else 1_300)


def _not_the_owner(bench: Bench) -> Iterable[Attempt]:
    """Calls that only an owner may make, made by a stranger."""
    calls: tuple[tuple[str, str, object], ...] = (
        *(
            ("heartbeat", "stop", None),
            ("oracle-feed", "start", FeedOrder(3)),
            ("oracle-feed", "submit", Submission(4)),
        ),
        *(
            ("liquidation-bot", "price", [10, 2]),
            ("game-loop", "start", GameOrder(2, ())),
            ("subscription", "cancel", None),
        ),
        *(("storm-maker", "withdraw", None), ("storm-maker", "cancel", [[]])),
    )
    for program, handler, order in calls:
        payload = b"" if order is None else msgspec.msgpack.encode(order)
        yield replace(bench.order(program, handler, payload), is_from_stranger=True)


WRONG_TIMERS: Final = (
    *(
        ("max_ttl_blocks", -1),
        ("gc_cost_per_timer", 0),
        ("lane_timer_cycles", 0),
        ("nothing", 1),
        ("max_ttl_blocks", True),
    ),
)
"""Keys of the timer configuration with values on which no chain can run."""

WRONG_LANE: Final = (
    *(("min_lane_basefee", 7), ("ring_size", 0), ("target_utilisation", [1, 1]), ("weight_max", [1, 3])),
    *(("slope", "steep"), ("priority_tier_multipliers.fast", [3, 0])),
)
"""Governance keys of the lane with values on which no chain can run."""


WRONG_AUCTION: Final = (
    *(("gba:ema_lambda", [1_001, 1_000]), ("gba:starvation_deferrals", 0), ("gba:weight_max", [1_000_001, 1])),
    *(("gba:weight_min", [1_000_001, 1]), ("gba:rescale", [1, 0]), ("gba:starvation_floor", [1_000_001, 1])),
    *(("bias:max_fires_per_block", 0), ("bias:lambda_min", 0), ("bias:lambda_max", MAX_U63)),
    *(("bias:bias_lambda", 0), ("bias:value_decay", [1, 0]), ("bias:max_keys_per_watch", -1)),
)
"""The same for the auctions' keys; a chain with another policy does not have them."""


def _instructions(bench: Bench) -> Iterable[Attempt]:
    """Invalid system instructions: the bookkeeper is a system deployer where the scenario says so."""
    whole = msgspec.msgpack.encode(bench.site.config)
    # A valid map that is not in its shortest form.
    long_map = b"\xde\x00\x01" + msgspec.msgpack.encode({"timer_config.cancel_cycles": 205})[1:]
    broken = (b"", b"\xc1", b"\x80", whole + b"\0", whole[:-1], b"\x81\x01\x02", b"\xdc\x00\x00", long_map)
    updates: tuple[object, ...] = (
        [1],
        *({f"timer_config.{key}": value} for key, value in WRONG_TIMERS),
        {"timer_config.max_ttl_blocks": 10**6, "timer_config.cancel_cycles": 210},
        {"timer_config.cancel_cycles": 210, "timer_config.max_ttl_blocks": 10**6},
        *({f"system:cip1:{key}": value} for key, value in WRONG_LANE),
        *({f"system:{key}": value} for key, value in WRONG_AUCTION),
    )
    for update in (*broken, *map(msgspec.msgpack.encode, updates)):
        yield sent(SystemUpdateTimerConfig(update))
    cancel = SystemCancelTimer(bytes(32))
    yield from (sent(cancel), sent(SystemExtendTimer(bytes(32), 100)))
    for less in (1, 0):
        yield sent(cancel, cycles_limit=TRANSACTION_CYCLES + SYSTEM_INSTRUCTION_CYCLES - less)
    yield Attempt(cancel, is_from_stranger=True)


def _fees(bench: Bench) -> Iterable[Attempt]:
    """Fees near the basefee: the tip is the rest below the maximum."""
    call = ExecuteActor(bench.scripted, "note", b"fees")
    for fee in (810, 1_000):
        yield sent(call, max_fee_per_cycle=fee, priority_fee_per_cycle=300)
    for tip in (0, 7, 1_000_000):
        yield sent(call, priority_fee_per_cycle=tip)
    yield sent(call, max_fee_per_cell=900)
    # At the limits: exactly the usual floor, all of the sender's units, no cycle and no cell beyond the transaction's
    # own.
    yield from (sent(call, max_fee_per_cycle=800), sent(call, max_fee_per_cell=800))
    yield sent(call, max_fee_per_cycle=900, priority_fee_per_cycle=900)
    whole = (FUNDS - SCRIPT_CELLS * FEE_MAX) // WHOLE_CYCLES
    yield sent(call, cycles_limit=WHOLE_CYCLES, max_fee_per_cycle=whole)
    yield from (sent(call, cycles_limit=TRANSACTION_CYCLES), sent(call, cells_limit=_bytes_of(call)))
    # Before all other transactions, because they need the whole block.
    for limit in BLOCK_LIMITS["cycles_limit"]:
        yield sent(call, cycles_limit=limit, priority_fee_per_cycle=FEE_MAX)
    for limit in BLOCK_LIMITS["cells_limit"]:
        yield sent(call, cells_limit=limit, priority_fee_per_cycle=FEE_MAX)


WHOLE_CYCLES: Final = 5_000
"""Cycles of a transaction whose charge is its sender's whole balance."""

BLOCK_LIMITS: Final = {"cycles_limit": (60_000, 10_000_000), "cells_limit": (24_000, 10_000_000)}
"""Limits of blocks in the swarm: a transaction with a block's whole limit stands alone, or is never taken."""


def _bytes_of(call: ExecuteActor) -> int:
    """Return the length of a stranger's transaction whose limit of cells is that length."""
    return len(
        encode_transaction(
            Transaction(
                public_key=bytes(32),
                nonce=0,
                cycles_limit=CALL_CYCLES,
                # As long as any number of one byte above 127.
                cells_limit=200,
                max_fee_per_cycle=FEE_MAX,
                max_fee_per_cell=FEE_MAX,
                priority_fee_per_cycle=1,
                call=call,
                signature=bytes(64),
            )
        )
    )


def _refused(bench: Bench) -> Iterable[Attempt]:
    """Transactions that no block may contain."""
    call = Transfer(bench.scripted, 1)
    changes: tuple[dict[str, int], ...] = (
        *({"nonce": 1}, {"nonce": MAX_U63}, {"cycles_limit": TRANSACTION_CYCLES - 1}, {"cells_limit": 100}),
        {"cycles_limit": 10_000_001, "max_fee_per_cycle": 900},
        {"cells_limit": 10_000_001, "max_fee_per_cell": 900},
        *({"max_fee_per_cycle": 799}, {"max_fee_per_cell": 799}, {"priority_fee_per_cycle": 1_000_001}),
        *({"max_fee_per_cycle": FUNDS // 10_000}, {"max_fee_per_cell": FUNDS // 100}),
    )
    for change in changes:
        yield Attempt(call, change, is_refused=True)
    yield Attempt(call, is_spoilt=True, is_refused=True)


CASES: Final[tuple[Case, ...]] = (
    *(*SCRIPTS, _spending, _services, _not_the_owner, _instructions, _fees, _refused),
    *LIMIT_CASES,
)
"""Groups of transactions, each of which tries the rules of one thing."""

_CASES: Final[Mapping[str, tuple[Case, ...]]] = {"chain": CASES, "queue": QUEUE_CASES, "reads": READ_CASES}
"""The groups by subject."""

PROGRAMS: Final = (
    *("heartbeat", "storm-maker", "oracle-feed", "liquidation-bot", "game-loop", "subscription", "merchant"),
    "risk-agent",
)
"""Programs of the bookkeeper's other actors."""

AGENTS: Final[tuple[tuple[str, bytes, bytes], ...]] = (
    *(("script-actor", b"script", script_of(step, patience=2)) for step in FORBIDDEN),
    # Slightly too long for an agent with this cycle limit.
    *(("script-actor", b"script", script_of(("compute", cycles))) for cycles in (700, 10_000)),
    *(("risk-agent", b"order", msgspec.msgpack.encode(RiskOrder(10, debt, 1))) for debt in (7, 8, 9, 10)),
    *(("chaos-agent", b"mode", mode) for mode in (b"spin", b"crash", b"revert", b"low", b"nothing")),
)
"""Agents by program, with the key and the value that they have stored."""

ATTEMPTS_PER_CASE: Final = 10
ATTEMPTS_BESIDES: Final = 30
"""Transactions of a group of cases, and the additional ones of the largest groups: a high estimate for the cost."""


class EdgeCases(WorkloadKind, tag="boundary-cases", kw_only=True, frozen=True):
    """Transactions at each limit of the rules and one beyond it."""

    narrowed_by: ClassVar[tuple[str, ...]] = ("first", "count")

    first: Annotated[int, msgspec.Meta(ge=0, lt=len(CASES)), means("The first group of cases.")] = 0
    count: Annotated[int, msgspec.Meta(ge=1, le=len(CASES)), means("How many groups.")] = len(CASES)
    start_ms: Annotated[Milliseconds, means("When the first transaction is submitted.")] = 0
    every_ms: Annotated[Positive, means("Time from one transaction to the next.")] = 100
    about: Annotated[
        Literal["chain", "queue", "reads"],
        means("Groups of all chains, of the queue of `aptos`, or about storage of other actors."),
    ] = "chain"
    is_deployer: Annotated[bool, means("Whether the bookkeeper may give system instructions.")] = True

    def problem(self, site: Site) -> str:
        """Return that there is no queue."""
        is_without = self.about == "queue" and not site.queue
        return "about must be chain or reads unless chain.policy is aptos" if is_without else ""

    def volume(self, slots: int) -> Volume:
        """Return its submissions and timers."""
        del slots
        attempts = ATTEMPTS_PER_CASE * self.count + ATTEMPTS_BESIDES
        return Volume(attempts, attempts)

    def narrower(self) -> Iterator[Self]:
        """Yield the halves of its groups of cases, their quarters, and so on down to single groups."""
        size = self.count // 2
        while size:
            for start in range(0, self.count, size):
                first, count = (self.first + start) % len(CASES), min(size, self.count - start)
                yield msgspec.structs.replace(self, first=first, count=count)
            size //= 2

    def genesis(self, site: Site) -> GenesisShare:
        """Return the bookkeeper and the strangers; the script actors and the other actors."""
        keeper, bench = Client(site), self._bench(site)
        strangers = sum(attempt.needs_stranger for attempt in self.attempts(site))
        actors = (
            GenesisActor(bench.scripted, "script-actor", keeper.address, FUNDS),
            GenesisActor(bench.poor, "script-actor", keeper.address, 0),
            *(
                GenesisActor(address, program, keeper.address, 0, ((key, value),))
                for address, (program, key, value) in zip(bench.agents, self._agents(site), strict=True)
            ),
            *(GenesisActor(address, program, keeper.address, FUNDS) for program, address in bench.others.items()),
        )
        accounts = (keeper.funded, *(Client(site, 1 + index).funded for index in range(strangers)))
        return GenesisShare(accounts, actors, (keeper.address,) if self.is_deployer else ())

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield the transactions of the groups, one after the other."""
        keeper, strangers, at_ms = Client(site), 0, self.start_ms
        for attempt in self.attempts(site):
            at_ms += attempt.pause_ms
            client = keeper
            if attempt.needs_stranger:
                strangers += 1
                client = Client(site, strangers)
            yield client.sign(
                at_ms,
                attempt.call,
                cells_limit=SCRIPT_CELLS,
                change=attempt.change,
                is_spoilt=attempt.is_spoilt,
                may_fail=True,
            )
            at_ms += self.every_ms

    def attempts(self, site: Site) -> list[Attempt]:
        """Return the attempts, in order."""
        bench = self._bench(site)
        cases = _CASES[self.about]
        groups = [cases[(self.first + index) % len(cases)] for index in range(min(self.count, len(cases)))]
        return [attempt for group in groups for attempt in group(bench)]

    def _bench(self, site: Site) -> Bench:
        first = 2 + len(PROGRAMS)
        return Bench(
            scripted=site.actor(0),
            poor=site.actor(1),
            bookkeeper=Client(site).address,
            others={program: site.actor(2 + index) for index, program in enumerate(PROGRAMS)},
            agents=tuple(site.actor(first + index) for index in range(len(self._agents(site)))),
            site=site,
        )

    def _agents(self, site: Site) -> tuple[tuple[str, bytes, bytes], ...]:
        return readers_of(site.actor(0)) if self.about == "reads" else AGENTS
