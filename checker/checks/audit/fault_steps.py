"""The steps of each kind of fault: when they are due, their names in the trace, and their effects (docs/faults.md).

A kind of a plug-in has no steps here: the audit leaves out the parts that it may reach.
"""

from bisect import insort
from collections.abc import Callable, Collection
from functools import partial
from typing import Final

from checker.checks.audit.audited_fault import AuditedFault, MakeSteps, PlannedStep, Steps, no_effect, time_of
from checker.checks.audit.draws import AuditedLatency, share_of
from checker.checks.audit.links import Link, LinkCondition
from checker.checks.audit.machines import AuditedMachines, ClockLine
from checker.checks.audit.plan import MILLISECOND_US, Plain
from validators.messages import kinds_of


def fault_of(machines: AuditedMachines, name: str, fault: Plain) -> AuditedFault:
    """Return a fault of the plan with the steps of its kind."""
    make = _KINDS.get(fault["kind"], _nothing_planned)
    return AuditedFault(machines, name, fault, make, is_drawn=fault["kind"] in DRAWN_AHEAD)


def _nothing_planned(_fault: AuditedFault, _plain: Plain) -> Steps:
    """Yield no step: the audit does not know the kind."""
    return iter(())


# Links


def _links(nodes: int, is_hit: Callable[[int, int], bool] = lambda _source, _destination: True) -> list[Link]:
    return [(one, other) for one in range(nodes) for other in range(nodes) if one != other and is_hit(one, other)]


def _links_between(nodes: int, pairs: Collection[Collection[int]]) -> list[Link]:
    """Return both links of each pair; a pair of one validator stands for all links at this validator."""
    return _links(nodes, lambda *ends: any(low in ends and high in ends for low, high in pairs))


def _cut(fault: AuditedFault, plain: Plain) -> Steps:
    links = [(source, destination) for source, destination in plain.get("links", ())]
    if "groups" in plain:
        # A validator in no group is a group of its own.
        place = {node: fault.nodes + node for node in range(fault.nodes)}
        place |= {node: number for number, group in enumerate(plain["groups"]) for node in group}
        links = _links(fault.nodes, lambda one, other: place[one] < place[other])
        links += [] if plain.get("one_way") else _links(fault.nodes, lambda one, other: place[one] > place[other])
    action = {"held": "hold", "delayed": "delay"}.get(plain.get("manner", ""), "cut")
    yield from fault.impose(LinkCondition(name=fault.name, action=action, delay_us=fault.us("delay_ms")), links)


def _partitions(fault: AuditedFault, plain: Plain) -> Steps:
    every, length = (AuditedLatency("exponential", plain[key]) for key in ("every_ms", "length_ms"))
    at_ms, number, nodes = plain["start_ms"], 0, range(fault.nodes)
    while (at_ms := at_ms + every.sample(fault.drawn(at_ms, "every", number))) < plain["stop_ms"]:
        start_ms, at_ms = at_ms, min(at_ms + length.sample(fault.drawn(at_ms, "length", number)), plain["stop_ms"])
        groups = plain["groups"]
        if not groups:
            ranked = sorted((fault.drawn(start_ms, "side", number * fault.nodes + node), node) for node in nodes)
            count = 1 + share_of(fault.drawn(start_ms, "count", number), fault.nodes - 1)
            groups = [[node for _, node in ranked[:count]], [node for _, node in ranked[count:]]]
        place = {node: fault.nodes + node for node in nodes}
        place |= {node: side for side, group in enumerate(groups) for node in group}
        links = [(one, other) for one, other in _links(fault.nodes) if place[one] != place[other]]
        yield from fault.impose(LinkCondition(name=fault.name, action="cut"), links, (start_ms, at_ms))
        number += 1


def _weather(fault: AuditedFault, plain: Plain) -> Steps:
    latency = None
    if plain["latency_ms"] is not None:
        latency = AuditedLatency("normal", fault.us("latency_ms"), fault.us("jitter_ms"))
    condition = LinkCondition(
        name=fault.name,
        kinds=kinds_of(plain["channels"]),
        latency=latency,
        ppm={purpose: plain[f"{purpose}_ppm"] for purpose in ("loss", "burst", "reorder", "corrupt", "duplicate")},
        burst_us=fault.us("burst_ms") or 1,
        reorder_us=fault.us("reorder_extra_ms"),
        bytes_per_second=plain["bytes_per_second"],
        queue_max=plain["queue_max"],
    )
    links = _links_between(fault.nodes, plain["between"]) if plain["between"] else _links(fault.nodes)
    links = [(source, other) for source, other in plain["between"]] if plain["one_way"] else links
    yield from fault.impose(condition, links)


