"""Directed links by groups and pairs, and the conditions that several kinds put on them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from faults.injection.context import FaultContext
from faults.injection.steps import Edge, window
from network.conditions import Condition, MessageRule
from network.types import MILLISECOND_US

Link: TypeAlias = tuple[int, int]


def all_links(nodes: int) -> tuple[Link, ...]:
    """Return every directed link of a cluster, in ascending order."""
    everybody = range(nodes)
    return tuple((source, destination) for source in everybody for destination in everybody if source != destination)


def both_ways(pairs: Iterable[Link]) -> tuple[Link, ...]:
    """Return both directions of each pair."""
    return tuple(link for first, second in pairs for link in ((first, second), (second, first)))


def crossing_links(groups: Sequence[Sequence[int]], nodes: int, *, one_way: bool = False) -> tuple[Link, ...]:
    """Return every directed link between different groups, in ascending order; with `one_way` only to later groups.

    A node in no group is its own group, behind the named groups.
    """
    group_by_node = {node: index for index, group in enumerate(groups) for node in group}
    loners = [node for node in range(nodes) if node not in group_by_node]
    group_by_node.update({node: len(groups) + index for index, node in enumerate(loners)})
    sides = [(link, group_by_node[link[0]], group_by_node[link[1]]) for link in all_links(nodes)]
    return tuple(link for link, first, second in sides if (first < second if one_way else first != second))


def cut(context: FaultContext, links: Iterable[Link], in_flight: str = "arrives") -> None:
    """Cut links; with `in_flight` lost, messages on their way are lost as well."""
    context.bus.impose(Condition(name=context.condition(), is_cut=True), links)
    if in_flight == "lost":
        context.bus.reset(context.name)


def cut_window(
    context: FaultContext, span_ms: tuple[int, int], links: Iterable[Link], in_flight: str = "arrives"
) -> tuple[Edge, Edge]:
    """Return the edges of a window in which links are cut."""
    return window(*span_ms, partial(cut, context, tuple(links), in_flight), partial(context.bus.lift, context.name))


def rule_window(
    context: FaultContext, span_ms: tuple[int, int], links: Iterable[Link], rule: MessageRule
) -> tuple[Edge, Edge]:
    """Return the edges of a window in which a rule is imposed on links."""
    return window(*span_ms, partial(impose, context, tuple(links), rule), partial(context.bus.lift, context.name))


def impose(context: FaultContext, links: Iterable[Link], rule: MessageRule, part: str = "") -> None:
    """Impose a rule on links."""
    context.bus.impose(Condition(name=context.condition(part), rule=rule), links)


def clog_window(
    context: FaultContext,
    span_ms: tuple[int, int],
    links: Iterable[Link],
    *,
    kinds: Sequence[str] = (),
    gap_ms: int = 0,
    part: str = "",
) -> Iterator[Edge]:
    """Yield the edges of a window in which messages pile up; at its end they are released `gap_ms` apart."""
    begin = partial(impose, context, tuple(links), MessageRule("hold", tuple(kinds)), part)
    yield from window(*span_ms, begin, partial(_unclog, context, part, gap_ms * MILLISECOND_US))


def _unclog(context: FaultContext, part: str, gap_us: int) -> None:
    condition = context.condition(part)
    context.bus.lift(condition)
    context.bus.release(condition, gap_us=gap_us)
