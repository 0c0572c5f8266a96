"""The workload `edge-cases`: transactions at each limit of the rules and one beyond it, refused, failing and odd.

The other workloads use the chain as it is meant to be used. Here a bookkeeper, who owns a clerk (`validators.actors.
clerk`) and some other actors, sends scripts and calls that try one rule each; strangers, who need not respect anything,
send transactions that may stand in no block. A scenario takes `count` of them from the `first` one on, round and round.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import msgspec

from cluster.submission import FUNDS, Client, GenesisShare, Milliseconds, Positive, Site, TimedTransaction, WorkloadKind
from scheduler import MAX_U63
from validators.actors import FeedOrder, GameOrder, HeartbeatOrder, PlanOrder, PositionOrder, PriceOrder, Submission
from validators.actors.metering import SYSTEM_INSTRUCTION_CYCLES, TRANSACTION_CYCLES, TRANSFER_CYCLES
from validators.execution import GenesisActor, SystemCancelTimer, SystemExtendTimer, SystemUpdateTimerConfig
from validators.execution.blocks import Call, ExecuteActor, Transfer

NOBODY: Final = b"\x77" * 20
"""An address without an actor."""

LONG_KEY: Final = b"a key that is longer than ten bytes"
SCRIPT_CELLS: Final = 4_000
"""Cells that a script is given."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is sent, and how it differs from a transaction as clients make it; spoilt is a signature of something else.

    A stranger with an account of its own sends what differs: one that no block takes holds up its sender's next ones.
    """

    call: Call
    change: Mapping[str, Any] = field(default_factory=dict)
    is_spoilt: bool = False
    is_from_stranger: bool = False

    @property
    def needs_stranger(self) -> bool:
        """Whether it has a sender of its own."""
        return self.is_from_stranger or self.is_spoilt or bool(self.change)


@dataclass(frozen=True, slots=True)
class Bench:
    """The addresses that cases speak of."""

    clerk: bytes
    poor: bytes
    """A second clerk, without units."""
    bookkeeper: bytes
    others: Mapping[str, bytes]
    """Actors of the bookkeeper, by program."""
    agents: tuple[bytes, ...]
    """Clerks that try one of `FORBIDDEN` each when they are asked."""
    site: Site

    def run(self, *steps: tuple[object, ...], patience: int = 1) -> Attempt:
        """Have the clerk run a script."""
        return Attempt(ExecuteActor(self.clerk, "run", script_of(*steps, patience=patience)))

    def order(self, program: str, handler: str, order: msgspec.Struct | bytes = b"") -> Attempt:
        """Call one of the other actors."""
        payload = order if isinstance(order, bytes) else msgspec.msgpack.encode(order)
        return Attempt(ExecuteActor(self.others[program], handler, payload))


def script_of(*steps: tuple[object, ...], patience: int = 1) -> bytes:
    """Return a script as the clerk reads it."""
    return msgspec.msgpack.encode([steps, patience])


Case = Callable[[Bench], tuple[Attempt, ...]]


def _storage(bench: Bench) -> tuple[Attempt, ...]:
    return (
        bench.run(
            *(("put", b"k" * length, bytes([length])) for length in (0, 9, 10, 11)),
            ("put", LONG_KEY, b"v"),
            ("put", b"empty", b""),
            ("copy", LONG_KEY, b"c" * 10),
            ("copy", b"nothing", b"no"),
            ("copy", b"empty", b"e"),
        ),
        bench.run(("delete", LONG_KEY), ("delete", b"k" * 11), ("delete", b"k" * 10), ("delete", b"never")),
        bench.run(("put", b"lost", b"v"), ("fail", "x" * 130), patience=0),
        bench.run(("tell", "\u00e9", b"data"), ("tell", "", b""), ("weigh", b"w", NOBODY), ("weigh", b"w", b"short")),
    )


def _money(bench: Bench) -> tuple[Attempt, ...]:
    nineteen = b"\x01" * 19
    return (
        bench.run(("pay", bench.clerk, 5), ("pay", NOBODY, 0), ("pay", NOBODY, 7), ("pay", nineteen, 1)),
        bench.run(("pay", NOBODY, FUNDS), ("pay", NOBODY, -1), ("pay", NOBODY, MAX_U63 + 1), ("pay", nineteen, FUNDS)),
        bench.run(("pay", NOBODY, FUNDS), patience=0),
        Attempt(Transfer(bench.bookkeeper, 3)),
        Attempt(Transfer(NOBODY, 0)),
        Attempt(Transfer(NOBODY, FUNDS)),
        Attempt(Transfer(NOBODY, 1), {"cycles_limit": TRANSACTION_CYCLES + TRANSFER_CYCLES - 1}),
        Attempt(Transfer(NOBODY, 1), {"cycles_limit": TRANSACTION_CYCLES + TRANSFER_CYCLES}),
    )


def _gas(bench: Bench) -> tuple[Attempt, ...]:
    swallowing = bench.run(("put", b"s", b""), ("compute", MAX_U63), ("tell", "after", b""), patience=2)
    return (
        bench.run(("compute", 0), ("compute", -1), ("compute", MAX_U63 + 1), ("compute", 100)),
        swallowing,
        Attempt(swallowing.call, {"cells_limit": 300}),
        bench.run(("put", b"0", bytes(900)), *(("copy", b"0", b"%d" % copy) for copy in range(1, 6)), patience=2),
        Attempt(ExecuteActor(bench.clerk, "note", b""), {"cycles_limit": TRANSACTION_CYCLES + 199}),
        Attempt(ExecuteActor(bench.clerk, "note", b""), {"cycles_limit": TRANSACTION_CYCLES + 300}),
    )


def _strange_calls(bench: Bench) -> tuple[Attempt, ...]:
    return (
        Attempt(ExecuteActor(NOBODY, "run", b"")),
        Attempt(ExecuteActor(bench.clerk, "_run", b"")),
        Attempt(ExecuteActor(bench.clerk, "handle_timer", b"")),
        Attempt(ExecuteActor(bench.clerk, "run", b"\xc1")),
        Attempt(ExecuteActor(bench.clerk, "run", msgspec.msgpack.encode([[["put", b""]]]))),
        bench.order("heartbeat", "handle_timer"),
        bench.order("game-loop", "move"),
        bench.order("merchant", "paid", b"123456789"),
    )


def _due(bench: Bench) -> tuple[Attempt, ...]:
    """What a height, a payload and a limit may be."""
    config = bench.site.config
    ceiling = min(config.max_cycles_per_fire, config.lane_timer_cycles)
    auction = bench.site.lane.max_cycles_per_fire_auction_phase if bench.site.lane is not None else ceiling
    tops = dict.fromkeys((ceiling, min(ceiling, auction)))
    return (
        bench.run(*(("schedule", b"d", delay, b"") for delay in (-1, 0, MAX_U63, 1))),
        bench.run(*(("schedule", b"g", 2, b"", None, limit) for limit in (-1, 0, 199, MAX_U63))),
        bench.run(*(("schedule", b"g", 2, b"", None, top + more) for top in tops for more in (0, 1))),
        bench.run(*(("schedule", b"t", 2, b"", None, None, ttl) for ttl in (-(10**6), 0, 1, 2))),
        bench.run(
            *(("schedule", b"t", 3, b"", None, 2_000, config.max_ttl_blocks + more) for more in (-1, 0, 1)),
            ("schedule", b"t", 3, b"", None, 2_000, MAX_U63),
        ),
        bench.run(("schedule", b"same", 4, b"p"), ("schedule", b"same", 4, b"p"), ("cancel", b"same")),
    )


def _payers(bench: Bench) -> tuple[Attempt, ...]:
    payers = (bytes(20), bytes(19) + b"\x0f", bytes(19) + b"\x10", NOBODY, b"short", bench.clerk, bench.bookkeeper)
    return (
        bench.run(*(("schedule", b"p", 2, b"", payer, 3_000) for payer in payers)),
        # Who is no actor's sender cannot be made to pay by a message.
        bench.run(
            ("send", bench.clerk, "run", script_of(("schedule", b"m", 2, b"", bench.bookkeeper, 3_000)), 4_000),
            ("send", bench.clerk, "run", script_of(("schedule", b"m", 2, b"", bench.clerk, 3_000)), 4_000),
        ),
    )


def _changes(bench: Bench) -> tuple[Attempt, ...]:
    """Timers extended and cancelled, in time, too late and by those who may not."""
    change = script_of(("cancel", b"late"), ("extend", b"late", 9), ("cancel", b"a"), ("extend", b"b", 3))
    timer = ("schedule", b"a", 6, b"", None, 3_000, 3)
    return (
        bench.run(timer, ("extend", b"a", 9), ("extend", b"a", 0), ("extend", b"a", -1), ("extend", b"a", MAX_U63)),
        bench.run(("extend", b"a", 9), ("extend", bytes(32), 9), ("cancel", bytes(32)), ("cancel", b"a")),
        bench.run(("cancel", b"a"), ("extend", b"a", 4)),
        # The first fire of a block meets others that are collected already, and one that is not.
        bench.run(
            ("schedule", b"x", 2, change, None, 4_000),
            ("schedule", b"late", 2, b"", None, 3_000),
            ("schedule", b"a", 3, b"", None, 3_000),
            ("schedule", b"b", 4, b"", None, 3_000, 30),
        ),
        Attempt(ExecuteActor(bench.poor, "run", script_of(("put", b"k", b"v"), ("cancel", b"k")))),
        Attempt(
            ExecuteActor(
                bench.poor,
                "run",
                script_of(("schedule", b"poor", 2, b"", None, 3_000), ("schedule", b"paid", 1, b"", bench.bookkeeper)),
            )
        ),
    )


def _far(bench: Bench) -> tuple[Attempt, ...]:
    """Heights in every tier, some of which lose their only timer again."""
    delays = (1, 3, 5, 8, 9, 12, 20, 64, 5_000, 100_000)
    return (
        bench.run(*(("schedule", b"%d" % delay, delay, b"", None, 2_000) for delay in delays)),
        bench.run(*(("cancel", b"%d" % delay) for delay in (3, 8, 12, 20, 5_000))),
        bench.run(*(("extend", b"%d" % delay, 40) for delay in (5, 9, 64, 100_000))),
    )


def _conventions(bench: Bench) -> tuple[Attempt, ...]:
    """Payloads that name a handler, nearly name one, or only look like it."""
    inner = b"YWJj"
    named = b'{"_handler":"note","_payload":"%b"}'
    payloads = (
        *(named % inner, b" \t\r\n" + named % inner, b"\x0b" + named % inner, named % b"YWI=", named % b"YWJ="),
        *(named % b"YW Jj", named % b"!", b'{"_handler":"note"}', b'{"_handler":1,"_payload":""}', b"[]", b"{"),
        b'{"_handler":"gone","_handler":"note","_payload":"","more":[1]}',
        b'{"_handler":"none","_payload":""}',
        b'{"_handler":"%b","_payload":""}' % (b"h" * 256),
        b'{"_handler":"%b","_payload":""}' % (b"h" * 257),
        b'{"_payload":"","_handler":"note","deep":%b%b}' % (b"[" * 63, b"]" * 63),
        b'{"_payload":"","_handler":"note","deep":%b%b}' % (b"[" * 64, b"]" * 64),
        b'{"_payload":"","_handler":"note","text":"\xff"}',
        b'{"_payload":"","_handler":"\\ud800"}',
    )
    return tuple(
        bench.run(*(("schedule", b"c", 2, payload, None, 3_000) for payload in payloads[part::4])) for part in range(4)
    )


def _messages(bench: Bench) -> tuple[Attempt, ...]:
    told = b"told"
    return (
        bench.run(
            *(("send", bench.clerk, "note", told, cycles) for cycles in (-1, 0, 199, 200, 301, 400, MAX_U63)),
            ("send", NOBODY, "note", told, 300),
            ("send", b"short", "note", told, 300),
            ("send", bench.clerk, "h" * 256, told, 300),
            ("send", bench.clerk, "h" * 257, told, 300),
            ("send", bench.clerk, "\u00e9" * 129, told, 300),
        ),
        bench.run(
            ("send", bench.clerk, "run", script_of(("send", bench.poor, "note", told, 400), ("tell", "m", b"")), 900),
            ("send", bench.clerk, "run", script_of(("put", b"undone", told), ("fail", "no"), patience=0), 900),
            ("send", bench.clerk, "run", script_of(("compute", 5_000)), 2_000),
            ("send", bench.clerk, "run", script_of(("schedule", b"m", 1, told, None, 2_000), ("cancel", b"m")), 2_000),
        ),
        bench.run(("send", bench.clerk, "note", told, 600), ("fail", "not sent"), patience=0),
        bench.run(
            ("send", bench.clerk, "note", told, bench.site.config.max_cycles_per_fire), ("tell", "t", b""), patience=2
        ),
        bench.run(("schedule", b"s", 1, script_of(("send", bench.clerk, "note", told, 500)), None, 5_000)),
    )


def _terms(bench: Bench) -> tuple[Attempt, ...]:
    """Fees at the lane's price and around it, tiers, agents, the withdrawn argument."""

    def quoted(*terms: object) -> tuple[object, ...]:
        return ("schedule", b"q", 2, b"", None, 3_000, None, terms)

    lists: tuple[tuple[object, ...], ...] = (
        *((fee, tip) for fee in (0, 799, 800, 801, 1_600, MAX_U63) for tip in (0, 1, MAX_U63)),
        *((None, None, tier) for tier in ("economy", "standard", "fast", "urgent", "none", "")),
        *((None, 9), (5_000, None), (5_000, 2, "urgent"), (None, 7, None, bench.poor)),
        *((None, None, None, NOBODY), (2_000, None, "fast", bench.poor), (9_000, 9, None, bench.poor)),
        (None, None, None, None, 1),
    )
    return tuple(bench.run(*(quoted(*terms) for terms in lists[part::3])) for part in range(3))


