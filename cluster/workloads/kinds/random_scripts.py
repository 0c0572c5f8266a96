"""The workload `random-scripts`: script actors that do anything with timers, by chance.

The groups of `boundary-cases` try cases that a person thought of. Here each transaction has a few drawn steps: timers
with any payer, limit, life and offer, cancelled and extended under shared names. Payments leave a payer with exactly
enough or too little, and payloads are scripts that continue when they fire.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, ClassVar, Final, Self, TypeVar

import msgspec

from cluster.scenario.fields import Million, Milliseconds, NotNegative, Positive, means
from cluster.workloads.boundary.scripts import NOBODY, Step, script_of, timer
from cluster.workloads.submission import FUNDS, Client, GenesisShare, Site, TimedTransaction, Volume, WorkloadKind
from network.draw import Draw
from scheduler import MIN_BASEFEE
from scheduler.aptos_keys import KEY_PARTS_BYTES
from validators.execution import GenesisActor
from validators.execution.blocks import ExecuteActor

_Value = TypeVar("_Value")

KEEPERS: Final = 3
"""Accounts that send the scripts in turn, so that a block has scripts of several senders."""

CELLS: Final = 9_000
"""Cells that a client allows for a script."""

STEPS_MAX: Final = 12

NAMES: Final = (b"a", b"b", b"c")
"""Names of an actor's timers, and keys of its storage: few, so that steps meet."""

DELAYS: Final = (*[1] * 6, 2, 2, 2, 3, 5, 0, 40)
LIVES: Final = (*[None] * 9, 0, 1, 1, 2, 3, 5, -1)
LIMITS: Final = (None, 1, 450, 700, 1_000, *[2_000] * 4, 3_000, 3_000, 5_000, 9_000)
FEES: Final = (None, None, 799, 800, 900, 1_600, 1_700, 5_000, 100_000)
TIPS: Final = (None, None, 0, 1, 40, 41, 300)
TIERS: Final = (*[None] * 7, "economy", "fast", "urgent", "none such")
BIDS: Final = (*[None] * 5, 0, 700, 4_000, 4_000, 4_001)
SENDERS_TIPS: Final = (1, 1, 0, 2, 300, 900, 4_200)
MESSAGE_CYCLES: Final = 3_000
CALLS: Final = 3
WATCH_SLOTS: Final = 4
GAS: Final = 2_000
"""Cycles of a fire whose cost a poor actor can exactly pay, or slightly not."""

AGENTS: Final[Sequence[tuple[str, bytes, bytes]]] = (
    ("script-actor", b"script", script_of()),
    ("script-actor", b"script", script_of(("compute", 700))),
    ("script-actor", b"script", script_of(("put", b"a", b""), patience=0)),
    ("chaos-agent", b"mode", b"low"),
    ("chaos-agent", b"mode", b"nothing"),
)
"""Agents by program, with the key and the value that they have stored."""