def _rule(fault: AuditedFault, plain: Plain) -> Steps:
    senders, receivers = (plain[key] or range(fault.nodes) for key in ("from", "to"))
    condition = LinkCondition(
        name=fault.name,
        action=plain["action"],
        kinds=tuple(plain["kinds"]),
        views=plain["views"],
        heights=plain["heights"],
        delay_us=fault.us("delay_ms"),
    )

    def release(to: Collection[int], now_us: int) -> None:
        fault.messages.release(fault.name, now_us, fault.us("release_gap_ms"), to)

    start, stop = fault.impose(condition, _links(fault.nodes, lambda one, other: one in senders and other in receivers))
    yield start
    if plain["first_ms"] is not None:
        yield PlannedStep(fault.us("first_ms"), "release", partial(release, plain["first_to"]))
    yield stop
    if plain["action"] in {"hold", "replay"}:
        released_us = fault.us("stop_ms" if plain["release_ms"] is None else "release_ms")
        yield PlannedStep(released_us, "release", partial(release, ()))


def _clog(fault: AuditedFault, plain: Plain) -> Steps:
    ends = {"in": slice(1, 2), "out": slice(1), "both": slice(2)}[plain["way"]]
    links = _links(fault.nodes, lambda *link: any(node in link[ends] for node in plain["validators"]))
    links += _links_between(fault.nodes, plain["between"])
    yield from fault.impose(LinkCondition(name=fault.name, action="hold", kinds=kinds_of(plain["channels"])), links)


