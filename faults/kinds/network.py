"""Faults of links and of single messages."""

from typing import Literal

import msgspec

from faults.kinds.fields import FaultBase, Link, Milliseconds, NotNegative, PartsPerMillion, Positive, Range, Validator
from network.conditions import RuleAction
from validators.messages import Channel

Manner = Literal["cut", "jammed", "slowed"]
"""What becomes of messages between groups: they are lost, wait until the end, or come later."""

InFlight = Literal["arrives", "lost"]
"""What becomes of messages that are on their way when a cut begins."""


class Partition(FaultBase, tag="partition", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut, jam or slow every link between different groups; a validator in no group is a group of its own.

    ``one_way``: only from earlier groups to later ones, in the order in which they are named.
    """

    groups: tuple[tuple[Validator, ...], ...]
    start_ms: Milliseconds
    stop_ms: Milliseconds
    manner: Manner = "cut"
    one_way: bool = False
    delay_ms: Milliseconds = 0
    release_gap_ms: Milliseconds = 0
    in_flight: InFlight = "arrives"


class Cut(FaultBase, tag="cut", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut single links in one direction each, from the first validator to the second."""

    links: tuple[Link, ...]
    start_ms: Milliseconds
    stop_ms: Milliseconds
    in_flight: InFlight = "arrives"


class Clog(FaultBase, tag="clog", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Let messages pile up on their way to or from validators, or between pairs; at the end all arrive in order."""

    validators: tuple[Validator, ...] = ()
    way: Literal["in", "out", "both"] = "both"
    between: tuple[Link, ...] = ()
    channels: tuple[Channel, ...] = ()
    start_ms: Milliseconds
    stop_ms: Milliseconds
    release_gap_ms: Milliseconds = 0


class SwizzleClog(FaultBase, tag="swizzle-clog", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Clog validators one by one at drawn times of the first half; unclog them in another order in the second.

    Without ``validators`` half of all are drawn. ``pairs`` links between two drawn validators are clogged as well.
    """

    validators: tuple[Validator, ...] = ()
    pairs: NotNegative = 0
    channels: tuple[Channel, ...] = ()
    start_ms: Milliseconds
    stop_ms: Milliseconds
    release_gap_ms: Milliseconds = 0


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
    """Make links worse: latency, loss, reordering, copies, damage, a rate, a queue. Without ``between`` all are hit.

    ``channels`` are the messages that are hit. In ``burst_ppm`` of a million stretches of ``burst_ms`` all are lost. A
    direction of a link carries ``bytes_per_second``; of more than ``queue_max`` messages under way one is thrown out.
    """

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
    burst_ppm: PartsPerMillion = 0
    burst_ms: Milliseconds = 0
    bytes_per_second: NotNegative = 0
    queue_max: NotNegative = 0
    channels: tuple[Channel, ...] = ()


class Rule(FaultBase, tag="rule", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Drop, hold, delay or replay single messages, by kind, view, height, sender and receiver; left out admits all.

    Held messages are released at ``release_ms``, or else when the rule stops; those to ``first_to`` at ``first_ms``
    already. ``release_gap_ms`` lies between two released messages of one receiver. What is replayed arrives as always,
    and once more at the release.
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
    def is_releasing(self) -> bool:
        """Whether messages are kept until a release."""
        return self.action in {"hold", "replay"}

    @property
    def released_ms(self) -> int:
        """When the last held message is let go."""
        return self.stop_ms if self.release_ms is None else self.release_ms


NetworkFault = Partition | Cut | Clog | SwizzleClog | Flapping | IsolateLeader | Links | Rule