class RandomScripts(WorkloadKind, tag="random-scripts", kw_only=True, frozen=True):
    """Script actors, half of them poor, and accounts that have them run drawn scripts."""

    narrowed_by: ClassVar[tuple[str, ...]] = ("scripts",)

    actors: Annotated[int, msgspec.Meta(ge=2, le=100), means("Script actors; every second one is poor.")] = 4
    scripts: Annotated[Million, means("Transactions, each with a script.")]
    steps: Annotated[int, msgspec.Meta(ge=1, le=STEPS_MAX), means("The most steps of a script.")] = 6
    number: Annotated[NotNegative, means("Selects the scripts: each number has different scripts.")] = 0
    start_ms: Annotated[Milliseconds, means("When the first transaction is submitted.")] = 0
    every_ms: Annotated[Positive, means("Time from one transaction to the next.")] = 100

    def volume(self, slots: int) -> Volume:
        """Return its submissions and timers."""
        del slots
        return Volume(self.scripts, self.scripts * self.steps)

    def narrower(self) -> Iterator[Self]:
        """Yield the first half of its scripts, the first quarter, and so on."""
        scripts = self.scripts // 2
        while scripts:
            yield msgspec.structs.replace(self, scripts=scripts)
            scripts //= 2

    def genesis(self, site: Site) -> GenesisShare:
        """Return the keepers, the script actors and the agents."""
        keepers = [Client(site, index) for index in range(KEEPERS)]
        scribe = _Scribe(site, self)
        actors = [
            GenesisActor(
                address, "script-actor", keepers[index % KEEPERS].address, scribe.amount(index) if index % 2 else FUNDS
            )
            for index, address in enumerate(scribe.actors)
        ]
        agents = [
            GenesisActor(address, program, keepers[0].address, 0, ((key, value),))
            for address, (program, key, value) in zip(scribe.agents, AGENTS, strict=True)
        ]
        return GenesisShare(tuple(keeper.funded for keeper in keepers), (*actors, *agents))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield the scripts, one after the other."""
        keepers = [Client(site, index) for index in range(KEEPERS)]
        scribe = _Scribe(site, self)
        for index in range(self.scripts):
            call, tip = scribe.script(index)
            yield keepers[index % KEEPERS].sign(
                self.start_ms + index * self.every_ms,
                call,
                cells_limit=CELLS,
                may_fail=True,
                change={"priority_fee_per_cycle": tip},
            )


class _Scribe:
    """Draws the scripts of a workload, each by its number."""

    def __init__(self, site: Site, workload: RandomScripts) -> None:
        self.actors: Final = tuple(site.actor(index) for index in range(workload.actors))
        self.agents: Final = tuple(site.actor(workload.actors + index) for index in range(len(AGENTS)))
        # Only the actor itself or the script's sender may pay.
        self._payers = (*[None] * 7, *(Client(site, index).address for index in range(KEEPERS)))
        self._limits = (*LIMITS, site.config.max_cycles_per_fire, site.config.lane_timer_cycles)
        self._cells_price = site.config.max_cells_per_fire * MIN_BASEFEE
        self._steps = workload.steps
        self._draw = Draw(workload.number)
        self._is_queue = site.queue is not None
        self._makers: Final[Sequence[Callable[[str, int], Step]]] = (
            *[self._timer] * 10,
            *[self._cancel] * 2,
            *[self._extend] * 2,
            *[self._pay] * 2,
            *(self._put, self._odd, self._send, self._watch),
        )

    def amount(self, name: object) -> int:
        """Return units for exactly a fire, for little more, or for one unit less; `name` is the draw's purpose."""
        price = self._one_of((MIN_BASEFEE, 2 * MIN_BASEFEE), name, "price")
        return GAS * price + self._cells_price + self._one_of((-1, 0, 0, 1, 40 * GAS, MIN_BASEFEE * GAS), name, "more")

    def script(self, index: int) -> tuple[ExecuteActor, int]:
        """Return the call of a script, and its sender's tip in units per cycle."""
        count = self._draw.between(f"{index}.steps", 1, self._steps)
        steps = [self._step(f"{index}.{place}", 0) for place in range(count)]
        script = script_of(*steps, patience=self._one_of((1, 1, 1, 2, 0), index, "patience"))
        call = ExecuteActor(self._one_of(self.actors, index, "actor"), "run", script)
        return call, self._one_of(SENDERS_TIPS, index, "sender's tip")

    def _one_of(self, values: Sequence[_Value], *name: object) -> _Value:
        return self._draw.one_of(".".join(map(str, name)), values)

    def _step(self, place: str, depth: int) -> Step:
        """Return the step of a place; `depth` is 0 in a script and 1 in a script within it."""
        return self._one_of(self._makers, place, "kind")(place, depth)

    def _inner(self, place: str, count: int) -> list[Step]:
        return [self._step(f"{place}.{inner}", 1) for inner in range(count)]

    def _name(self, place: str) -> bytes:
        return self._one_of(NAMES, place, "name")

    def _address(self, place: str) -> bytes:
        return self._one_of((*self.actors, NOBODY), place, "address")

    def _timer(self, place: str, depth: int) -> Step:
        payload = b""
        if depth == 0 and self._one_of((False, True), place, "goes on"):
            steps = self._inner(place, self._one_of((1, 2), place, "inner steps"))
            if self._one_of((*[False] * 5, True), place, "calls"):
                steps = [self._send(f"{place}.{call}", 1) for call in range(CALLS)]
            payload = script_of(*steps, patience=self._one_of((0, 1), place, "inner patience"))
        return timer(
            self._name(place),
            self._one_of(DELAYS, place, "delay"),
            payload,
            payer=self._one_of(self._payers, place, "payer"),
            gas=self._one_of(self._limits, place, "gas"),
            ttl=self._one_of(LIVES, place, "life"),
            terms=[
                self._one_of(FEES, place, "fee"),
                self._one_of(TIPS, place, "tip"),
                self._one_of(TIERS, place, "tier"),
                self._one_of((None, None, *self.agents), place, "agent"),
                self._one_of(BIDS, place, "bid"),
            ],
            pass_signer=not self._is_queue or self._one_of((True, True, True, False), place, "signer"),
        )

    def _cancel(self, place: str, _depth: int) -> Step:
        name = self._name(place)
        if self._is_queue and self._one_of((False, False, True), place, "part"):
            # From now on the name holds only the identifier, which finds no entry.
            return "copy", name, name, KEY_PARTS_BYTES
        return "cancel", name

    def _extend(self, place: str, _depth: int) -> Step:
        return "extend", self._name(place), self._one_of(range(7), place, "delay")

    def _pay(self, place: str, _depth: int) -> Step:
        return "pay", self._address(place), self._one_of((1, 0, self.amount(place), FUNDS), place, "amount")

    def _put(self, place: str, _depth: int) -> Step:
        return "put", self._name(place), bytes(self._one_of(range(3), place, "bytes"))

    def _odd(self, place: str, _depth: int) -> Step:
        name = self._name(place)
        return self._one_of((("delete", name), ("weigh", name), ("compute", 900), ("fail", "by chance")), place, "odd")

    def _send(self, place: str, depth: int) -> Step:
        # A script in a message sends no further message.
        steps = [] if depth else self._inner(place, 2)
        return "send", self._address(place), "run", script_of(*steps), MESSAGE_CYCLES

    def _watch(self, place: str, _depth: int) -> Step:
        # A value of one actor, and sometimes the balance of another.
        keys = [[self._address(place), self._name(f"{place}.key")], [self._address(f"{place}.balance"), None]]
        return "watch", self._name(place), keys[: self._one_of((1, 2), place, "keys")], b"", None, GAS, WATCH_SLOTS
