"""All messages of a run, each followed from its sending to its end.

At each send the audit works out the events that the trace has to show for the message. So a message is delivered,
dropped, held or under way exactly once, no message crosses a cut, and every draw follows from its key.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Final

from checker.checks.audit.links import COPY_SHIFT, AuditedLink, AuditedUplink, Expected, Link, LinkCondition
from checker.checks.audit.plan import MILLISECOND_US, TestBedPlan
from network.events import Delivered, Dropped, Event, Handlers, HeldBack, Lost, Released, Sent

_ORDINALS: Final = (1 << COPY_SHIFT) - 1

Fail = Callable[[str, str, int], None]
"""Notes a failure: the part of the test bed, empty where it is audited always, the sentence, and the time."""


class AuditedMessages:
    """The messages of one run, and which machines have power and are not paused."""

    def __init__(self, plan: TestBedPlan, fail: Fail) -> None:
        self._fail = fail
        self._payload_bytes_max = plan.payload_bytes_max
        nodes, network = range(plan.machines), plan.network
        rates = {"loss": network["loss_ppm"], "reorder": network["reorder_ppm"]}
        own = LinkCondition(name="", ppm=rates, reorder_us=network["reorder_extra_ms"] * MILLISECOND_US)
        weather = [own] if any(rates.values()) else []
        uplinks = {node: AuditedUplink(rates=plan.uplink_rates) if plan.uplink_rates else None for node in nodes}
        self._links = {
            ends: AuditedLink(
                ends=ends,
                seed=plan.seed,
                redraws=plan.redraws,
                latency=plan.latency(ends),
                conditions=list(weather),
                uplink=uplinks[ends[0]],
                is_fifo=network["order"] == "fifo",
            )
            for ends in ((source, other) for source in nodes for other in nodes if source != other)
        }
        self._imposed: dict[str, tuple[LinkCondition, list[AuditedLink]]] = {}
        self.is_on = [node not in plan.twins for node in nodes]
        self.is_paused = [False] * plan.machines
        self.last_us = 0
        self.arrived: list[tuple[int, int, int]] = [(-1, -1, -1)] * plan.machines
        """By machine the time, sender and ordinal of the last delivery."""
        self.counts = {"sent": 0, "delivered": 0, "dropped": 0}

    @property
    def handlers(self) -> Handlers:
        """Every event about a message."""
        return {
            Sent: self.send,
            Delivered: self.deliver,
            Dropped: self.drop,
            Lost: self.lose,
            HeldBack: self.hold,
            Released: self.let_go,
        }

    def reseed(self, seed: int) -> None:
        """Draw with another seed from now on."""
        for link in self._links.values():
            link.seed = seed

    # Conditions, as the plan has them

    def impose(self, condition: LinkCondition, links: Iterable[Link], *, resets: bool = False) -> None:
        """Put a condition on links; a reset loses the messages under way there."""
        found = [self._links[ends] for ends in dict.fromkeys(links)]
        self._imposed[condition.name] = condition, found
        for link in found:
            link.conditions.append(condition)
            if resets:
                link.reset_below, link.reset_by = link.sent, condition.name

    def lift(self, name: str, receivers: Collection[int] = ()) -> None:
        """Take a condition from its links, or from the links to some receivers."""
        condition, found = self._imposed[name]
        for link in found:
            if not receivers or link.ends[1] in receivers:
                link.conditions = [each for each in link.conditions if each is not condition]

    def release(self, name: str, now_us: int, gap_us: int, receivers: Collection[int] = ()) -> None:
        """Release the messages that a condition keeps: to each receiver in the order of sending, `gap_us` apart.

        A message that another condition would hold as well stays with that condition.
        """
        condition, _ = self._imposed[name]
        if receivers:
            self.lift(name, receivers)
        kept, condition.kept = condition.kept, []
        places: dict[int, int] = {}
        for each in sorted(kept, key=lambda each: (each.since_us, each.link.ends[0])):
            receiver = each.link.ends[1]
            others = (other for other in each.link.conditions if other.action == "hold" and other is not condition)
            holder = next((other for other in others if other.is_about(each.sent)), None)
            if receivers and receiver not in receivers:
                condition.kept.append(each)
            elif holder is not None:
                holder.kept.append(each)
            else:
                place = places[receiver] = places.get(receiver, -1) + 1
                then_us = each.link.in_order(now_us + 1 + place * max(gap_us, 1))
                release = Expected("release", now_us, "", name, each.sent.checksum, each.is_changed, then_us)
                each.link.expected[each.ordinal] = release

    # Messages, as the trace has them

    def send(self, event: Event, sent: Sent) -> None:
        """Work out the fate of a message."""
        source, now_us, ordinal = event.node, event.at_us, sent.ordinal
        link = self._links[source, sent.destination]
        if ordinal != link.sent:
            self._fail("", f"message {ordinal:,} of link {link.ends} was sent as number {link.sent:,}", now_us)
        if self.is_paused[source] or not self.is_on[source]:
            part, state = ("pace", "paused") if self.is_paused[source] else ("", "off")
            self._fail(part, f"validator {source} sent a {sent.label} at {now_us:,} us while it was {state}", now_us)
        link.sent = ordinal + 1
        self.counts["sent"] += 1
        self.last_us = now_us
        if sent.length > self._payload_bytes_max:
            link.expected[ordinal] = Expected("drop", now_us, "oversize")
        else:
            link.foresee(sent, now_us)

    def deliver(self, event: Event, delivered: Delivered) -> None:
        """Compare a delivery with the message's fate."""
        link, now_us, ordinal = self._links[delivered.source, event.node], event.at_us, delivered.ordinal
        self.counts["delivered"] += 1
        # Messages of one instant come by sender and ordinal, because all of them were sent before the instant.
        arrived = now_us, delivered.source, ordinal
        if arrived < self.arrived[event.node]:
            self._fail_of(link, ordinal, now_us, f"was delivered at {now_us:,} us behind one of a later place")
        self.arrived[event.node] = arrived
        due = self._meet(link, ordinal, Expected("arrival", now_us))
        if due is None:
            return
        if not self.is_on[event.node]:
            self._fail_of(link, ordinal, now_us, f"was delivered at {now_us:,} us to a validator that was off")
        elif ordinal & _ORDINALS < link.reset_below:
            self._fail_of(link, ordinal, now_us, f"was delivered although {link.reset_by} lost what was under way")
        elif due.checksum and (due.checksum != delivered.checksum) != due.is_changed:
            found, wanted = ("its own", "other") if due.is_changed else ("other", "its own")
            self._fail_of(link, ordinal, now_us, f"arrived with {found} bytes; expected: {wanted} bytes")

    def drop(self, event: Event, dropped: Dropped) -> None:
        """Compare a drop with the message's fate; without power the receiver loses what arrives."""
        link, now_us, ordinal = self._links[event.node, dropped.destination], event.at_us, dropped.ordinal
        self.counts["dropped"] += 1
        if dropped.reason != "down":
            self._meet(link, ordinal, Expected("drop", now_us, dropped.reason, dropped.condition))
        elif self._meet(link, ordinal, Expected("arrival", now_us)) is not None and self.is_on[dropped.destination]:
            self._fail_of(link, ordinal, now_us, f"found validator {dropped.destination} off, which was on")

    def lose(self, event: Event, lost: Lost) -> None:
        """Compare a loss under way with the resets of the link."""
        link, now_us, ordinal = self._links[lost.source, event.node], event.at_us, lost.ordinal
        self.counts["dropped"] += 1
        is_reset = ordinal & _ORDINALS < link.reset_below and lost.condition == link.reset_by
        if self._meet(link, ordinal, Expected("arrival", now_us)) is not None and not is_reset:
            self._fail_of(link, ordinal, now_us, f"was lost by {lost.condition}, which did not reset its link")

    def hold(self, event: Event, held: HeldBack) -> None:
        """Compare a message that is kept back with its fate."""
        link = self._links[event.node, held.destination]
        self._meet(link, held.ordinal, Expected("hold", event.at_us, by=held.condition))

    def let_go(self, event: Event, released: Released) -> None:
        """Compare a release with the releases that are due, and expect the arrival."""
        link, ordinal = self._links[event.node, released.destination], released.ordinal
        due = self._meet(link, ordinal, Expected("release", event.at_us, by=released.condition))
        if due is not None:
            link.expected[ordinal] = due._replace(event="arrival", at_us=due.then_us, by="")

    def _meet(self, link: AuditedLink, ordinal: int, found: Expected) -> Expected | None:
        """Return the event expected of a message; None, with a failure, if the trace has another event."""
        self.last_us = found.at_us
        expected = link.expected.pop(ordinal, None)
        # The trace shows the event, its time, the reason and the condition.
        if expected is not None and expected[:4] == found[:4]:
            return expected
        self._fail_of(link, ordinal, found.at_us, f"had its {found}; expected: {expected or 'no event'}")
        return None

    def _fail_of(self, link: AuditedLink, ordinal: int, at_us: int, what: str) -> None:
        copy = ", a copy," if ordinal > _ORDINALS else ""
        name = f"{ordinal & _ORDINALS:,} from {link.ends[0]} to {link.ends[1]}{copy}"
        self._fail("links", f"message {name} {what}", at_us)

    def finish(self, end_us: int) -> None:
        """Require that nothing is missing that was due before the run's last event."""
        expected = [(due, link, each) for link in self._links.values() for each, due in link.expected.items()]
        for due, link, ordinal in sorted(expected, key=lambda found: (found[0].at_us, found[1].ends, found[2])):
            if due.at_us < end_us:
                self._fail_of(link, ordinal, due.at_us, f"has no event in the trace; expected: {due}")