FORBIDDEN: Final[tuple[tuple[object, ...], ...]] = (
    ("put", b"k", b""),
    ("delete", b"script"),
    ("pay", NOBODY, 0),
    ("tell", "", b""),
    ("schedule", b"n", 1, b""),
    ("extend", b"n", 5),
    ("cancel", b"n"),
    ("send", NOBODY, "note", b"", 200),
    ("compute", 1),
)
"""What an agent must not do, which is everything but the last."""


def _agents(bench: Bench) -> tuple[Attempt, ...]:
    """Ask agents that try to change something."""
    return tuple(
        bench.run(("schedule", b"q", delay, b"", None, 3_000, None, [None, None, None, agent]))
        for delay, agent in enumerate(bench.agents, start=1)
    )


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
        bench.order("liquidation-bot", "price", PriceOrder(10, 2, 9_000)),
        *(bench.order("liquidation-bot", "open", PositionOrder(10, debt)) for debt in (69, 70, 71, 90, 91)),
        *(bench.order("liquidation-bot", "price", PriceOrder(price, 2, 9_000)) for price in (1, 2**40, 2**40 + 1)),
    )


def _not_the_owner(bench: Bench) -> tuple[Attempt, ...]:
    """What only an owner may do, asked for by a stranger."""
    others = bench.others
    calls = (
        ("heartbeat", "stop", b""),
        ("oracle-feed", "start", msgspec.msgpack.encode(FeedOrder(3))),
        ("oracle-feed", "submit", msgspec.msgpack.encode(Submission(4))),
        ("liquidation-bot", "price", msgspec.msgpack.encode(PriceOrder(10, 2))),
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
    configs = (
        *(
            b"",
            b"\xc1",
            b"\x80",
            whole + b"\0",
            whole[:-1],
            b"\x81\x01\x02",
            b"\xdc\x00\x00",
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
        *(Attempt(call, change) for change in changes),
        Attempt(call, is_spoilt=True),
    )


CASES: Final[tuple[Case, ...]] = (
    *(_storage, _money, _gas, _strange_calls, _due, _payers, _changes, _far, _conventions, _messages, _terms),
    *(_agents, _services, _not_the_owner, _instructions, _fees, _refused),
)
"""Groups of transactions, each of which tries the rules of one thing."""

PROGRAMS: Final = (
    *("heartbeat", "storm-maker", "oracle-feed", "liquidation-bot", "game-loop", "subscription", "merchant"),
)
"""Programs of the bookkeeper's other actors."""


class EdgeCases(WorkloadKind, tag="edge-cases", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """So many groups of odd transactions from the `first` one on, a transaction every ``every_ms``.

    With `is_deployer` the bookkeeper may give system instructions.
    """

    first: Annotated[int, msgspec.Meta(ge=0, lt=len(CASES))] = 0
    count: Annotated[int, msgspec.Meta(ge=1, le=len(CASES))] = len(CASES)
    start_ms: Milliseconds = 0
    every_ms: Positive = 100
    is_deployer: bool = True

    def genesis(self, site: Site) -> GenesisShare:
        """The bookkeeper and the strangers; the clerks and the other actors."""
        keeper, bench = Client(site), self._bench(site)
        strangers = sum(attempt.needs_stranger for attempt in self._attempts(bench))
        actors = (
            GenesisActor(bench.clerk, "clerk", keeper.address, FUNDS),
            GenesisActor(bench.poor, "clerk", keeper.address, 0),
            *(
                GenesisActor(address, "clerk", keeper.address, 0, ((b"script", script_of(step, patience=2)),))
                for address, step in zip(bench.agents, FORBIDDEN, strict=True)
            ),
            *(GenesisActor(address, program, keeper.address, FUNDS) for program, address in bench.others.items()),
        )
        accounts = (keeper.funded, *(Client(site, 1 + index).funded for index in range(strangers)))
        return GenesisShare(accounts, actors, (keeper.address,) if self.is_deployer else ())

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield the transactions of the groups, one after the other."""
        keeper, strangers = Client(site), 0
        for ordinal, attempt in enumerate(self._attempts(self._bench(site))):
            client = keeper
            if attempt.needs_stranger:
                strangers += 1
                client = Client(site, strangers)
            yield client.sign(
                self.start_ms + ordinal * self.every_ms,
                attempt.call,
                cells_limit=SCRIPT_CELLS,
                change=attempt.change,
                is_spoilt=attempt.is_spoilt,
                may_fail=True,
            )

    def _attempts(self, bench: Bench) -> list[Attempt]:
        groups = [CASES[(self.first + index) % len(CASES)] for index in range(self.count)]
        return [attempt for group in groups for attempt in group(bench)]

    def _bench(self, site: Site) -> Bench:
        first = 2 + len(PROGRAMS)
        return Bench(
            clerk=site.actor(0),
            poor=site.actor(1),
            bookkeeper=Client(site).address,
            others={program: site.actor(2 + index) for index, program in enumerate(PROGRAMS)},
            agents=tuple(site.actor(first + index) for index in range(len(FORBIDDEN))),
            site=site,
        )
