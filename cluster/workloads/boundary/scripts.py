"""The cases of the workload `boundary-cases` that the script actor runs, and the parts of all cases."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec

from cluster.workloads.submission import FEE_MAX, FUNDS, Site
from scheduler import MAX_PAYLOAD_BYTES, MAX_U63, MIN_BASEFEE
from validators.actors.metering import TRANSACTION_CYCLES, TRANSFER_CYCLES
from validators.execution.blocks import Call, ExecuteActor, SystemUpdateTimerConfig, Transfer

NOBODY: Final = b"\x77" * 20
"""An address without an actor."""

LONG_KEY: Final = b"a key that is longer than ten bytes"
CROWD: Final = 540
"""Timers of a crowd: more than twice as many as the pool keeps in one block of a book."""

CROWD_ORDER: Final = 60
"""Timers that one script of the crowd orders."""

NARROW_MAILBOX: Final = 8_000
"""Cycles that a narrow mailbox may use in a block."""

SCRIPT_CELLS: Final = 20_000
"""Cells that a script is given: the index of a timer takes up to 300 cells, and a script makes 60 timers."""

Step: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One transaction of a case.

    Attributes:
        call: The call.
        change: Fields that differ from a client's usual transaction.
        is_spoilt: Whether the signature is of another message.
        is_from_stranger: Whether a separate account sends it. Every unusual transaction has one: a transaction that no
            block takes holds up its sender's next ones.
        is_refused: Whether no block may contain it.
        pause_ms: Wait before it, besides the workload's interval, if it needs another block.
    """

    call: Call
    change: Mapping[str, Any] = field(default_factory=dict)
    is_spoilt: bool = False
    is_from_stranger: bool = False
    is_refused: bool = False
    pause_ms: int = 0

    @property
    def needs_stranger(self) -> bool:
        """Return whether it has a sender of its own."""
        return self.is_from_stranger or self.is_spoilt or bool(self.change)


@dataclass(frozen=True, slots=True)
class Bench:
    """The addresses that cases name."""

    scripted: bytes
    """A script actor with units."""
    poor: bytes
    """A second script actor, without units."""
    bookkeeper: bytes
    others: Mapping[str, bytes]
    """Actors of the bookkeeper, by program."""
    agents: tuple[bytes, ...]
    """Script actors that try one of `FORBIDDEN` when asked, agents at the limits of risk, and bad agents."""
    site: Site

    def run(
        self, *steps: Step, patience: int = 1, on: bytes | None = None, pause_ms: int = 0, **change: int
    ) -> Attempt:
        """Have a script actor run a script; by default the actor with units."""
        return Attempt(
            ExecuteActor(on or self.scripted, "run", script_of(*steps, patience=patience)), change, pause_ms=pause_ms
        )

    def order(self, program: str, handler: str, order: msgspec.Struct | bytes = b"") -> Attempt:
        """Call one of the other actors."""
        payload = order if isinstance(order, bytes) else msgspec.msgpack.encode(order)
        return Attempt(ExecuteActor(self.others[program], handler, payload))


def script_of(*steps: Step, patience: int = 1) -> bytes:
    """Return a script in the script actor's encoding."""
    return msgspec.msgpack.encode([steps, patience])


def timer(
    name: bytes,
    delay: int,
    payload: bytes = b"",
    *,
    payer: bytes | None = None,
    gas: int | None = None,
    ttl: int | None = None,
    terms: Iterable[object] | None = None,
    pass_signer: bool = True,
) -> Step:
    """Return the step that schedules; omitted trailing values are not encoded."""
    step: Step = ("schedule", name, delay, payload, payer, gas, ttl, terms)
    if not pass_signer:
        return *step[:-1], terms or [], False
    while step[-1] is None:
        step = step[:-1]
    return step


def sent(call: Call, **change: int) -> Attempt:
    """Return a call that is sent with some fields of its transaction changed."""
    return Attempt(call, change)


Case: TypeAlias = Callable[[Bench], Iterable[Attempt]]


def _in_four(bench: Bench, steps: Sequence[Step]) -> Iterable[Attempt]:
    """Distribute steps over four scripts."""
    return (bench.run(*steps[part::4]) for part in range(4))


