"""A bus of its own on which conditions of links are tried before a run is believed: what arrives, when, and what not.

The audit follows each message of a run, but most runs have no two clogs on one link, no copy on its way at a reset and
no queue that is full. Here each of these is brought about, on three nodes of its own, and the deliveries are held
against docs/faults.md. Every link takes a thousand microseconds unless a condition has another time for it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import trio

from network.bus import Bus
from network.chance import Chance
from network.conditions import Condition, MessageRule, RuleAction
from network.kernel import Kernel
from network.latency import Latency
from network.outcome import RunFailedError
from network.port import Delivery, Inbound, Port
from network.topology import Link, LinkSpec, build_topology
from network.trace import Trace
from network.types import NO_LABEL, SUPERVISOR, EventKind, Label, Micros, NodeId

_ALWAYS: Final = 1_000_000
_LATENCY_US: Final = 1_000
_END_US: Final = 100_000
_SIZE_LIMIT: Final = 600
_NODES: Final = 3
_STEPS_MAX: Final = 100_000
_CONTENT: Final = bytes(range(200))

VOTE: Final = Label("vote", view=5, height=3)
OTHER: Final = Label("other")

Heard: TypeAlias = Sequence[tuple[Micros, bytes]]
"""Time and content of what one node got."""


class BusStep(NamedTuple):
    """Something that is done to the bus at a time."""

    at_us: Micros
    act: Callable[[], None]


class BusBench:
    """Three nodes of the bus: 0 sends, 1 and 2 hear it; places are numbers within the trial."""

    def __init__(self, bus: Bus, first: int, name: str) -> None:
        self._bus = bus
        self._first = first
        self._name = name

    def send(self, at_us: Micros, content: bytes, to: int = 1, label: Label = NO_LABEL, *, sender: int = 0) -> BusStep:
        """Send a message, from node 0 if no other is named."""
        return BusStep(at_us, partial(self._bus.send, self._first + sender, self._first + to, content, label))

    def impose(self, at_us: Micros, name: str, *, to: Sequence[int] = (1,), **values: Any) -> BusStep:  # noqa: ANN401 - its own
        """Put a condition on links from node 0."""
        links = [(self._first, self._first + each) for each in to]
        return BusStep(at_us, partial(self._bus.impose, Condition(name=self._name + name, **values), links))

    def rule(
        self,
        at_us: Micros,
        name: str,
        action: RuleAction,
        *,
        to: Sequence[int] = (1,),
        **values: Any,  # noqa: ANN401 - those of the rule
    ) -> BusStep:
        """Put a rule on links from node 0."""
        return self.impose(at_us, name, to=to, rule=MessageRule(action, **values))

    def reset(self, at_us: Micros, name: str) -> BusStep:
        """Reset the links of a condition."""
        return BusStep(at_us, partial(self._bus.reset, self._name + name))

    def lift(self, at_us: Micros, name: str) -> BusStep:
        """End a condition."""
        return BusStep(at_us, partial(self._bus.lift, self._name + name))

    def release(self, at_us: Micros, name: str, to: Sequence[int] | None = None, gap_us: Micros = 1) -> BusStep:
        """Let go what a rule holds."""
        places = None if to is None else [self._first + each for each in to]
        return BusStep(at_us, partial(self._bus.release, self._name + name, places, gap_us=gap_us))


class BusTrial(NamedTuple):
    """A script, the judgement of what nodes 1 and 2 then have heard, and how many messages conditions touched.

    `what` says what is wrong where it is not so.
    """

    what: str
    script: Callable[[BusBench], Sequence[BusStep]]
    is_right: Callable[[Heard, Heard], bool]
    touched: Mapping[str, int] = MappingProxyType({})
    links: Mapping[Link, LinkSpec] = MappingProxyType({})
    """Links with settings of their own, by sender and receiver."""


def _exactly(first: Heard, second: Heard = ()) -> Callable[[Heard, Heard], bool]:
    return lambda one, other: one == [*first] and other == [*second]


def _twice(bench: BusBench) -> Sequence[BusStep]:
    return (
        bench.impose(0, "again", loss_ppm=_ALWAYS),
        bench.send(10, b"a"),
        bench.lift(100, "again"),
        bench.send(200, b"b"),
        bench.impose(300, "again", loss_ppm=_ALWAYS),
        bench.send(310, b"c"),
        bench.send(320, b"d"),
        bench.lift(400, "again"),
    )


def _two_clogs(bench: BusBench) -> Sequence[BusStep]:
    return (
        bench.rule(0, "first", "hold", to=(1, 2)),
        bench.send(10, b"a"),
        bench.send(20, b"b", label=VOTE),
        bench.send(30, b"c", to=2),
        bench.rule(40, "second", "hold", kinds=("vote",)),
        bench.send(50, b"d", label=VOTE),
        bench.lift(100, "first"),
        bench.release(100, "first"),
        bench.send(200, b"e", label=VOTE),
        bench.lift(5_000, "second"),
        bench.release(5_000, "second", gap_us=7),
    )


def _some_released(bench: BusBench) -> Sequence[BusStep]:
    return (
        bench.rule(0, "held", "hold", to=(1, 2)),
        bench.send(10, b"a"),
        bench.send(20, b"b", to=2),
        bench.release(100, "held", to=(2,)),
        bench.send(200, b"c"),
        bench.send(300, b"d", to=2),
        bench.lift(5_000, "held"),
        bench.release(5_000, "held"),
    )


def _reset(bench: BusBench) -> Sequence[BusStep]:
    return (
        bench.impose(0, "copies", to=(1, 2), duplicate_ppm=_ALWAYS),
        bench.send(0, b"a"),
        bench.send(600, b"b"),
        bench.send(600, b"c", to=2),
        bench.rule(1_100, "reset", "delay", delay_us=5),
        bench.reset(1_100, "reset"),
        bench.send(1_100, b"d"),
    )


def _replayed(bench: BusBench) -> Sequence[BusStep]:
    return (
        bench.rule(0, "again", "replay", kinds=("vote",)),
        bench.send(10, b"a", label=VOTE),
        bench.send(20, b"b", label=OTHER),
        bench.send(30, b"c", label=VOTE),
        bench.lift(4_000, "again"),
        bench.send(4_000, b"d", label=VOTE),
        bench.release(4_500, "again", gap_us=10),
    )


def _narrow(bench: BusBench) -> Sequence[BusStep]:
    return (
        bench.impose(0, "narrow", bytes_per_second=_ALWAYS),
        bench.send(0, b"a" * 100),
        bench.send(0, b"b" * 50),
        bench.send(120, b"c" * 10),
        bench.send(400, b"d" * 10),
        bench.send(400, b"e" * 10, to=2),
    )


def _matched(bench: BusBench) -> Sequence[BusStep]:
    labels = [Label("vote", view=view, height=height) for view in (4, 5, 7, 8, None) for height in (3, 9, None)]
    rule = bench.rule(0, "matched", "drop", kinds=("vote",), views=((5, 7),), heights=((2, 3), (9, 9)))
    return (rule, *(bench.send(place, bytes([place]), label=label) for place, label in enumerate(labels)))


def _ranked(bench: BusBench) -> Sequence[BusStep]:
    return (
        bench.rule(0, "late", "delay", delay_us=300),
        bench.rule(0, "later", "delay", delay_us=50),
        bench.impose(0, "fast", latency=Latency("fixed", 10)),
        bench.impose(0, "slow", latency=Latency("fixed", 2_000)),
        bench.send(10, b"a"),
        bench.rule(20, "held", "hold"),
        bench.rule(20, "lost", "drop", kinds=("vote",)),
        bench.send(30, b"b", label=VOTE),
        bench.send(40, b"c"),
        bench.lift(50, "lost"),
        bench.lift(50, "held"),
        bench.lift(60, "slow"),
        bench.send(70, b"d"),
        bench.impose(80, "cut", is_cut=True),
        bench.send(90, b"e"),
        bench.lift(100, "cut"),
        bench.release(3_000, "held"),
    )


def _sized(bench: BusBench) -> Sequence[BusStep]:
    return (bench.send(0, b"a" * _SIZE_LIMIT), bench.send(0, b"b" * (_SIZE_LIMIT + 1)), bench.send(0, b""))


def _crowded(bench: BusBench) -> Sequence[BusStep]:
    crowd = [bench.send(10, bytes([place])) for place in range(5)]
    return (
        bench.impose(0, "crowded", queue_max=2),
        bench.impose(0, "copies", duplicate_ppm=_ALWAYS),
        *crowd,
        bench.send(1_011, b"late"),
        bench.send(10, b"apart", to=2),
    )


def _damaged(bench: BusBench) -> Sequence[BusStep]:
    return (
        bench.impose(0, "damaged", corrupt_ppm=_ALWAYS, kinds=("vote",)),
        *(bench.send(10, _CONTENT, to=each, label=label) for each, label in ((1, VOTE), (1, OTHER), (2, VOTE))),
    )


def _lossy(bench: BusBench) -> Sequence[BusStep]:
    return (
        bench.impose(0, "burst", burst_ppm=_ALWAYS, burst_us=100),
        bench.send(10, b"a"),
        bench.lift(20, "burst"),
        bench.impose(20, "loss", loss_ppm=_ALWAYS),
        bench.send(30, b"b"),
        bench.send(30, b"c", to=2),
        bench.lift(40, "loss"),
        bench.impose(40, "reorder", reorder_ppm=_ALWAYS, reorder_extra_us=500),
        bench.send(50, b"d"),
        bench.lift(60, "reorder"),
        bench.send(70, b"e"),
    )


def _own_links(bench: BusBench) -> Sequence[BusStep]:
    return (
        bench.send(0, b"a"),
        bench.send(0, b"b", to=2),
        bench.send(0, b"c", sender=2),
        bench.send(0, b"d", to=2, sender=1),
    )


def _is_crowd_right(one: Heard, other: Heard) -> bool:
    # Of five two get through; the copy of one that is thrown out is another message.
    originals = [content for at_us, content in one if at_us == _LATENCY_US + 10]
    late = [each for each in one if each[0] > _LATENCY_US + 10]
    return len(originals) == 5 + 2 and late == [(2_011, b"late")] * 2 and other == [(1_010, b"apart")]


def _is_damage_right(one: Heard, other: Heard) -> bool:
    (_, first), (_, second) = one
    ((_, third),) = other
    changed = [sum(left != right for left, right in zip(each, _CONTENT, strict=True)) for each in (first, second)]
    return changed == [1, 0] and third == _CONTENT


TRIALS: Final = (
    BusTrial("a condition that comes again is another one", _twice, _exactly([(1_200, b"b")]), {"again": 3}),
    BusTrial(
        "what two clogs hold goes with one of them",
        _two_clogs,
        _exactly([(101, b"a"), (5_001, b"b"), (5_008, b"d"), (5_015, b"e")], [(101, b"c")]),
        {"first": 4, "second": 3},
    ),
    BusTrial(
        "what is released to some goes to others, or is held from them again",
        _some_released,
        _exactly([(5_001, b"a"), (5_002, b"c")], [(101, b"b"), (1_300, b"d")]),
        {"held": 3},
    ),
    BusTrial(
        "a reset spares what is on its way, or takes more",
        _reset,
        _exactly([*[(1_000, b"a")] * 2, *[(2_105, b"d")] * 2], [(1_600, b"c")] * 2),
        {"copies": 4, "reset": 3},
    ),
    BusTrial(
        "what is recorded comes again at another time, or does not",
        _replayed,
        _exactly([(1_010, b"a"), (1_020, b"b"), (1_030, b"c"), (4_501, b"a"), (4_511, b"c"), (5_000, b"d")]),
        {"again": 2},
    ),
    BusTrial(
        "a rate lets bytes through at another one",
        _narrow,
        _exactly(
            [(1_100, b"a" * 100), (1_150, b"b" * 50), (1_160, b"c" * 10), (1_410, b"d" * 10)], [(1_400, b"e" * 10)]
        ),
        {"narrow": 4},
    ),
    BusTrial(
        "a rule is about other views, heights or kinds than it names",
        _matched,
        _exactly([(1_000 + place, bytes([place])) for place in (0, 1, 2, 5, 8, 9, 10, 11, 12, 13, 14)]),
        {"matched": 4},
    ),
    BusTrial(
        "of several conditions another one counts than should",
        _ranked,
        _exactly([(430, b"d"), (2_360, b"a"), (3_001, b"c")]),
        {"late": 2, "later": 2, "fast": 2, "slow": 1, "held": 1, "lost": 1, "cut": 1},
    ),
    BusTrial(
        "a message is refused for a length that fits, or one that does not is carried",
        _sized,
        _exactly([(_LATENCY_US, b"a" * _SIZE_LIMIT), (_LATENCY_US, b"")]),
    ),
    BusTrial("a queue holds more than its number, or less", _crowded, _is_crowd_right, {"crowded": 3, "copies": 6}),
    BusTrial("other than one byte of a damaged message is another one", _damaged, _is_damage_right, {"damaged": 1}),
    BusTrial(
        "at its full rate a loss lets messages through, or a delay does not delay them",
        _lossy,
        _exactly([(1_070, b"e"), (1_550, b"d")], [(1_030, b"c")]),
        {"burst": 1, "loss": 1, "reorder": 1},
    ),
    BusTrial(
        "a link has the settings of another one, or of its other direction",
        _own_links,
        _exactly([(50, b"c"), (300, b"a")], [(1_000, b"b")]),
        links={
            (0, 1): LinkSpec(Latency("fixed", 300)),
            (2, 1): LinkSpec(Latency("fixed", 50)),
            (1, 2): LinkSpec(Latency("fixed", 20), loss_ppm=_ALWAYS),
        },
    ),
)


def find_bus_faults(seed: int) -> Iterator[str]:
    """Yield what the bus does otherwise than it should, by the chance of a run."""
    nodes = _NODES * len(TRIALS)
    trace = Trace(range(nodes), recording=False)
    kernel = Kernel(trace, step_limit=_STEPS_MAX, time_limit_us=_END_US)
    own_links = {
        (_NODES * place + source, _NODES * place + destination): link
        for place, trial in enumerate(TRIALS)
        for (source, destination), link in trial.links.items()
    }
    bus = Bus(
        kernel,
        build_topology(nodes, Latency("fixed", _LATENCY_US), own_links),
        Chance(seed),
        trace,
        size_limit=_SIZE_LIMIT,
    )
    benches = [BusBench(bus, _NODES * place, f"{place}-") for place in range(len(TRIALS))]
    steps = [step for bench, trial in zip(benches, TRIALS, strict=True) for step in trial.script(bench)]
    for ordinal, step in enumerate(steps):
        kernel.post(step.at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, ordinal, step.act)
    kernel.post(_END_US, SUPERVISOR, EventKind.FAULT, SUPERVISOR, len(steps), kernel.stop)
    heard: dict[NodeId, list[tuple[Micros, bytes]]] = {node: [] for node in range(nodes)}
    ports = [Port(kernel, bus, trace.chain(node), node, incarnation=0) for node in range(nodes)]
    try:
        kernel.run(partial(_listen, kernel, ports, heard))
    except RunFailedError as error:
        yield f"the bus fails: {error}"
        return
    for place, trial in enumerate(TRIALS):
        _, one, other = (heard[_NODES * place + each] for each in range(_NODES))
        if not trial.is_right(one, other):
            yield trial.what
        counts = {name: bus.touched(f"{place}-{name}") for name in trial.touched}
        if counts != trial.touched:
            yield f"conditions count {counts} messages, and not {dict(trial.touched)}: {trial.what}"


async def _listen(kernel: Kernel, ports: Sequence[Port], heard: Mapping[NodeId, list[tuple[Micros, bytes]]]) -> None:
    """Write down what reaches the ports, until the run ends."""

    def note(node: NodeId, inbound: Inbound) -> None:
        if isinstance(inbound, Delivery):
            heard[node].append((kernel.now_us, inbound.payload))

    async with trio.open_nursery() as nursery:
        for port in ports:
            nursery.start_soon(port.serve, partial(note, port.node))
