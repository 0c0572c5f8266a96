"""Rules about single messages: dropped, held, delayed or replayed."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, ClassVar

import msgspec

from faults.coverage.required import MESSAGES, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.links import all_links, impose
from faults.injection.steps import Edge
from faults.kinds.base import Family, Part, Plan, Windowed
from faults.kinds.drawing import Drawn, Plain, draw_window
from faults.kinds.fields import Link, Milliseconds, Range, Requirement, Validator, distinct, known_messages, means
from faults.kinds.simplex_messages import BLOCK_CERTIFICATES, FINALITY, LAST_VOTES, LEAVING_VOTES, VOTES
from faults.kinds.wording import join, ranges, seconds, who
from network.conditions import MessageRule, RuleAction
from network.draw import Draw
from network.topology import MILLION
from network.types import MILLISECOND_US
from validators.messages import KINDS_WITHOUT_VIEW


class Rule(Windowed, tag="rule", kw_only=True, frozen=True):
    """Drop, hold, delay or replay single messages, by kind, view, height, sender and receiver; left-out keys match all.

    A held message is released at ``release_ms``, or when the rule stops. Messages to ``first_to`` leave at
    ``first_ms``. Two released messages of one receiver are ``release_gap_ms`` apart. A replayed message arrives as
    always, and once more at the release.
    """

    counts: ClassVar[str] = "messages dropped, held, delayed or recorded"
    cells: ClassVar[RequiredPoints] = MESSAGES
    family: ClassVar[Family] = "network"
    reaches: ClassVar[tuple[Part, ...]] = ("links",)

    action: Annotated[
        RuleAction,
        means("The fate of a message that matches: `replay` lets it arrive as always, and once more at the release."),
    ]
    start_ms: Annotated[Milliseconds, means("From when on messages are matched.")] = 0
    stop_ms: Annotated[Milliseconds, means("Until when messages are matched.")]
    kinds: Annotated[tuple[str, ...], means("Kinds of messages, such as `Notarize` or `BlockRelay`.")] = ()
    views: Annotated[
        tuple[Range, ...],
        means(
            "Ranges `[first, last]` of views. A response has the view of its certificate. An answer with "
            "blocks has the view of its newest block, a snapshot the view of its block."
        ),
    ] = ()
    heights: Annotated[
        tuple[Range, ...],
        means(
            "Ranges of heights; a vote has a height only where its sender has the block. Requests for "
            "blocks or snapshots, and transactions, have neither view nor height."
        ),
    ] = ()
    senders: Annotated[tuple[Validator, ...], means("The senders.")] = msgspec.field(default=(), name="from")
    receivers: Annotated[tuple[Validator, ...], means("The receivers.")] = msgspec.field(default=(), name="to")
    delay_ms: Annotated[Milliseconds, means("With `delay`, the time on top of the link's latency.")] = 0
    release_ms: Annotated[
        Milliseconds | None,
        means("With `hold` and `replay`, when messages are released, at `stop_ms` or later.", left_out="at `stop_ms`"),
    ] = None
    release_gap_ms: Annotated[
        Milliseconds,
        means(
            "With `hold` and `replay`, the time between two released messages of one receiver, 1 µs if "
            "left out; each receiver gets them in the order of sending."
        ),
    ] = 0
    first_to: Annotated[
        tuple[Validator, ...],
        means(
            "With `hold` and `replay`, receivers whose messages are released earlier; the rule then holds no "
            "more messages for them."
        ),
    ] = ()
    first_ms: Annotated[
        Milliseconds | None, means("When messages to `first_to` are released.", left_out="with `release_ms`")
    ] = None

    @property
    def is_releasing(self) -> bool:
        """Whether messages are kept until a release."""
        return self.action in {"hold", "replay"}

    @property
    def released_ms(self) -> int:
        """The time at which the last held message is released."""
        return self.stop_ms if self.release_ms is None else self.release_ms

    def span(self) -> tuple[int, int]:
        return self.start_ms, self.released_ms if self.is_releasing else self.stop_ms

    def links(self, nodes: int) -> tuple[Link, ...]:
        """Return the directed links that the rule watches."""
        return tuple(
            (source, destination)
            for source, destination in all_links(nodes)
            if (not self.senders or source in self.senders) and (not self.receivers or destination in self.receivers)
        )

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield from self._check_matching(plan)
        yield "delay_ms", (self.action == "delay") == bool(self.delay_ms), "belongs to the action delay, at least 1"
        is_release = self.release_ms is not None or self.release_gap_ms or self.first_to or self.first_ms is not None
        yield "release_ms", self.is_releasing or not is_release, "only the actions hold and replay release anything"
        yield "release_ms", self.released_ms >= self.stop_ms, f"must not be before stop_ms, which is {self.stop_ms}"
        yield "first_ms", (self.first_ms is not None) == bool(self.first_to), "first_ms and first_to go together"
        is_first = self.first_ms is None or self.start_ms < self.first_ms < self.released_ms
        yield "first_ms", is_first, f"must lie between start_ms {self.start_ms} and the release at {self.released_ms}"

    def _check_matching(self, plan: Plan) -> Iterator[Requirement]:
        yield from known_messages(self.kinds, plan.engine, may_be_idle=self.may_be_idle)
        is_about_none = bool(self.kinds) and all(kind in KINDS_WITHOUT_VIEW for kind in self.kinds)
        without = f"messages called {', '.join(self.kinds)} have no view and no height"
        for key, found in (("views", self.views), ("heights", self.heights)):
            is_ascending = all(first <= last for first, last in found)
            yield key, is_ascending, "a range is [first, last], and the first must not be above the last"
            yield key, not (found and is_about_none), without
        yield distinct("from", self.senders)
        yield distinct("to", self.receivers)
        yield distinct("first_to", self.first_to)
        strangers = [node for node in self.first_to if self.receivers and node not in self.receivers]
        yield "first_to", not strangers, f"validator {strangers[:1]} is not among those in `to`"
        yield "to", bool(self.links(plan.replicas)), "no link leads from a validator in `from` to another one in `to`"

    def describe(self) -> str:
        sent = who(self.senders) if self.senders else "anybody"
        received = who(self.receivers) if self.receivers else "anybody"
        matched = (("view", self.views), ("height", self.heights))
        about = [f"{what} {ranges(found)}" for what, found in matched if found]
        which = f"{join(self.kinds) if self.kinds else 'all'} messages from {sent} to {received}"
        return f"{self.when()} {which}{f' about {join(about)}' if about else ''} {self._fate()}."

    def _fate(self) -> str:
        match self.action:
            case "drop":
                return "are dropped"
            case "delay":
                return f"arrive {seconds(self.delay_ms)} later"
            case "replay":
                return f"are recorded on their way, and arrive once more in their order at {seconds(self.released_ms)}"
            case "hold":
                first = f", to {who(self.first_to)} already at {seconds(self.first_ms or 0)}" if self.first_to else ""
                return f"are held, and released in their order at {seconds(self.released_ms)}{first}"

    def lost_views_ppm(self, validators: int) -> int:
        """Return one third, because the effect of a message on its view is unknown."""
        return MILLION // 3

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        rule = MessageRule(self.action, self.kinds, self.views, self.heights, self.delay_ms * MILLISECOND_US)
        until_ms = self.span()[1]
        gap_us = self.release_gap_ms * MILLISECOND_US
        release = partial(context.bus.release, context.name, gap_us=gap_us)
        yield Edge(self.start_ms, until_ms, "start", partial(impose, context, self.links(context.nodes), rule))
        if self.first_ms is not None:
            yield Edge(self.first_ms, until_ms, "release", partial(release, self.first_to))
        yield Edge(self.stop_ms, until_ms, "stop", partial(context.bus.lift, context.name))
        if self.is_releasing:
            yield Edge(self.released_ms, until_ms, "release", release)

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        late_votes, late_finality = Drawn(6, "late-votes", _draw_late_votes), Drawn(7, "late-finality", _draw_late_end)
        return Drawn(5, "rule", _draw), late_votes, late_finality


def _draw(draw: Draw, name: str, validators: int) -> Plain:
    kinds = draw.one_of(
        f"{name}.kinds",
        tuple(
            [*kinds]
            for kinds in (VOTES, LAST_VOTES, BLOCK_CERTIFICATES, ["BlockRelay"], ["BlockResponse"], LEAVING_VOTES)
        ),
    )
    fault: Plain = {"action": draw.one_of(f"{name}.action", ("drop", "hold", "delay")), "kinds": kinds}
    fault |= draw_window(draw, name)
    if draw.chance(f"{name}.is_narrow", 60):
        fault["to"] = sorted(draw.some_of(f"{name}.to", range(validators), draw.between(f"{name}.count", 1, 2)))
    if draw.chance(f"{name}.is_replay", 15):
        release_ms = fault["stop_ms"] + draw.between(f"{name}.release_ms", 0, 3_000)
        return {**fault, "action": "replay", "release_ms": release_ms}
    if fault["action"] == "delay":
        fault["delay_ms"] = draw.one_of(f"{name}.delay_ms", (500, 2_500))
    return fault


def _draw_late_votes(draw: Draw, name: str, _validators: int) -> Plain:
    """Return a delay of votes for blocks until views time out, so that nullified blocks are notarized later."""
    delay_ms = draw.between(f"{name}.delay_ms", 1_300, 2_100)
    return {"action": "delay", "kinds": [*VOTES], "delay_ms": delay_ms, **draw_window(draw, name)}


def _draw_late_end(draw: Draw, name: str, _validators: int) -> Plain:
    """Return a hold of votes for finality: certified blocks pile up, and become final, or are dropped, together."""
    return {"action": "hold", "kinds": [*FINALITY], **draw_window(draw, name)}