def _storage(bench: Bench) -> Iterable[Attempt]:
    yield bench.run(
        *(("put", b"k" * length, bytes([length])) for length in (0, 9, 10, 11)),
        # Records of 127, 128 and 129 bytes: above 127 an operation's length takes one byte more.
        *(("put", b"%d" % length, bytes(length)) for length in (124, 125, 126)),
        *(("put", LONG_KEY, b"v"), ("put", b"empty", b"")),
        *(("copy", LONG_KEY, b"c" * 10), ("copy", b"nothing", b"no"), ("copy", b"empty", b"e")),
    )
    yield bench.run(("delete", LONG_KEY), ("delete", b"k" * 11), ("delete", b"k" * 10), ("delete", b"never"))
    yield bench.run(("put", b"lost", b"v"), ("fail", "x" * 130), patience=0)
    yield bench.run(("tell", "\u00e9", b"data"), ("tell", "", b""), ("weigh", b"w", NOBODY), ("weigh", b"w", b"short"))


def _money(bench: Bench) -> Iterable[Attempt]:
    short = b"\x01" * 19
    # The rest of a stranger's units once the transaction is charged at its limits.
    whole = FUNDS - FEE_MAX * (5_000 + SCRIPT_CELLS)
    for payments in (
        ((bench.scripted, 5), (NOBODY, 0), (NOBODY, 7), (short, 1)),
        ((NOBODY, FUNDS), (NOBODY, -1), (NOBODY, MAX_U63 + 1), (short, FUNDS)),
    ):
        yield bench.run(*(("pay", *payment) for payment in payments))
    yield bench.run(("pay", NOBODY, FUNDS), patience=0)
    for payee, amount in ((bench.bookkeeper, 3), (NOBODY, 0), (NOBODY, FUNDS)):
        yield sent(Transfer(payee, amount))
    for more in (0, 1):
        yield sent(Transfer(NOBODY, whole + more), cycles_limit=5_000)
    yield bench.run(("pay", NOBODY, 0), ("pay", NOBODY, 1), on=bench.poor)
    for less in (1, 0):
        yield sent(Transfer(NOBODY, 1), cycles_limit=TRANSACTION_CYCLES + TRANSFER_CYCLES - less)


def _gas(bench: Bench) -> Iterable[Attempt]:
    swallowing = bench.run(("put", b"s", b""), ("compute", MAX_U63), ("tell", "after", b""), patience=2)
    yield bench.run(*(("compute", cycles) for cycles in (0, -1, MAX_U63 + 1, 100)))
    yield swallowing
    yield sent(swallowing.call, cells_limit=300)
    yield bench.run(("put", b"0", bytes(3_200)), *(("copy", b"0", b"%d" % copy) for copy in range(1, 6)), patience=2)
    for cycles in (199, 300):
        yield sent(ExecuteActor(bench.scripted, "note", b""), cycles_limit=TRANSACTION_CYCLES + cycles)


def _strange_calls(bench: Bench) -> Iterable[Attempt]:
    yield sent(ExecuteActor(NOBODY, "run", b""))
    untyped = msgspec.msgpack.encode([[["put", b""]]])
    for handler, payload in (("_run", b""), ("handle_timer", b""), ("run", b"\xc1"), ("run", untyped)):
        yield sent(ExecuteActor(bench.scripted, handler, payload))
    yield from (bench.order("heartbeat", "handle_timer"), bench.order("game-loop", "move"))
    yield bench.order("merchant", "paid", b"123456789")


def _due(bench: Bench) -> Iterable[Attempt]:
    """Heights, payloads and limits at their bounds."""
    config = bench.site.config
    ceiling = min(config.max_cycles_per_fire, config.lane_timer_cycles)
    auction = bench.site.lane.max_cycles_per_fire_auction_phase if bench.site.lane is not None else ceiling
    tops = dict.fromkeys((ceiling, min(ceiling, auction)))
    yield bench.run(*(timer(b"d", delay) for delay in (-1, 0, MAX_U63, 1)))
    yield bench.run(*(timer(b"g", 2, gas=limit) for limit in (-1, 0, 1, 7, 8, 199, MAX_U63)))
    yield bench.run(*(timer(b"g", 2, gas=top + more) for top in tops for more in (0, 1)))
    yield bench.run(*(timer(b"t", 2, ttl=ttl) for ttl in (-(10**6), 0, 1, 2)))
    longest = config.max_ttl_blocks
    yield bench.run(*(timer(b"t", 3, gas=2_000, ttl=ttl) for ttl in (longest - 1, longest, longest + 1, MAX_U63)))
    yield bench.run(timer(b"same", 4, b"p"), timer(b"same", 4, b"p"), ("cancel", b"same"))


