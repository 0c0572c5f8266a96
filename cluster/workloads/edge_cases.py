"""The workload `edge-cases`: transactions at each limit of the rules and one beyond it, refused, failing and odd.

The other workloads use the chain as it is meant to be used. Here a bookkeeper, who owns a clerk (`validators.actors.
clerk`) and some other actors, sends scripts and calls that try one rule each; strangers, who need not respect anything,
send transactions that may stand in no block. A scenario takes `count` of them from the `first` one on, round and round.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Final

import msgspec

from cluster.workloads.edge_scripts import FORBIDDEN, NOBODY, SCRIPT_CELLS, SCRIPTS, Attempt, Bench, Case, script_of
from cluster.workloads.submission import (
    FUNDS,
    Client,
    GenesisShare,
    Milliseconds,
    Positive,
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
    RiskOrder,
    StormOrder,
    Submission,
)
from validators.actors.metering import SYSTEM_INSTRUCTION_CYCLES, TRANSACTION_CYCLES
from validators.execution import GenesisActor, SystemCancelTimer, SystemExtendTimer, SystemUpdateTimerConfig
from validators.execution.blocks import ExecuteActor, Transfer


def _spending(bench: Bench) -> tuple[Attempt, ...]:
    """Fires of one block, of which the first spends what all the others would need."""
    storm = StormOrder(count=7, delay=2, not_before=0, spread=1, ttl=6, gas_limit=2_000, handler="spend")
    return (
        bench.order("storm-maker", "make", storm),
        bench.order("risk-agent", "assess", RiskOrder(3, 2, 1)),
        bench.order("risk-agent", "assess", b"\x93\x01\x02"),
    )


def _at_prices(bench: Bench) -> Iterator[Attempt]:
    """Positions at the limits of risk while the price falls, each price for some blocks."""
    for debts, price in (((70,), 10), ((71, 72), 10), ((), 8), ((), 2**40), ((), 2**40 + 1)):
        orders = [("open", [10, debt]) for debt in debts] + [("price", [price, 2, 9_000])]
        for place, (handler, order) in enumerate(orders):
            attempt = bench.order("liquidation-bot", handler, msgspec.msgpack.encode(order))
            yield replace(attempt, pause_ms=0 if place else 1_300)


def _services(bench: Bench) -> tuple[Attempt, ...]:
    """Actors that are started twice, stopped, stopped again, and told what is no order."""
    beat, plan = HeartbeatOrder(4, 3_000), PlanOrder(bench.others["merchant"], 1_000, 2, 9_000)
    feed, game = FeedOrder(3, 4_000), GameOrder(2, (bench.clerk, NOBODY), 20_000, 300)
    return (
        *(bench.order("heartbeat", "start", beat), bench.order("heartbeat", "start", beat)),
        *(bench.order("heartbeat", "stop", b"x"), bench.order("heartbeat", "stop"), bench.order("heartbeat", "stop")),
        *(bench.order("subscription", "subscribe", plan), bench.order("subscription", "subscribe", plan)),
        *(bench.order("subscription", "cancel"), bench.order("subscription", "cancel")),
        *(bench.order("game-loop", "start", game), bench.order("game-loop", "start", game)),
        *(bench.order("oracle-feed", "submit", Submission(4)), bench.order("oracle-feed", "start", feed)),
        *(bench.order("oracle-feed", "submit", Submission(5)), bench.order("oracle-feed", "submit", b"\x90")),
        # At a price of 10 the alarm is above a debt of 70, at 8 the limit is above 72.
        *_at_prices(bench),
    )


def _not_the_owner(bench: Bench) -> tuple[Attempt, ...]:
    """What only an owner may do, asked for by a stranger."""
    others = bench.others
    calls = (
        ("heartbeat", "stop", b""),
        ("oracle-feed", "start", msgspec.msgpack.encode(FeedOrder(3))),
        ("oracle-feed", "submit", msgspec.msgpack.encode(Submission(4))),
        ("liquidation-bot", "price", msgspec.msgpack.encode([10, 2])),
        ("game-loop", "start", msgspec.msgpack.encode(GameOrder(2, ()))),
        ("subscription", "cancel", b""),
        ("storm-maker", "withdraw", b""),
        ("storm-maker", "cancel", msgspec.msgpack.encode([[]])),
    )
    return tuple(
        Attempt(ExecuteActor(others[program], handler, payload), is_from_stranger=True)
        for program, handler, payload in calls
    )


def _instructions(bench: Bench) -> tuple[Attempt, ...]:
    """System instructions that are none: the bookkeeper is a system deployer where the scenario says so."""
    whole = msgspec.msgpack.encode(bench.site.config)
    # A map that would do, not in its shortest form.
    long_map = b"\xde\x00\x01" + msgspec.msgpack.encode({"timer_config.cancel_cycles": 205})[1:]
    configs = (
        *(
            b"",
            b"\xc1",
            b"\x80",
            whole + b"\0",
            whole[:-1],
            b"\x81\x01\x02",
            b"\xdc\x00\x00",
            long_map,
            msgspec.msgpack.encode([1]),
        ),
        *map(
            msgspec.msgpack.encode,
            (
                {"timer_config.max_ttl_blocks": -1},
                {"timer_config.gc_cost_per_timer": 0},
                {"timer_config.lane_timer_cycles": 0},
                {"timer_config.nothing": 1},
                {"timer_config.max_ttl_blocks": True},
                {"timer_config.max_ttl_blocks": 10**6, "timer_config.cancel_cycles": 210},
                {"timer_config.cancel_cycles": 210, "timer_config.max_ttl_blocks": 10**6},
                {"system:cip1:min_lane_basefee": 7},
                {"system:cip1:ring_size": 0},
                {"system:cip1:target_utilisation": [1, 1]},
                {"system:cip1:weight_max": [1, 3]},
                {"system:cip1:slope": "steep"},
                {"system:cip1:priority_tier_multipliers.fast": [3, 0]},
            ),
        ),
    )
    cut = {"cycles_limit": TRANSACTION_CYCLES + SYSTEM_INSTRUCTION_CYCLES - 1}
    return (
        *(Attempt(SystemUpdateTimerConfig(config)) for config in configs),
        Attempt(SystemCancelTimer(bytes(32))),
        Attempt(SystemExtendTimer(bytes(32), 100)),
        Attempt(SystemCancelTimer(bytes(32)), cut),
        Attempt(SystemCancelTimer(bytes(32)), {"cycles_limit": cut["cycles_limit"] + 1}),
        Attempt(SystemCancelTimer(bytes(32)), is_from_stranger=True),
    )


def _fees(bench: Bench) -> tuple[Attempt, ...]:
    """Fees near the basefee: the tip is what is left below the maximum."""
    call = ExecuteActor(bench.clerk, "note", b"fees")
    return (
        *(Attempt(call, {"max_fee_per_cycle": fee, "priority_fee_per_cycle": 300}) for fee in (810, 1_000)),
        *(Attempt(call, {"priority_fee_per_cycle": tip}) for tip in (0, 7, 1_000_000)),
        Attempt(call, {"max_fee_per_cell": 900}),
    )


def _refused(bench: Bench) -> tuple[Attempt, ...]:
    """Transactions that may stand in no block."""
    call = Transfer(bench.clerk, 1)
    changes: tuple[dict[str, Any], ...] = (
        {"nonce": 1},
        {"nonce": MAX_U63},
        {"cycles_limit": TRANSACTION_CYCLES - 1},
        {"cells_limit": 100},
        {"cycles_limit": 10_000_001, "max_fee_per_cycle": 900},
        {"cells_limit": 10_000_001, "max_fee_per_cell": 900},
        {"max_fee_per_cycle": 799},
        {"max_fee_per_cell": 799},
        {"priority_fee_per_cycle": 1_000_001},
        {"max_fee_per_cycle": FUNDS // 10_000},
        {"max_fee_per_cell": FUNDS // 100},
    )
    return (
        *(Attempt(call, change, is_refused=True) for change in changes),
        Attempt(call, is_spoilt=True, is_refused=True),
    )


CASES: Final[tuple[Case, ...]] = (*SCRIPTS, _spending, _services, _not_the_owner, _instructions, _fees, _refused)
"""Groups of transactions, each of which tries the rules of one thing."""

PROGRAMS: Final = (
    *("heartbeat", "storm-maker", "oracle-feed", "liquidation-bot", "game-loop", "subscription", "merchant"),
    "risk-agent",
)
"""Programs of the bookkeeper's other actors."""


