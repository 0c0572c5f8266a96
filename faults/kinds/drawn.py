"""Faults whose times are drawn: a function of the plan, the fault's name and the seed, and of nothing that happens.

Each draw is keyed by what it is for, so that taking another fault out of the plan leaves it as it was.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from faults.kinds.fields import Link
from faults.kinds.machine import RestartStorm
from faults.kinds.network import Clog, SwizzleClog
from network.chance import Chance, below


class Outage(NamedTuple):
    """A validator without power, in virtual milliseconds."""

    node: int
    at_ms: int
    back_ms: int


class ClogWindow(NamedTuple):
    """Links that are clogged, in virtual milliseconds; ``part`` tells the windows of one fault apart."""

    part: str
    links: tuple[Link, ...]
    start_ms: int
    stop_ms: int


def storm_outages(fault: RestartStorm, name: str, chance: Chance, validators: int) -> Iterator[Outage]:
    """Yield who loses power when, and is back when, in the order of the cuts."""
    nodes = fault.validators or tuple(range(validators))
    purpose = f"restart-storm {name}"
    back_ms = dict.fromkeys(nodes, -1)
    at_ms, turn = fault.start_ms, 0
    for cut in range(fault.stop_ms - fault.start_ms):
        if at_ms >= fault.stop_ms:
            return
        on = [node for node in (*nodes[turn:], *nodes[:turn]) if back_ms[node] < at_ms]
        if on:
            place = below(chance.draw(purpose, "who", cut), len(on)) if fault.is_drawn else 0
            node, turn = on[place], (nodes.index(on[place]) + 1) % len(nodes)
            back_ms[node] = at_ms + _within(fault.down_ms, chance.draw(purpose, "down", cut))
            yield Outage(node, at_ms, back_ms[node])
        at_ms += _within(fault.every_ms, chance.draw(purpose, "every", cut))


def _within(bounds: tuple[int, int], draw: int) -> int:
    return bounds[0] + below(draw, bounds[1] - bounds[0] + 1)


def clog_links(fault: Clog, validators: int) -> tuple[Link, ...]:
    """Return the directed links that are clogged: of the validators that it names, and of pairs both directions."""
    pairs = _both_ways(fault.between)
    ends = {"in": (1,), "out": (0,), "both": (0, 1)}[fault.way]
    return tuple(
        link for link in _all_links(validators) if link in pairs or any(link[end] in fault.validators for end in ends)
    )


def swizzle_windows(fault: SwizzleClog, name: str, chance: Chance, validators: int) -> Iterator[ClogWindow]:
    """Yield what is clogged when: each chosen validator both ways, and each drawn pair."""
    purpose = f"swizzle-clog {name}"

    def ranked(values: Sequence[Link], subject: str, count: int) -> list[Link]:
        keyed = [(chance.draw(purpose, subject, place), value) for place, value in enumerate(values)]
        return [value for _, value in sorted(keyed)[:count]]

    everybody = range(validators)
    # A validator stands as the pair of itself, so that both are drawn and clogged in the same way.
    nodes = [(node, node) for node in fault.validators]
    nodes = nodes or ranked([(node, node) for node in everybody], "who", max(validators // 2, 1))
    pairs = ranked([(low, high) for high in everybody for low in range(high)], "pairs", fault.pairs)
    half_ms = (fault.stop_ms - fault.start_ms) // 2
    for low, high in (*nodes, *pairs):
        part = f"{low}" if low == high else f"{low}-{high}"
        start_ms = fault.start_ms + below(chance.draw(purpose, f"start {part}", 0), half_ms)
        stop_ms = fault.stop_ms - below(chance.draw(purpose, f"stop {part}", 0), half_ms)
        links = _both_ways([(low, high)])
        if low == high:
            links = tuple(link for link in _all_links(validators) if low in link)
        yield ClogWindow(part, links, start_ms, stop_ms)


def _both_ways(pairs: Sequence[Link]) -> tuple[Link, ...]:
    return tuple(link for first, second in pairs for link in ((first, second), (second, first)))


def _all_links(validators: int) -> Iterator[Link]:
    return (
        (source, destination)
        for source in range(validators)
        for destination in range(validators)
        if source != destination
    )
