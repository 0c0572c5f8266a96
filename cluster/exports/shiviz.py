"""A part of a run for ShiViz: a line for each event, with a vector clock of its replica's knowledge.

The first line is the regular expression that ShiViz requires. Clocks are counted within the part: a message counts if
it was both sent and received there. ShiViz knows clocks but no messages, so a lost message is an event without a line.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from cluster.exports.window import MACHINE_KINDS
from network.events import Delivered, Event, Sent, read_event
from network.types import SUPERVISOR
from validators.events import BlockExecuted

PATTERN: Final = r'(?<host>\S+) "(?<event>[^"]*)" (?<clock>\{.*\})'
"""The regular expression of a line."""

EVENTS_MAX: Final = 500
"""Events of a part: more cannot be read in a picture."""


READ: Final = (BlockExecuted, Delivered, Sent)
"""The types of the events whose values a part and its lines depend on."""


def shown(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events that a picture of causes needs: without what a machine does by itself."""
    return (event for event in events if event.kind not in MACHINE_KINDS)


def part_around(events: Iterable[Event], index: int | None, size: int = EVENTS_MAX) -> list[Event]:
    """Return this many events around the event of an index, or the last events without an index."""
    if index is None:
        return list(deque(events, size))
    first = max(0, index - size // 2)
    return [event for place, event in enumerate(events) if first <= place < first + size]


def lines_of(events: Iterable[Event]) -> Iterator[str]:
    """Yield the lines of a ShiViz log."""
    yield PATTERN
    yield ""
    clocks: dict[str, dict[str, int]] = {}
    sent: dict[tuple[int, int, int], dict[str, int]] = {}
    for event in events:
        host = _host(event.node)
        clock = clocks.setdefault(host, {host: 0})
        delivered = read_event(event, Delivered)
        if delivered is not None:
            for other, count in sent.get((delivered.source, event.node, delivered.ordinal), {}).items():
                clock[other] = max(clock.get(other, 0), count)
        clock[host] += 1
        sending = read_event(event, Sent)
        if sending is not None:
            sent[event.node, sending.destination, sending.ordinal] = dict(clock)
        yield f'{host} "{_words(event)}" {json.dumps(clock, separators=(",", ":"))}'


def _host(node: int) -> str:
    return "faults" if node == SUPERVISOR else f"replica-{node}"


def _words(event: Event) -> str:
    values = (value.hex()[:8] if isinstance(value, bytes) else str(value) for value in event.values)
    said = f"{event.at_us / 1e6:.6f} s {event.kind} {' '.join(values)}"
    return "".join(letter if letter.isprintable() and letter != '"' else " " for letter in said).strip()