AGENTS: Final[tuple[tuple[str, bytes, bytes], ...]] = (
    *(("clerk", b"script", script_of(step, patience=2)) for step in FORBIDDEN),
    # Just too long for an agent that may use so many cycles.
    *(("clerk", b"script", script_of(("compute", cycles))) for cycles in (700, 10_000)),
    *(("risk-agent", b"order", msgspec.msgpack.encode(RiskOrder(10, debt, 1))) for debt in (7, 8, 9, 10)),
    *(("chaos-agent", b"mode", mode) for mode in (b"spin", b"crash", b"revert", b"low", b"nothing")),
)
"""Agents by program, with the key and the value that they have stored."""


ATTEMPTS_PER_CASE: Final = 20
"""Transactions of a group of cases, rather too many: what the estimate of a plan's cost goes by."""


class EdgeCases(WorkloadKind, tag="edge-cases", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """So many groups of odd transactions from the `first` one on, a transaction every ``every_ms``.

    With `is_deployer` the bookkeeper may give system instructions.
    """

    first: Annotated[int, msgspec.Meta(ge=0, lt=len(CASES))] = 0
    count: Annotated[int, msgspec.Meta(ge=1, le=len(CASES))] = len(CASES)
    start_ms: Milliseconds = 0
    every_ms: Positive = 100
    is_deployer: bool = True

    def volume(self, slots: int) -> Volume:
        """Its submissions and timers over so many slots."""
        del slots
        return Volume(ATTEMPTS_PER_CASE * self.count, ATTEMPTS_PER_CASE * self.count)

    def genesis(self, site: Site) -> GenesisShare:
        """The bookkeeper and the strangers; the clerks and the other actors."""
        keeper, bench = Client(site), self._bench(site)
        strangers = sum(attempt.needs_stranger for attempt in self.attempts(site))
        actors = (
            GenesisActor(bench.clerk, "clerk", keeper.address, FUNDS),
            GenesisActor(bench.poor, "clerk", keeper.address, 0),
            *(
                GenesisActor(address, program, keeper.address, 0, ((key, value),))
                for address, (program, key, value) in zip(bench.agents, AGENTS, strict=True)
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
        """Return what is sent, in order."""
        bench = self._bench(site)
        groups = [CASES[(self.first + index) % len(CASES)] for index in range(self.count)]
        return [attempt for group in groups for attempt in group(bench)]

    def _bench(self, site: Site) -> Bench:
        first = 2 + len(PROGRAMS)
        return Bench(
            clerk=site.actor(0),
            poor=site.actor(1),
            bookkeeper=Client(site).address,
            others={program: site.actor(2 + index) for index, program in enumerate(PROGRAMS)},
            agents=tuple(site.actor(first + index) for index in range(len(AGENTS))),
            site=site,
        )