def _payers(bench: Bench) -> Iterable[Attempt]:
    payers = (bytes(20), bytes(19) + b"\x0f", bytes(19) + b"\x10", NOBODY, b"short", bench.scripted, bench.bookkeeper)
    yield bench.run(*(timer(b"p", 2, payer=payer, gas=3_000) for payer in payers))
    # More than any account has: a payer other than the actor turns out to be insolvent.
    yield bench.run(timer(b"p", 2, payer=bench.bookkeeper, gas=3_000, terms=[MAX_U63, MAX_U63 // 2]))
    # A message cannot charge an account that is not an actor's sender.
    yield bench.run(
        *(
            ("send", to, "run", script_of(timer(b"m", 2, payer=payer, gas=3_000)), 1_000)
            for to, payer in (
                (bench.scripted, bench.bookkeeper),
                (bench.scripted, bench.scripted),
                (bench.poor, bench.scripted),
            )
        )
    )


def _changes(bench: Bench) -> Iterable[Attempt]:
    """Timers extended and cancelled: in time, too late, and by accounts without the right."""
    change = script_of(("cancel", b"late"), ("extend", b"late", 9), ("cancel", b"a"), ("extend", b"b", 3))
    yield bench.run(timer(b"a", 6, gas=3_000, ttl=3), *(("extend", b"a", delay) for delay in (9, 0, -1, MAX_U63)))
    yield bench.run(
        *(("extend", b"a", 9), ("extend", bytes(32), 9), ("cancel", b"none"), ("cancel", b"a")), pause_ms=1_500
    )
    yield bench.run(("cancel", b"a"), ("extend", b"a", 4))
    # The first fire of a block meets dead timers that are collected already, and a dead timer that is not.
    yield bench.run(
        timer(b"x", 2, change, gas=4_000, terms=[100_000, 3_000]),
        *(timer(b"late", 2, gas=3_000), timer(b"a", 3, gas=3_000), timer(b"b", 4, gas=3_000, ttl=30)),
    )
    yield bench.run(("put", b"k", b"v"), ("cancel", b"k"), on=bench.poor)
    yield bench.run(timer(b"own", 12, gas=2_000), ("hand", b"own", bench.poor, 500))
    yield bench.run(("cancel", b"noted"), ("extend", b"noted", 20), on=bench.poor, pause_ms=2_000)
    yield bench.run(timer(b"poor", 2, gas=3_000), timer(b"paid", 1, payer=bench.bookkeeper), on=bench.poor)


def _far(bench: Bench) -> Iterable[Attempt]:
    """Heights in every tier, some of which lose their only timer again."""
    delays = (1, 3, 5, 8, 9, 12, 20, 64, 5_000, 100_000)
    yield bench.run(*(("schedule", b"%d" % delay, delay, b"", None, 2_000 if delay % 2 else None) for delay in delays))
    yield bench.run(*(("cancel", b"%d" % delay) for delay in (8, 12, 100_000, 20, 5_000)), pause_ms=1_500)
    yield bench.run(*(("extend", b"%d" % delay, 40) for delay in (5, 9, 64)), ("cancel", b"64"), pause_ms=1_500)


def _conventions(bench: Bench) -> Iterable[Attempt]:
    """Payloads that name a handler, nearly name one, or only look like it."""
    inner = b"YWJj"
    named = b'{"_handler":"note","_payload":"%b"}'
    empty = b'{"_payload":"","_handler":"note",%b}'
    payloads = (
        *(named % inner, b" \t\r\n" + named % inner, b"\x0b" + named % inner, named % b"YWI=", named % b"YWJ="),
        *(named % b"YW Jj", named % b"!", b'{"_handler":"note"}', b'{"_handler":1,"_payload":""}', b"[]", b"{"),
        b'{"_handler":"gone","_handler":"note","_payload":"","more":[1]}',
        *(b'{"_handler":"%b","_payload":""}' % handler for handler in (b"none", b"h" * 256, b"h" * 257)),
        *(empty % (b'"deep":%b%b' % (b"[" * depth, b"]" * depth)) for depth in (63, 64)),
        *(empty % b'"text":"\xff"', b'{"_payload":"","_handler":"\\ud800"}'),
    )
    return _in_four(bench, [timer(b"c", 2, payload, gas=3_000) for payload in payloads])


def _messages(bench: Bench) -> Iterable[Attempt]:
    data = b"told"

    def note(cycles: int, to: bytes = bench.scripted, handler: str = "note") -> Step:
        return ("send", to, handler, data, cycles)

    def run(script: bytes, cycles: int) -> Step:
        return ("send", bench.scripted, "run", script, cycles)

    yield bench.run(
        *map(note, (-1, 0, 199, 200, 301, 400, MAX_U63)),
        *(note(300, to) for to in (NOBODY, b"short")),
        *(note(300, handler=handler) for handler in ("h" * 256, "h" * 257, "\u00e9" * 129)),
    )
    yield bench.run(
        run(script_of(note(400, bench.poor), ("tell", "m", b"")), 1_100),
        run(script_of(("put", b"undone", data), ("fail", "no"), patience=0), 500),
        run(script_of(("compute", 5_000)), 600),
        run(script_of(timer(b"m", 1, data, gas=2_000), ("cancel", b"m")), 900),
    )
    # Exactly the messages that a narrow mailbox delivers in a block, and one more.
    yield bench.run(note(NARROW_MAILBOX), cells_limit=NARROW_MAILBOX + SCRIPT_CELLS)
    yield bench.run(note(NARROW_MAILBOX + 1), note(NARROW_MAILBOX))
    yield bench.run(note(600), ("fail", "not sent"), patience=0)
    yield bench.run(note(bench.site.config.max_cycles_per_fire), ("tell", "t", b""), patience=2)
    yield bench.run(timer(b"s", 1, script_of(note(500)), gas=5_000))
    # Beyond the messages of a `fifo-free` fire, in number and in cycles.
    for messages in ([note(500)] * 3, [note(100_001), note(500)]):
        yield bench.run(timer(b"s", 1, script_of(*messages), gas=5_000))


def _terms(bench: Bench) -> Iterable[Attempt]:
    """Fees at the lane's price and around it, tiers, agents, the withdrawn argument."""
    lists: tuple[Step, ...] = (
        *((fee, tip) for fee in (0, 799, 800, 801, 1_600, MAX_U63) for tip in (0, 1, MAX_U63)),
        *((None, None, tier) for tier in ("economy", "standard", "fast", "urgent", "none", "")),
        *((None, 9), (5_000, None), (5_000, 2, "urgent"), (None, 7, None, bench.poor)),
        *((None, None, None, NOBODY), (2_000, None, "fast", bench.poor), (9_000, 9, None, bench.poor)),
        *((1, None, None, bench.poor), (800, None, None, bench.poor)),
        (None, None, None, None, 1),
    )
    return _in_four(bench, [timer(b"q", 2, gas=3_000, terms=terms) for terms in lists])


FORBIDDEN: Final[tuple[Step, ...]] = (
    *(("put", b"k", b""), ("delete", b"script"), ("pay", NOBODY, 0), ("tell", "", b""), ("schedule", b"n", 1, b"")),
    *(("extend", b"n", 5), ("cancel", b"n"), ("send", NOBODY, "note", b"", 200), ("compute", 1)),
)
"""Steps that an agent must not take; only the last is allowed."""


def _agents(bench: Bench) -> Iterable[Attempt]:
    """Ask agents that try to change something, bid at the limits of risk, compute too long, or fail.

    In 1 of 4 attempts the actor is not the payer.
    """
    for part, payer in enumerate((None, None, None, bench.bookkeeper)):
        asked = enumerate(bench.agents[part::4], start=1)
        yield bench.run(
            *(timer(b"q", delay, payer=payer, gas=3_000, terms=[None, None, None, agent]) for delay, agent in asked)
        )


def crowd_cycles(bench: Bench, timers: int) -> int:
    """Return the cycles of a script that schedules this many timers."""
    return 5_000 + timers * (bench.site.config.schedule_cycles + 100)


def _late_income(bench: Bench) -> Iterable[Attempt]:
    """More insolvent timers than a block removes, and an earlier fire that pays for one of them too late."""
    income = script_of(("pay", bench.poor, FUNDS // 50))
    debts = [timer(b"q", 4, gas=1_000, ttl=20, terms=[5_000, 1])] * 25
    yield bench.run(timer(b"g", 4, income, gas=2_000, ttl=20, terms=[100_000, 50_000]))
    yield bench.run(*debts, on=bench.poor, cycles_limit=crowd_cycles(bench, len(debts)))


def _ceilings(bench: Bench) -> Iterable[Attempt]:
    """Timers with a default and with a stated gas limit, while the ceiling falls, and then the cap."""
    site = bench.site
    cap_key, cap = "timer_config.lane_timer_cycles", site.config.lane_timer_cycles
    if site.lane is not None:
        cap_key, cap = "system:cip1:max_cycles_per_fire_auction_phase", site.lane.max_cycles_per_fire_auction_phase

    def change(key: str, cycles: int, pause_ms: int = 0) -> Attempt:
        return Attempt(SystemUpdateTimerConfig(msgspec.msgpack.encode({key: cycles})), pause_ms=pause_ms)

    def ceiling(cycles: int, pause_ms: int = 0) -> Attempt:
        return change("timer_config.max_cycles_per_fire", cycles, pause_ms)

    def timers(*delays: int) -> Attempt:
        return bench.run(*(timer(b"d", delay, ttl=20, terms=[100_000, 300]) for delay in delays))

    def stated(*timers: tuple[int, int]) -> Attempt:
        return bench.run(*(timer(b"s", delay, gas=gas, ttl=20, terms=[100_000, 300]) for delay, gas in timers))

    before = site.config.max_cycles_per_fire
    limits = stated((3, 6_000), (4, 3_000), (5, 2_500), (5, 2_400), (6, 7_000), (7, 2_400))
    fall = (timers(3, 4, 4, 5), limits, ceiling(2_500), timers(2, 3))
    return (*fall, change(cap_key, 2_400, 2_500), ceiling(before), change(cap_key, cap, 2_500))


THIN_PAYMENTS: Final = (2_000, 2_001, 4_500)
"""Cycles of the fires whose cost a poor actor is given, each time a little later."""


def _thin(bench: Bench) -> Iterable[Attempt]:
    """Timers of a payer that has exactly the cost of one of them, while prices stay at the usual floor."""
    config, lane = bench.site.config, bench.site.lane
    price = MIN_BASEFEE
    if lane is not None and lane.settlement == "additive":
        price += MIN_BASEFEE * lane.lane_multiplier[0] // lane.lane_multiplier[1]
    cells = config.max_cells_per_fire * MIN_BASEFEE
    for turn, cycles in enumerate(THIN_PAYMENTS):
        # The first payment is for exactly one fire; the later payments add to its remainder.
        pause_ms = max(2_600, 5 * bench.site.slot_ms) if turn else 0
        yield bench.run(("pay", bench.poor, cycles * price + cells), pause_ms=pause_ms)
        offers = ((2_001, 0), (2_000, 0), (1_999, 0), (2_000, 3), (1_000, 900))
        yield bench.run(
            *(timer(b"n%d" % place, 3, gas=gas, ttl=9, terms=[5_000, tip]) for place, (gas, tip) in enumerate(offers)),
            on=bench.poor,
        )


def _crowd(bench: Bench) -> Iterable[Attempt]:
    """Hundreds of timers of one actor, each with a different offer."""
    fees = [(900 + 7 * place % 1_000, place % 13 * 40) for place in range(CROWD)]
    for first in range(0, CROWD, CROWD_ORDER):
        steps = (timer(b"q", 4, gas=1_000, ttl=20, terms=terms) for terms in fees[first : first + CROWD_ORDER])
        yield bench.run(*steps, cycles_limit=crowd_cycles(bench, CROWD_ORDER))


def _large(bench: Bench) -> Iterable[Attempt]:
    """Payloads one byte longer than allowed."""
    payload = bytes(MAX_PAYLOAD_BYTES + 1)
    for step in (timer(b"l", 1, payload), ("send", bench.scripted, "note", payload, 400)):
        yield bench.run(step, cells_limit=2 * MAX_PAYLOAD_BYTES + 50_000)


SCRIPTS: Final[tuple[Case, ...]] = (
    *(_storage, _money, _gas, _strange_calls, _due, _payers, _changes, _far, _conventions, _messages, _terms, _agents),
    *(_crowd, _large, _late_income, _ceilings, _thin),
)
"""Groups of transactions; each group tries one set of rules."""