def _swizzle_clog(fault: AuditedFault, plain: Plain) -> Steps:
    nodes, begin_ms = range(fault.nodes), plain["start_ms"]
    half_ms = (plain["stop_ms"] - begin_ms) // 2

    def chosen(subject: str, count: int, ends: list[Link]) -> list[Link]:
        ranked = sorted((fault.drawn(begin_ms, subject, place), pair) for place, pair in enumerate(ends))
        return [pair for _, pair in ranked[:count]]

    whole = [(node, node) for node in plain["validators"]]
    whole = whole or chosen("who", max(fault.nodes // 2, 1), [(node, node) for node in nodes])
    pairs = chosen("pairs", plain["pairs"], [(low, high) for high in nodes for low in range(high)])
    for low, high in [*whole, *pairs]:
        part = str(low) if low == high else f"{low}-{high}"
        condition = LinkCondition(name=f"{fault.name}@{part}", action="hold", kinds=kinds_of(plain["channels"]))
        start_ms = begin_ms + share_of(fault.drawn(begin_ms, f"start {part}"), half_ms)
        stop_ms = plain["stop_ms"] - share_of(fault.drawn(begin_ms + half_ms, f"stop {part}"), half_ms)
        yield from fault.impose(condition, _links_between(fault.nodes, [(low, high)]), (start_ms, stop_ms))


def _isolate_leader(fault: AuditedFault, _plain: Plain) -> Steps:
    """Yield the windows in which the leader is cut off; an edge `move` follows each change of the leader."""
    messages, owed, moves = fault.messages, fault.machines.owed, ("move", fault.name)
    isolated: int | None = None
    is_at_work = False

    def surround(leader: int | None) -> None:
        nonlocal isolated
        if isolated is not None:
            messages.lift(fault.name)
        isolated = leader
        if leader is not None:
            cut = LinkCondition(name=fault.name, action="cut")
            messages.impose(cut, _links_between(fault.nodes, [(leader, leader)]))

    def turn(_now_us: int, *, on: bool) -> None:
        nonlocal is_at_work
        is_at_work = on
        owed.pop(moves, None)
        surround(fault.leader if on else None)

    def see_leader(now_us: int) -> None:
        if is_at_work and fault.leader != isolated:
            owed[moves] = now_us, f"fault {fault.name} had to move to validator {fault.leader}"

    def move(now_us: int) -> None:
        if not fault.machines.pay(moves, now_us):
            fault.machines.fail(
                "", f"fault {fault.name} moved at {now_us:,} us although the leader is the same", now_us
            )
        surround(fault.leader)

    fault.on_leader = see_leader
    fault.reactions["move"] = move
    yield from fault.window(partial(turn, on=True), partial(turn, on=False))


def _twin(fault: AuditedFault, plain: Plain) -> Steps:
    """Yield the start and the end of a twin, and the rounds in which replicas reach one of the two machines."""
    own = plain["validator"]
    twins = {validator: machine for machine, validator in fault.machines.plan.twins.items()}
    machine, round_ms = twins[own], plain["round_ms"]
    yield PlannedStep(fault.us("start_ms"), "boot", partial(fault.machines.boot, machine))
    for place, start_ms in enumerate(range(plain["start_ms"], plain["stop_ms"], round_ms)):
        pairs = [(own, machine) for other, machine in twins.items() if other != own]
        for node in range(fault.nodes):
            if plain["first"]:
                turn = place % len(plain["first"])
                reached = [node in plain[key][turn] for key in ("first", "second")]
            else:
                share = share_of(fault.drawn(start_ms, f"round {place}", node), 8)
                reached = [share < 3 or share == 6, 3 <= share <= 6]
            if node not in twins:
                pairs += [(each, node) for each, is_in in zip((own, machine), reached, strict=True) if not is_in]
        links = [link for one, other in pairs for link in ((one, other), (other, one))]
        cut = LinkCondition(name=f"{fault.name}@{place}", action="cut")
        yield from fault.impose(cut, links, (start_ms, min(start_ms + round_ms, plain["stop_ms"])))
    end = partial(fault.machines.cut_power, fault.name, nodes=(machine,))
    yield PlannedStep(fault.us("stop_ms"), "end", end)


# Machines


def _outage(fault: AuditedFault, plain: Plain) -> Steps:
    nodes, give = fault.targets(), fault.machines.give_power
    start, stop = fault.outage((plain["at_ms"], plain["restart_ms"]), nodes)
    every_us = fault.us("restart_every_ms")
    yield start
    for place, group in enumerate([(node,) for node in nodes] if every_us else [nodes]):
        yield PlannedStep(stop.at_us + place * every_us, "stop", partial(give, fault.name, nodes=group))


def _replace(fault: AuditedFault, plain: Plain) -> Steps:
    for turn, node in enumerate(plain["validators"]):
        delay_ms = turn * plain["every_ms"]
        yield from fault.outage((plain["at_ms"] + delay_ms, plain["restart_ms"] + delay_ms), (node,))


def _restart_storm(fault: AuditedFault, plain: Plain) -> Steps:
    hit = tuple(plain["validators"]) or tuple(range(fault.nodes))

    def drawn_ms(what: str, cut: int) -> int:
        least, most = plain[f"{what}_ms"]
        return int(least) + share_of(fault.drawn(at_ms, what, cut), most - least + 1)

    back_ms = dict.fromkeys(hit, -1)
    at_ms, turn, cut = plain["start_ms"], 0, 0
    while at_ms < plain["stop_ms"] and cut < plain["stop_ms"] - plain["start_ms"]:
        there = [node for node in hit[turn:] + hit[:turn] if back_ms[node] < at_ms]
        if there:
            node = there[share_of(fault.drawn(at_ms, "machine", cut), len(there)) if plain["is_drawn"] else 0]
            turn = (hit.index(node) + 1) % len(hit)
            back_ms[node] = at_ms + drawn_ms("down", cut)
            yield from fault.outage((at_ms, back_ms[node]), (node,))
        at_ms += drawn_ms("every", cut)
        cut += 1


def _crash_at_boundary(fault: AuditedFault, plain: Plain) -> Steps:
    """Yield the window in which the power may go off; it goes off at the edge of the boundary."""
    machines, after_us = fault.machines, fault.us("restart_after_ms")
    strikes_left = 0

    def watch(_now_us: int, *, strikes: int) -> None:
        nonlocal strikes_left
        strikes_left = strikes

    def strike(now_us: int) -> None:
        nonlocal strikes_left
        if not strikes_left:
            what = f"fault {fault.name} struck at {now_us:,} us, outside of its time or once too often"
            fault.machines.fail("", what, now_us)
        strikes_left -= not plain["every"]
        machines.cut_power(fault.name, now_us, fault.targets())
        give = partial(machines.give_power, fault.name, nodes=fault.targets())
        insort(fault.steps, PlannedStep(now_us + after_us, "restart", give), key=time_of)

    fault.reactions[plain["boundary"]] = strike
    yield from fault.window(partial(watch, strikes=1), partial(watch, strikes=0))


def _pause(fault: AuditedFault, _plain: Plain) -> Steps:
    pause = partial(fault.machines.pause, fault.targets())
    yield from fault.window(lambda _now_us: pause(is_paused=True), lambda _now_us: pause(is_paused=False))


def _slow(fault: AuditedFault, plain: Plain) -> Steps:
    begin, end = {"factor": plain["factor"]}, {"factor": 1}
    if plain["kind"] == "slow-disk":
        begin = {"disk_factor": plain["factor"], "disk_extra_us": fault.us("extra_ms")}
        end = {"disk_factor": 1, "disk_extra_us": 0}
    slow = partial(fault.machines.slow_down, plain["validator"])
    yield from fault.window(partial(slow, **begin), partial(slow, **end))


def _torn_writes(fault: AuditedFault, _plain: Plain) -> Steps:
    tear = partial(fault.machines.tear, fault.targets())
    yield from fault.window(lambda _now_us: tear(1), lambda _now_us: tear(-1))


def _unseen(fault: AuditedFault, plain: Plain) -> Steps:
    """Yield the edges of a fault that the log does not show; some restart their validator, with another disk."""
    may_stop = partial(fault.machines.may_stop, plain["validator"])
    if plain.get("behaviour") == "amnesia":
        for at_ms in range(plain["start_ms"], plain["stop_ms"], plain["every_ms"]):
            yield PlannedStep(at_ms * MILLISECOND_US, "forget", may_stop)
    else:
        yield from fault.window(no_effect, may_stop if plain["kind"] in {"io-error", "disk-full"} else no_effect)


def _clock(fault: AuditedFault, plain: Plain) -> Steps:
    nodes, line, half_ms = fault.targets(), ClockLine(ppm=plain.get("ppm", 0)), plain.get("period_ms", 0) // 2
    if plain["kind"] == "clock-offset":
        line = ClockLine(offset_us=fault.us("offset_ms"))
    elif plain["kind"] == "clock-strobe":
        line = ClockLine(strobe_us=fault.us("offset_ms"), strobe_half_us=fault.us("period_ms") // 2)

    def turn(line: ClockLine, now_us: int, *, goes_on: bool = False) -> None:
        for node in nodes:
            fault.machines.turn_clock(node, now_us, line, goes_on=goes_on)

    yield from fault.window(partial(turn, line), partial(turn, ClockLine()))
    if plain["kind"] == "clock-swing":
        for place, at_ms in enumerate(range(plain["start_ms"] + half_ms, plain["stop_ms"], half_ms)):
            other = ClockLine(ppm=line.ppm if place % 2 else -line.ppm)
            yield PlannedStep(at_ms * MILLISECOND_US, "reverse", partial(turn, other, goes_on=True))


_KINDS: Final[dict[str, MakeSteps]] = {
    **dict.fromkeys(("partition", "flapping", "cut"), _cut),
    "partitions": _partitions,
    "links": _weather,
    "rule": _rule,
    "clog": _clog,
    "swizzle-clog": _swizzle_clog,
    "isolate-leader": _isolate_leader,
    "twin": _twin,
    **dict.fromkeys(("crash", "wipe", "blackout"), _outage),
    "restart-storm": _restart_storm,
    "replace": _replace,
    "crash-at-boundary": _crash_at_boundary,
    "pause": _pause,
    **dict.fromkeys(("slow", "slow-disk"), _slow),
    "torn-writes": _torn_writes,
    **dict.fromkeys(("bit-rot", "stale-read", "misdirected-write", "io-error", "disk-full", "byzantine"), _unseen),
    **dict.fromkeys(("clock-offset", "clock-drift", "clock-swing", "clock-strobe"), _clock),
}

DRAWN_AHEAD: Final = ("partitions", "swizzle-clog", "twin", "restart-storm")
"""Kinds of faults whose steps are drawn."""

KNOWN_KINDS: Final = tuple(_KINDS)
"""Kinds of faults that the audit follows."""
