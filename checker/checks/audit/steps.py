"""The steps of each fault: when they are due, what the trace calls them, and what they do (docs/faults.md).

A kind that the audit does not know, of a plug-in, has no steps here: `left_out` says what follows from that.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Final, NamedTuple

from checker.checks.audit.conditions import LinkCondition
from checker.checks.audit.draws import AuditedChance, AuditedLatency, share_of
from checker.checks.audit.machines import ClockLine, Machines
from checker.checks.audit.plan import MILLISECOND_US, Link, Plain, TestBedPlan, windows_of
from checker.checks.audit.traffic import MessageLedger
from validators.messages import kinds_of

Act = Callable[[int], object]
"""Does a step, at a virtual time."""


class PlannedStep(NamedTuple):
    """One moment of a fault."""

    at_us: int
    edge: str
    act: Act


class AuditBench(NamedTuple):
    """The parts that a fault acts on."""

    plan: TestBedPlan
    chance: AuditedChance
    traffic: MessageLedger
    machines: Machines


def _nothing(_now_us: int) -> None:
    """Change nothing that a log shows."""


def _window(start_ms: int, stop_ms: int, begin: Act, end: Act) -> Iterator[PlannedStep]:
    yield PlannedStep(start_ms * MILLISECOND_US, "start", begin)
    yield PlannedStep(stop_ms * MILLISECOND_US, "stop", end)


def _targets(fault: Plain) -> tuple[int, ...]:
    """Return the validators that a fault of machines or disks names."""
    named = fault.get("validators") or [fault["validator"], *fault.get("also", ())]
    return tuple(named)


# Links


def all_links(nodes: int) -> list[Link]:
    """Return every link."""
    return [(source, other) for source in range(nodes) for other in range(nodes) if source != other]


def links_of(nodes: int, ends: Collection[int], way: str = "both") -> list[Link]:
    """Return the links into, out of, or at both ends of validators."""
    found = all_links(nodes)
    return [link for link in found if (way != "out" and link[1] in ends) or (way != "in" and link[0] in ends)]


def between_groups(groups: Iterable[Collection[int]], nodes: int, *, one_way: bool = False) -> list[Link]:
    """Return the links from one group to another; a node in none is a group behind the others."""
    place = {node: number for number, group in enumerate(groups) for node in group}
    place.update({node: nodes + node for node in range(nodes) if node not in place})
    return [
        (first, second)
        for first, second in all_links(nodes)
        if place[first] < place[second] or (place[first] != place[second] and not one_way)
    ]


def _both(pairs: Iterable[Collection[int]]) -> list[Link]:
    return [link for first, second in pairs for link in ((first, second), (second, first))]


def _impose(bench: AuditBench, condition: LinkCondition, links: list[Link], in_flight: str = "arrives") -> Act:
    def impose(_now_us: int) -> None:
        bench.traffic.impose(condition, links)
        if in_flight == "lost":
            bench.traffic.reset(condition.name)

    return impose


def _lift(bench: AuditBench, name: str, gap_ms: int | None = None) -> Act:
    """Return the end of a condition; with a gap, what it holds is released at once."""

    def lift(now_us: int) -> None:
        bench.traffic.lift(name)
        if gap_ms is not None:
            bench.traffic.release(name, now_us, gap_ms * MILLISECOND_US)

    return lift


def _partition(bench: AuditBench, name: str, fault: Plain) -> Iterator[PlannedStep]:
    links = between_groups(fault["groups"], bench.plan.nodes, one_way=fault["one_way"])
    condition = {
        "cut": LinkCondition(name=name, is_cut=True),
        "held": LinkCondition(name=name, action="hold"),
        "delayed": LinkCondition(name=name, action="delay", delay_us=fault["delay_ms"] * MILLISECOND_US),
    }[fault["manner"]]
    gap_ms = fault["release_gap_ms"] if fault["manner"] == "held" else None
    begin = _impose(bench, condition, links, fault["in_flight"])
    yield from _window(fault["start_ms"], fault["stop_ms"], begin, _lift(bench, name, gap_ms))


def _flapping(bench: AuditBench, name: str, fault: Plain) -> Iterator[PlannedStep]:
    links = between_groups(fault["groups"], bench.plan.nodes)
    for start_ms, stop_ms in windows_of(fault, "cut_ms", "open_ms"):
        begin = _impose(bench, LinkCondition(name=name, is_cut=True), links)
        yield from _window(start_ms, stop_ms, begin, _lift(bench, name))


def _cut(bench: AuditBench, name: str, fault: Plain) -> Iterator[PlannedStep]:
    links = [(source, destination) for source, destination in fault["links"]]
    begin = _impose(bench, LinkCondition(name=name, is_cut=True), links, fault["in_flight"])
    yield from _window(fault["start_ms"], fault["stop_ms"], begin, _lift(bench, name))


def _weather(bench: AuditBench, name: str, fault: Plain) -> Iterator[PlannedStep]:
    latency = None
    if fault["latency_ms"] is not None:
        latency = AuditedLatency("normal", fault["latency_ms"] * MILLISECOND_US, fault["jitter_ms"] * MILLISECOND_US)
    condition = LinkCondition(
        name=name,
        kinds=kinds_of(fault["channels"]),
        latency=latency,
        loss_ppm=fault["loss_ppm"],
        reorder_ppm=fault["reorder_ppm"],
        reorder_us=fault["reorder_extra_ms"] * MILLISECOND_US,
        duplicate_ppm=fault["duplicate_ppm"],
        corrupt_ppm=fault["corrupt_ppm"],
        burst_ppm=fault["burst_ppm"],
        burst_us=fault["burst_ms"] * MILLISECOND_US or 1,
        bytes_per_second=fault["bytes_per_second"],
        queue_max=fault["queue_max"],
    )
    begin = _impose(bench, condition, _both(fault["between"]) or all_links(bench.plan.nodes))
    yield from _window(fault["start_ms"], fault["stop_ms"], begin, _lift(bench, name))


def _rule(bench: AuditBench, name: str, fault: Plain) -> Iterator[PlannedStep]:
    senders, receivers, keeps = fault["from"], fault["to"], fault["action"] in {"hold", "replay"}
    links = [
        (source, destination)
        for source, destination in all_links(bench.plan.nodes)
        if (not senders or source in senders) and (not receivers or destination in receivers)
    ]
    condition = LinkCondition(
        name=name,
        action=fault["action"],
        kinds=tuple(fault["kinds"]),
        views=tuple(map(tuple, fault["views"])),
        heights=tuple(map(tuple, fault["heights"])),
        delay_us=fault["delay_ms"] * MILLISECOND_US,
    )
    gap_us = fault["release_gap_ms"] * MILLISECOND_US

    def release(receivers: tuple[int, ...], now_us: int) -> None:
        bench.traffic.release(name, now_us, gap_us, receivers)

    yield PlannedStep(fault["start_ms"] * MILLISECOND_US, "start", _impose(bench, condition, links))
    if fault["first_ms"] is not None:
        yield PlannedStep(fault["first_ms"] * MILLISECOND_US, "release", partial(release, tuple(fault["first_to"])))
    yield PlannedStep(fault["stop_ms"] * MILLISECOND_US, "stop", _lift(bench, name))
    if keeps:
        released_ms = fault["stop_ms"] if fault["release_ms"] is None else fault["release_ms"]
        yield PlannedStep(released_ms * MILLISECOND_US, "release", partial(release, ()))


def _clog(bench: AuditBench, name: str, fault: Plain) -> Iterator[PlannedStep]:
    links = links_of(bench.plan.nodes, fault["validators"], fault["way"]) + _both(fault["between"])
    condition = LinkCondition(name=name, action="hold", kinds=kinds_of(fault["channels"]))
    end = _lift(bench, name, fault["release_gap_ms"])
    yield from _window(fault["start_ms"], fault["stop_ms"], _impose(bench, condition, links), end)


def _swizzle_clog(bench: AuditBench, name: str, fault: Plain) -> Iterator[PlannedStep]:
    purpose, nodes, chance = f"swizzle-clog {name}", bench.plan.nodes, bench.chance

    def drawn(subject: str, count: int, ends: list[Link]) -> list[Link]:
        ranked = sorted((chance.draw(purpose, subject, place), pair) for place, pair in enumerate(ends))
        return [pair for _, pair in ranked[:count]]

    whole = [(node, node) for node in fault["validators"]]
    whole = whole or drawn("who", max(nodes // 2, 1), [(node, node) for node in range(nodes)])
    pairs = drawn("pairs", fault["pairs"], [(low, high) for high in range(nodes) for low in range(high)])
    half_ms = (fault["stop_ms"] - fault["start_ms"]) // 2
    for low, high in [*whole, *pairs]:
        part = str(low) if low == high else f"{low}-{high}"
        links = links_of(nodes, (low,)) if low == high else _both([(low, high)])
        condition = LinkCondition(name=f"{name}@{part}", action="hold", kinds=kinds_of(fault["channels"]))
        start_ms = fault["start_ms"] + share_of(chance.draw(purpose, f"start {part}", 0), half_ms)
        stop_ms = fault["stop_ms"] - share_of(chance.draw(purpose, f"stop {part}", 0), half_ms)
        end = _lift(bench, condition.name, fault["release_gap_ms"])
        yield from _window(start_ms, stop_ms, _impose(bench, condition, links), end)


# Machines


def _outage(bench: AuditBench, name: str, span_ms: tuple[int, int], nodes: tuple[int, ...]) -> Iterator[PlannedStep]:
    machines = bench.machines
    begin = partial(machines.cut_power, name, nodes=nodes)
    yield from _window(*span_ms, begin, partial(machines.give_power, name, nodes=nodes))


def _crash(bench: AuditBench, name: str, fault: Plain) -> Iterator[PlannedStep]:
    begin = partial(bench.machines.cut_power, name, nodes=_targets(fault), is_wiped=fault["kind"] == "wipe")
    end = partial(bench.machines.give_power, name, nodes=_targets(fault))
    yield from _window(fault["at_ms"], fault["restart_ms"], begin, end)


def _blackout(bench: AuditBench, name: str, fault: Plain) -> Iterator[PlannedStep]:
    nodes = _targets(fault)
    if not fault["restart_every_ms"]:
        yield from _outage(bench, name, (fault["at_ms"], fault["restart_ms"]), nodes)
        return
    yield PlannedStep(fault["at_ms"] * MILLISECOND_US, "start", partial(bench.machines.cut_power, name, nodes=nodes))
    for place, node in enumerate(nodes):
        at_us = (fault["restart_ms"] + place * fault["restart_every_ms"]) * MILLISECOND_US
        yield PlannedStep(at_us, "stop", partial(bench.machines.give_power, name, nodes=(node,)))


def _restart_storm(bench: AuditBench, name: str, fault: Plain) -> Iterator[PlannedStep]:
    purpose, hit = f"restart-storm {name}", tuple(fault["validators"]) or tuple(range(bench.plan.nodes))

    def drawn_ms(what: str, key: str, cut: int) -> int:
        least: int = fault[key][0]
        most: int = fault[key][1]
        return least + share_of(bench.chance.draw(purpose, what, cut), most - least + 1)

    back_ms = dict.fromkeys(hit, -1)
    at_ms, turn, cut = fault["start_ms"], 0, 0
    while at_ms < fault["stop_ms"] and cut < fault["stop_ms"] - fault["start_ms"]:
        there = [node for node in hit[turn:] + hit[:turn] if back_ms[node] < at_ms]
        if there:
            chosen = share_of(bench.chance.draw(purpose, "machine", cut), len(there)) if fault["is_drawn"] else 0
            node = there[chosen]
            turn = (hit.index(node) + 1) % len(hit)
            back_ms[node] = at_ms + drawn_ms("down", "down_ms", cut)
            yield from _outage(bench, name, (at_ms, back_ms[node]), (node,))
        at_ms += drawn_ms("every", "every_ms", cut)
        cut += 1


def _pause(bench: AuditBench, _name: str, fault: Plain) -> Iterator[PlannedStep]:
    def pause(is_paused: bool, _now_us: int) -> None:  # noqa: FBT001 - bound below, by its value
        bench.machines.pause(_targets(fault), is_paused=is_paused)

    for start_ms, stop_ms in windows_of(fault, "pause_ms", "run_ms"):
        yield from _window(start_ms, stop_ms, partial(pause, True), partial(pause, False))  # noqa: FBT003 - see above


def _slow(bench: AuditBench, _name: str, fault: Plain) -> Iterator[PlannedStep]:
    begin = partial(bench.machines.slow_down, fault["validator"], factor=fault["factor"])
    end = partial(bench.machines.slow_down, fault["validator"], factor=1)
    yield from _window(fault["start_ms"], fault["stop_ms"], begin, end)


def _slow_disk(bench: AuditBench, _name: str, fault: Plain) -> Iterator[PlannedStep]:
    slow, extra_us = partial(bench.machines.slow_down, fault["validator"]), fault["extra_ms"] * MILLISECOND_US
    begin = partial(slow, disk_factor=fault["factor"], disk_extra_us=extra_us)
    yield from _window(fault["start_ms"], fault["stop_ms"], begin, partial(slow, disk_factor=1, disk_extra_us=0))


def _bad_disk(bench: AuditBench, _name: str, fault: Plain) -> Iterator[PlannedStep]:
    """Yield the edges of a fault that the written bytes do not show; at its end an operator may restart the machine."""

    def end(now_us: int) -> None:
        if fault["kind"] in {"io-error", "disk-full"}:
            bench.machines.may_stop(fault["validator"], now_us, loses_votes=True)

    yield from _window(fault["start_ms"], fault["stop_ms"], _nothing, end)


def _torn_writes(bench: AuditBench, _name: str, fault: Plain) -> Iterator[PlannedStep]:
    def tear(change: int, _now_us: int) -> None:
        bench.machines.tear(_targets(fault), change)

    yield from _window(fault["start_ms"], fault["stop_ms"], partial(tear, 1), partial(tear, -1))


# Clocks


def _clock(bench: AuditBench, _name: str, fault: Plain) -> Iterator[PlannedStep]:
    kind, ppm = fault["kind"], fault.get("ppm", 0)
    offset_us, period_us = fault.get("offset_ms", 0) * MILLISECOND_US, fault.get("period_ms", 0) * MILLISECOND_US
    line = {
        "clock-offset": ClockLine(offset_us=offset_us),
        "clock-drift": ClockLine(ppm=ppm),
        "clock-swing": ClockLine(ppm=ppm),
        "clock-strobe": ClockLine(strobe_us=offset_us, strobe_half_us=period_us // 2),
    }[kind]

    def turn(line: ClockLine, goes_on: bool, now_us: int) -> None:  # noqa: FBT001 - bound below, by its value
        for node in _targets(fault):
            bench.machines.turn_clock(node, now_us, line, goes_on=goes_on)

    right, wrong = partial(turn, ClockLine(), False), partial(turn, line, False)  # noqa: FBT003 - see above
    yield from _window(fault["start_ms"], fault["stop_ms"], wrong, right)
    if kind == "clock-swing":
        half_ms = fault["period_ms"] // 2
        sign = -1
        for at_ms in range(fault["start_ms"] + half_ms, fault["stop_ms"], half_ms):
            turned = partial(turn, ClockLine(ppm=sign * ppm), True)  # noqa: FBT003 - see above
            yield PlannedStep(at_ms * MILLISECOND_US, "reverse", turned)
            sign = -sign


def _byzantine(bench: AuditBench, _name: str, fault: Plain) -> Iterator[PlannedStep]:
    if fault["behaviour"] != "amnesia":
        yield from _window(fault["start_ms"], fault["stop_ms"], _nothing, _nothing)
        return

    def forget(now_us: int) -> None:
        bench.machines.may_stop(fault["validator"], now_us, loses_votes=True)

    for at_ms in range(fault["start_ms"], fault["stop_ms"], fault["every_ms"]):
        yield PlannedStep(at_ms * MILLISECOND_US, "forget", forget)


MOVING: Final = ("crash-at-boundary", "isolate-leader")
"""Kinds with moments that depend on the run; `moving` follows them."""

_KINDS: Final[dict[str, Callable[[AuditBench, str, Plain], Iterator[PlannedStep]]]] = {
    "partition": _partition,
    "flapping": _flapping,
    "cut": _cut,
    "links": _weather,
    "rule": _rule,
    "clog": _clog,
    "swizzle-clog": _swizzle_clog,
    "crash": _crash,
    "wipe": _crash,
    "blackout": _blackout,
    "restart-storm": _restart_storm,
    "pause": _pause,
    "slow": _slow,
    "slow-disk": _slow_disk,
    **dict.fromkeys(("bit-rot", "stale-read", "misdirected-write", "io-error", "disk-full"), _bad_disk),
    "torn-writes": _torn_writes,
    **dict.fromkeys(("clock-offset", "clock-drift", "clock-swing", "clock-strobe"), _clock),
    "byzantine": _byzantine,
}

KNOWN_KINDS: Final = (*_KINDS, *MOVING)
"""Kinds of faults that the audit follows."""


def steps_of(bench: AuditBench, name: str, fault: Plain) -> list[PlannedStep]:
    """Return the steps of a fault that its plan fixes, in the order of their times."""
    make = _KINDS.get(fault["kind"])
    return [] if make is None else sorted(make(bench, name, fault), key=lambda step: step.at_us)
