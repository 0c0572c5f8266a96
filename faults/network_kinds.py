"""Faults of links and of single messages."""

import msgspec

from faults.terms import FaultBase, Link, Milliseconds, PartsPerMillion, Positive, Range, Validator
from network.conditions import RuleAction


class Partition(FaultBase, tag="partition", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut every link between different groups; a validator in no group is a group of its own."""

    groups: tuple[tuple[Validator, ...], ...]
    start_ms: Milliseconds
    stop_ms: Milliseconds


class Cut(FaultBase, tag="cut", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut single links in one direction each, from the first validator to the second."""

    links: tuple[Link, ...]
    start_ms: Milliseconds
    stop_ms: Milliseconds


class Flapping(FaultBase, tag="flapping", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A partition that comes and goes: cut for ``cut_ms``, open for ``open_ms``, and again."""

    groups: tuple[tuple[Validator, ...], ...]
    start_ms: Milliseconds
    stop_ms: Milliseconds
    cut_ms: Positive
    open_ms: Positive


class IsolateLeader(FaultBase, tag="isolate-leader", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut off whoever leads the greatest view that anybody has entered; with ``open_ms`` it comes and goes."""

    start_ms: Milliseconds
    stop_ms: Milliseconds
    cut_ms: Milliseconds = 0
    open_ms: Milliseconds = 0


class Links(FaultBase, tag="links", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Make links worse: latency, loss, reordering, copies, damage. Without ``between`` every link is hit."""

    start_ms: Milliseconds = 0
    stop_ms: Milliseconds
    between: tuple[Link, ...] = ()
    latency_ms: Positive | None = None
    jitter_ms: Milliseconds = 0
    loss_ppm: PartsPerMillion = 0
    reorder_ppm: PartsPerMillion = 0
    reorder_extra_ms: Milliseconds = 0
    duplicate_ppm: PartsPerMillion = 0
    corrupt_ppm: PartsPerMillion = 0


class Rule(FaultBase, tag="rule", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Drop, hold or delay single messages, by kind, view, height, sender and receiver; what is left out admits all.

    Held messages are released at ``release_ms``, or else when the rule stops; those to ``first_to`` at ``first_ms``
    already. ``release_gap_ms`` lies between two released messages of one receiver.
    """

    action: RuleAction
    start_ms: Milliseconds = 0
    stop_ms: Milliseconds
    kinds: tuple[str, ...] = ()
    views: tuple[Range, ...] = ()
    heights: tuple[Range, ...] = ()
    senders: tuple[Validator, ...] = msgspec.field(default=(), name="from")
    receivers: tuple[Validator, ...] = msgspec.field(default=(), name="to")
    delay_ms: Milliseconds = 0
    release_ms: Milliseconds | None = None
    release_gap_ms: Milliseconds = 0
    first_to: tuple[Validator, ...] = ()
    first_ms: Milliseconds | None = None

    @property
    def released_ms(self) -> int:
        """When the last held message is let go."""
        return self.stop_ms if self.release_ms is None else self.release_ms


NetworkFault = Partition | Cut | Flapping | IsolateLeader | Links | Rule
