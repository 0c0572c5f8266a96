"""Scripts for a clerk, and odd calls: what the workload of edge cases is made of (`cluster.workloads.edge_cases`)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from cluster.workloads.submission import FEE_MAX, FUNDS, Site
from scheduler import MAX_PAYLOAD_BYTES, MAX_U63
from validators.actors.metering import TRANSACTION_CYCLES, TRANSFER_CYCLES
from validators.execution.blocks import Call, ExecuteActor, SystemUpdateTimerConfig, Transfer

NOBODY: Final = b"\x77" * 20
"""An address without an actor."""

LONG_KEY: Final = b"a key that is longer than ten bytes"
CROWD: Final = 540
"""Timers of a crowd: more than twice as many as the pool keeps in one block of a book."""

NARROW_MAILBOX: Final = 8_000
"""What a narrow mailbox may use in a block, in cycles."""

SCRIPT_CELLS: Final = 20_000
"""Cells that a script is given: the index of a timer takes up to 300, and a script makes sixty."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is sent, and how it differs from a transaction as clients make it; spoilt is a signature of something else.

    What `is_refused` may stand in no block. A stranger with an account of its own sends what differs: one that no block
    takes holds up its sender's next ones.
    """

    call: Call
    change: Mapping[str, Any] = field(default_factory=dict)
    is_spoilt: bool = False
    is_from_stranger: bool = False
    is_refused: bool = False
    pause_ms: int = 0
    """So much later than the one before, besides the workload's pace: for what has to stand in another block."""

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
    """Clerks that try one of `FORBIDDEN` each when they are asked, agents at the limits of risk, and bad ones."""
    site: Site

    def run(self, *steps: tuple[object, ...], patience: int = 1, pause_ms: int = 0) -> Attempt:
        """Have the clerk run a script."""
        return Attempt(ExecuteActor(self.clerk, "run", script_of(*steps, patience=patience)), pause_ms=pause_ms)

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
            # Records of 127, 128 and 129 bytes: where an operation's length takes one byte more.
            *(("put", b"%d" % length, bytes(length)) for length in (124, 125, 126)),
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
    # What is left of a stranger's units once the transaction is charged at its limits.
    whole = FUNDS - FEE_MAX * (5_000 + SCRIPT_CELLS)
    return (
        bench.run(("pay", bench.clerk, 5), ("pay", NOBODY, 0), ("pay", NOBODY, 7), ("pay", nineteen, 1)),
        bench.run(("pay", NOBODY, FUNDS), ("pay", NOBODY, -1), ("pay", NOBODY, MAX_U63 + 1), ("pay", nineteen, FUNDS)),
        bench.run(("pay", NOBODY, FUNDS), patience=0),
        Attempt(Transfer(bench.bookkeeper, 3)),
        Attempt(Transfer(NOBODY, 0)),
        Attempt(Transfer(NOBODY, FUNDS)),
        *(Attempt(Transfer(NOBODY, whole + more), {"cycles_limit": 5_000}) for more in (0, 1)),
        Attempt(ExecuteActor(bench.poor, "run", script_of(("pay", NOBODY, 0), ("pay", NOBODY, 1), patience=1))),
        Attempt(Transfer(NOBODY, 1), {"cycles_limit": TRANSACTION_CYCLES + TRANSFER_CYCLES - 1}),
        Attempt(Transfer(NOBODY, 1), {"cycles_limit": TRANSACTION_CYCLES + TRANSFER_CYCLES}),
    )


def _gas(bench: Bench) -> tuple[Attempt, ...]:
    swallowing = bench.run(("put", b"s", b""), ("compute", MAX_U63), ("tell", "after", b""), patience=2)
    return (
        bench.run(("compute", 0), ("compute", -1), ("compute", MAX_U63 + 1), ("compute", 100)),
        swallowing,
        Attempt(swallowing.call, {"cells_limit": 300}),
        bench.run(("put", b"0", bytes(3_200)), *(("copy", b"0", b"%d" % copy) for copy in range(1, 6)), patience=2),
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
        # More than anybody has: a payer that is not the actor turns out to be insolvent.
        bench.run(("schedule", b"p", 2, b"", bench.bookkeeper, 3_000, None, [MAX_U63, MAX_U63 // 2])),
        # Who is no actor's sender cannot be made to pay by a message.
        bench.run(
            ("send", bench.clerk, "run", script_of(("schedule", b"m", 2, b"", bench.bookkeeper, 3_000)), 1_000),
            ("send", bench.clerk, "run", script_of(("schedule", b"m", 2, b"", bench.clerk, 3_000)), 1_000),
            ("send", bench.poor, "run", script_of(("schedule", b"m", 2, b"", bench.clerk, 3_000)), 1_000),
        ),
    )


def _changes(bench: Bench) -> tuple[Attempt, ...]:
    """Timers extended and cancelled, in time, too late and by those who may not."""
    change = script_of(("cancel", b"late"), ("extend", b"late", 9), ("cancel", b"a"), ("extend", b"b", 3))
    timer = ("schedule", b"a", 6, b"", None, 3_000, 3)
    return (
        bench.run(timer, ("extend", b"a", 9), ("extend", b"a", 0), ("extend", b"a", -1), ("extend", b"a", MAX_U63)),
        bench.run(("extend", b"a", 9), ("extend", bytes(32), 9), ("cancel", b"none"), ("cancel", b"a"), pause_ms=1_500),
        bench.run(("cancel", b"a"), ("extend", b"a", 4)),
        # The first fire of a block meets others that are collected already, and one that is not.
        bench.run(
            ("schedule", b"x", 2, change, None, 4_000, None, [100_000, 3_000]),
            ("schedule", b"late", 2, b"", None, 3_000),
            ("schedule", b"a", 3, b"", None, 3_000),
            ("schedule", b"b", 4, b"", None, 3_000, 30),
        ),
        Attempt(ExecuteActor(bench.poor, "run", script_of(("put", b"k", b"v"), ("cancel", b"k"), patience=1))),
        bench.run(("schedule", b"own", 12, b"", None, 2_000), ("hand", b"own", bench.poor, 500)),
        Attempt(
            ExecuteActor(bench.poor, "run", script_of(("cancel", b"noted"), ("extend", b"noted", 20))),
            pause_ms=2_000,
        ),
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
        bench.run(*(("schedule", b"%d" % delay, delay, b"", None, 2_000 if delay % 2 else None) for delay in delays)),
        bench.run(*(("cancel", b"%d" % delay) for delay in (8, 12, 100_000, 20, 5_000)), pause_ms=1_500),
        bench.run(*(("extend", b"%d" % delay, 40) for delay in (5, 9, 64)), ("cancel", b"64"), pause_ms=1_500),
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
            ("send", bench.clerk, "run", script_of(("send", bench.poor, "note", told, 400), ("tell", "m", b"")), 1_100),
            ("send", bench.clerk, "run", script_of(("put", b"undone", told), ("fail", "no"), patience=0), 500),
            ("send", bench.clerk, "run", script_of(("compute", 5_000)), 600),
            ("send", bench.clerk, "run", script_of(("schedule", b"m", 1, told, None, 2_000), ("cancel", b"m")), 900),
        ),
        # As much as a narrow mailbox delivers in a block, and one more.
        Attempt(
            ExecuteActor(bench.clerk, "run", script_of(("send", bench.clerk, "note", told, NARROW_MAILBOX))),
            {"cells_limit": NARROW_MAILBOX + SCRIPT_CELLS},
        ),
        bench.run(*(("send", bench.clerk, "note", told, NARROW_MAILBOX + more) for more in (1, 0))),
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
        *((1, None, None, bench.poor), (800, None, None, bench.poor)),
        (None, None, None, None, 1),
    )
    return tuple(bench.run(*(quoted(*terms) for terms in lists[part::4])) for part in range(4))


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
    """Ask agents that try to change something, bid at the limits of risk, compute too long, or fail.

    One in four times it is not the actor that pays.
    """
    payers = (None, None, None, bench.bookkeeper)
    return tuple(
        bench.run(
            *(
                ("schedule", b"q", delay, b"", payer, 3_000, None, [None, None, None, agent])
                for delay, agent in enumerate(bench.agents[part::4], start=1)
            )
        )
        for part, payer in enumerate(payers)
    )


def _late_income(bench: Bench) -> tuple[Attempt, ...]:
    """More insolvent timers than a block removes, and a fire before theirs that pays for one of them too late."""
    gift = script_of(("pay", bench.poor, FUNDS // 50))
    debts = [("schedule", b"q", 4, b"", None, 1_000, 20, [5_000, 1])] * 25
    return (
        bench.run(("schedule", b"g", 4, gift, None, 2_000, 20, [100_000, 50_000])),
        Attempt(
            ExecuteActor(bench.poor, "run", script_of(*debts)),
            {"cycles_limit": 5_000 + len(debts) * (bench.site.config.schedule_cycles + 100)},
        ),
    )


def _ceilings(bench: Bench) -> tuple[Attempt, ...]:
    """Timers with the default gas limit, which the ceiling that it is takes along when it falls and rises again."""
    key = "timer_config.max_cycles_per_fire"
    low, before = (
        Attempt(SystemUpdateTimerConfig(msgspec.msgpack.encode({key: cycles})), pause_ms=pause_ms)
        for cycles, pause_ms in ((2_500, 0), (bench.site.config.max_cycles_per_fire, 5_000))
    )
    return (
        bench.run(*(("schedule", b"d", delay, b"", None, None, 20, [100_000, 300]) for delay in (3, 4, 4, 5))),
        low,
        bench.run(*(("schedule", b"d", delay, b"", None, None, 20, [100_000, 300]) for delay in (2, 3))),
        before,
    )


def _crowd(bench: Bench) -> tuple[Attempt, ...]:
    """Hundreds of timers of one actor, no two of which offer the same."""
    fees = [(900 + 7 * place % 1_000, place % 13 * 40) for place in range(CROWD)]
    return tuple(
        Attempt(
            ExecuteActor(
                bench.clerk,
                "run",
                script_of(*(("schedule", b"q", 4, b"", None, 1_000, 20, terms) for terms in fees[first : first + 60])),
            ),
            {"cycles_limit": 5_000 + 60 * (bench.site.config.schedule_cycles + 100)},
        )
        for first in range(0, CROWD, 60)
    )


def _large(bench: Bench) -> tuple[Attempt, ...]:
    """Payloads as long as they may be, and longer."""
    calls = (
        script_of(("schedule", b"l", 1, bytes(MAX_PAYLOAD_BYTES + 1)), patience=1),
        script_of(("send", bench.clerk, "note", bytes(MAX_PAYLOAD_BYTES + 1), 400), patience=1),
    )
    limit = {"cells_limit": 2 * MAX_PAYLOAD_BYTES + 50_000}
    return tuple(Attempt(ExecuteActor(bench.clerk, "run", call), limit) for call in calls)


SCRIPTS: Final[tuple[Case, ...]] = (
    *(_storage, _money, _gas, _strange_calls, _due, _payers, _changes, _far, _conventions, _messages, _terms, _agents),
    *(_crowd, _large, _late_income, _ceilings),
)
"""Groups of transactions, each of which tries the rules of one thing."""
