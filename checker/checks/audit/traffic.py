"""All messages of a run, each followed from its sending to its end.

Each send gets its fate here first; what the trace then says has to be that and nothing else. So a message is delivered,
dropped, held or on its way exactly once, nothing is delivered that was sent over a cut, and every draw is the one that
belongs to its key.
"""

from collections.abc import Callable, Collection, Iterable
from operator import itemgetter
from typing import Final, NamedTuple

from checker.checks.audit.conditions import AuditedLink, LinkCondition
from checker.checks.audit.draws import AuditedChance
from checker.checks.audit.left_out import LeftOut
from checker.checks.audit.plan import MILLISECOND_US, Link, TestBedPlan
from network.events import Delivered, Dropped, Event, Handlers, HeldBack, Lost, Released, Sent

_COPY_SHIFT: Final = 48
"""A copy's ordinal is the message's, with the number of the copy from this bit on."""

_REPLAY_SHIFT: Final = 56
"""And that of a recorded message, with the number of the record from this bit on."""

_ORDINALS: Final = (1 << _COPY_SHIFT) - 1

Fail = Callable[..., None]


class _Kept(NamedTuple):
    """A message that is held, or recorded for a replay, and since when."""

    since_us: int
    link: AuditedLink
    ordinal: int
    sent: Sent
    is_changed: bool


class MessageLedger:
    """The messages of one run.

    Args:
        plan: The plan.
        chance: The run's chance.
        left_out: Knows which faults have an effect on messages that cannot be foreseen.
        fail: Notes a failure.
    """

    def __init__(self, plan: TestBedPlan, chance: AuditedChance, left_out: LeftOut, fail: Fail) -> None:
        self._fail = fail
        self._left_out = left_out
        self._is_loose = False
        self._payload_bytes_max = plan.payload_bytes_max
        self._nodes = nodes = plan.nodes
        network = plan.network
        self._links = {
            source * nodes + destination: AuditedLink(
                (source, destination),
                chance,
                plan.latency((source, destination)),
                loss_ppm=network["loss_ppm"],
                reorder_ppm=network["reorder_ppm"],
                reorder_us=network["reorder_extra_ms"] * MILLISECOND_US,
            )
            for source in range(nodes)
            for destination in range(nodes)
            if source != destination
        }
        self._active: dict[str, tuple[LinkCondition, list[AuditedLink]]] = {}
        self._kept: dict[str, list[_Kept]] = {}
        self.is_on = [True] * nodes
        self.is_paused = [False] * nodes
        self.last_us = 0
        self.arrived: list[tuple[int, int, int]] = [(-1, -1, -1)] * nodes
        """By machine the time, sender and ordinal of what was delivered last."""
        self.counts = {"sent": 0, "delivered": 0, "dropped": 0, "held": 0, "copied": 0}

    @property
    def handlers(self) -> Handlers:
        """Every event about a message."""
        return {
            Sent: self.send,
            Delivered: self.deliver,
            Dropped: self.drop,
            Lost: self.lose,
            HeldBack: self.hold,
            Released: self.release_one,
        }

    # Conditions, as the plan has them

    def impose(self, condition: LinkCondition, links: Iterable[Link]) -> None:
        """Put a condition on links."""
        found = [self._links[source * self._nodes + destination] for source, destination in dict.fromkeys(links)]
        self._active[condition.name] = condition, found
        if condition.action:
            self._kept.setdefault(condition.name, [])
        for link in found:
            link.conditions.append(condition)
            link.note_conditions()

    def lift(self, name: str, receivers: Collection[int] | None = None) -> None:
        """Take a condition from its links, or from those to some receivers."""
        if name not in self._active:
            return
        condition, found = self._active[name]
        for link in found:
            if (receivers is None or link.ends[1] in receivers) and condition in link.conditions:
                link.conditions = [each for each in link.conditions if each is not condition]
                link.note_conditions()
        if receivers is None:
            del self._active[name]

    def reset(self, name: str) -> None:
        """Let nothing arrive that was sent before now on the links of a condition."""
        for link in self._active[name][1]:
            link.reset_below, link.reset_by = link.sent, name

    def release(self, name: str, now_us: int, gap_us: int, receivers: Collection[int] = ()) -> None:
        """Let go what a condition keeps: to each receiver in the order of sending, `gap_us` apart.

        What another condition holds as well stays with that one.
        """
        if receivers:
            self.lift(name, receivers)
        stays: list[_Kept] = []
        places: dict[int, int] = {}
        for kept in sorted(self._kept[name], key=lambda kept: (kept.since_us, kept.link.ends[0])):
            link, receiver = kept.link, kept.link.ends[1]
            if receivers and receiver not in receivers:
                stays.append(kept)
                continue
            others = (each for each in link.conditions if each.name != name and each.action == "hold")
            holder = next((each for each in others if each.admits(kept.sent)), None)
            if holder is not None:
                self._kept[holder.name].append(kept)
                continue
            place = places[receiver] = places.get(receiver, -1) + 1
            due_us = now_us + 1 + place * max(gap_us, 1)
            self.counts["held"] -= kept.ordinal == kept.sent.ordinal
            self.counts["copied"] += kept.ordinal != kept.sent.ordinal
            link.noted[kept.ordinal] = "release", "", name
            link.due[kept.ordinal] = due_us, kept.sent.checksum, kept.is_changed
        self._kept[name] = stays

    def leave_out(self) -> None:
        """Foresee no more than losses and drops of what is sent from now on, if links are left out and were not yet.

        What is held now may be held by others later: of that nothing is foreseen. Nor is it of pauses, if pace is left
        out.
        """
        if "pace" in self._left_out.since:
            self.is_paused = [False] * self._nodes
        if "links" in self._left_out.since and not self._is_loose:
            self._is_loose = True
            for link in self._links.values():
                link.loose_from = link.sent
            for name, kept in self._kept.items():
                for each in kept:
                    each.link.freed[each.ordinal] = None
                self._kept[name] = []

    def _is_free(self, link: AuditedLink, ordinal: int) -> bool:
        """Return whether nothing is foreseen of a message but that it is not dropped."""
        message = ordinal & _ORDINALS
        return self._is_loose and message not in link.noted and (message >= link.loose_from or ordinal in link.freed)

    # Messages, as the trace has them

    def send(self, event: Event, sent: Sent) -> None:
        """Work out the fate of a message."""
        source, now_us, ordinal = event.node, event.at_us, sent.ordinal
        link = self._links[source * self._nodes + sent.destination]
        if ordinal != link.sent:
            self._fail(f"message {ordinal:,} of link {link.ends} was sent as number {link.sent:,}", at_us=now_us)
        if self.is_paused[source] or not self.is_on[source]:
            state = "paused" if self.is_paused[source] else "off"
            self._fail(f"validator {source} sent a {sent.label} at {now_us:,} us while it was {state}", at_us=now_us)
        link.sent = ordinal + 1
        self.counts["sent"] += 1
        self.last_us = now_us
        if sent.length > self._payload_bytes_max:
            link.noted[ordinal] = "drop", "oversize", ""
        elif not link.is_plain:
            self._send_under_conditions(link, sent, now_us)
        elif not self._is_loose:
            link.due[ordinal] = now_us + link.own_us(ordinal), sent.checksum, False

    def _send_under_conditions(self, link: AuditedLink, sent: Sent, now_us: int) -> None:
        fate, ordinal = link.fate(sent, now_us), sent.ordinal
        if fate.dropped:
            link.noted[ordinal] = "drop", fate.dropped, fate.by
            return
        if self._is_loose:
            return
        if fate.is_held:
            link.noted[ordinal] = "hold", "", fate.by
            self._kept[fate.by].append(_Kept(now_us, link, ordinal, sent, is_changed=False))
            self.counts["held"] += 1
            return
        # Two changes of one byte may undo each other: nothing is said of such a checksum.
        is_changed = fate.flips > 0 and sent.length > 0
        checksum = sent.checksum if fate.flips < 2 else b""
        for victim, name in fate.evictions:
            if victim not in link.evicted:
                link.evicted[victim] = None
                link.due.pop(victim, None)
                link.noted[victim] = "drop", "queue", name
        for place, name in enumerate(fate.replays, start=1):
            recorded = _Kept(now_us, link, ordinal + (place << _REPLAY_SHIFT), sent, is_changed)
            self._kept[name].append(recorded)
        for copy, at_us in enumerate(fate.arrivals_us):
            link.due[ordinal + (copy << _COPY_SHIFT)] = at_us, checksum, is_changed
        self.counts["copied"] += len(fate.arrivals_us) - 1

    def deliver(self, event: Event, delivered: Delivered) -> None:
        """Compare a delivery with the message's fate."""
        link = self._links[delivered.source * self._nodes + event.node]
        now_us, ordinal = event.at_us, delivered.ordinal
        due = link.due.pop(ordinal, None)
        self.counts["delivered"] += 1
        self.last_us = now_us
        # Of one instant by sender and ordinal, whatever was sent first: all of it was sent before the instant.
        arrived = now_us, delivered.source, ordinal
        if arrived < self.arrived[event.node]:
            self._fail(f"message {_named(link, ordinal)} was delivered at {now_us:,} us behind one of a later place")
        self.arrived[event.node] = arrived
        if due[0] != now_us if due is not None else not self._is_free(link, ordinal):
            self._report_arrival(link, ordinal, now_us, due)
        elif not self.is_on[event.node]:
            self._fail(f"message {_named(link, ordinal)} was delivered at {now_us:,} us to a validator that was off")
        elif ordinal & _ORDINALS < link.reset_below:
            self._fail(
                f"message {_named(link, ordinal)} was delivered although {link.reset_by} lost what was under way"
            )
        elif due is not None and due[1] and (due[1] != delivered.checksum) != due[2]:
            change = "was to be changed and was not" if due[2] else "was changed"
            self._fail(f"message {_named(link, ordinal)} {change} on its way", at_us=now_us)

    def drop(self, event: Event, dropped: Dropped) -> None:
        """Compare a loss with the message's fate: foreseen, or for want of a receiver when it would have arrived."""
        link = self._links[event.node * self._nodes + dropped.destination]
        now_us, ordinal = event.at_us, dropped.ordinal
        self.counts["dropped"] += 1
        self.last_us = now_us
        # Whom a full queue throws out follows from when messages arrive.
        if self._left_out.is_condition(dropped.condition) or (self._is_loose and dropped.reason == "queue"):
            link.noted.pop(ordinal, None)
            link.due.pop(ordinal, None)
            return
        if dropped.reason != "down":
            self._compare_note(link, ordinal, ("drop", dropped.reason, dropped.condition), now_us)
            return
        due = link.due.pop(ordinal, None)
        if due[0] != now_us if due is not None else not self._is_free(link, ordinal):
            self._report_arrival(link, ordinal, now_us, due)
        elif self.is_on[dropped.destination]:
            self._fail(f"message {_named(link, ordinal)} found validator {dropped.destination} off, which was on")

    def lose(self, event: Event, lost: Lost) -> None:
        """Compare a loss on the way with the resets of the link."""
        link = self._links[lost.source * self._nodes + event.node]
        due = link.due.pop(lost.ordinal, None)
        self.counts["dropped"] += 1
        self.last_us = event.at_us
        if self._left_out.is_condition(lost.condition):
            return
        if due[0] != event.at_us if due is not None else not self._is_free(link, lost.ordinal):
            self._report_arrival(link, lost.ordinal, event.at_us, due)
        elif lost.ordinal & _ORDINALS >= link.reset_below or lost.condition != link.reset_by:
            self._fail(
                f"message {_named(link, lost.ordinal)} was lost by {lost.condition}, which did not reset its link"
            )

    def hold(self, event: Event, held: HeldBack) -> None:
        """Compare a message that is kept back with its fate."""
        link = self._links[event.node * self._nodes + held.destination]
        if not self._is_free(link, held.ordinal):
            self._compare_note(link, held.ordinal, ("hold", "", held.condition), event.at_us)

    def release_one(self, event: Event, released: Released) -> None:
        """Compare a release with those that are due."""
        link = self._links[event.node * self._nodes + released.destination]
        if not self._is_free(link, released.ordinal):
            self._compare_note(link, released.ordinal, ("release", "", released.condition), event.at_us)

    def _compare_note(self, link: AuditedLink, ordinal: int, found: tuple[str, str, str], now_us: int) -> None:
        expected = link.noted.pop(ordinal, None)
        if expected != found:
            wanted = "to go on" if expected is None else _told(expected)
            self._fail(
                f"message {_named(link, ordinal)}: {_told(found)} at {now_us:,} us; it was {wanted}", at_us=now_us
            )
            if expected is None:
                link.due.pop(ordinal, None)

    def _report_arrival(
        self, link: AuditedLink, ordinal: int, now_us: int, due: tuple[int, bytes, bool] | None
    ) -> None:
        if due is not None:
            what = f"it was due at {due[0]:,} us"
        elif ordinal in link.noted:
            what = f"it was {_told(link.noted[ordinal])}"
        else:
            what = "it was not on its way"
        self._fail(f"message {_named(link, ordinal)} arrived at {now_us:,} us; {what}", at_us=now_us)

    def finish(self, end_us: int) -> int:
        """Require that nothing is missing that was due before the run's last event; return how much is on its way."""
        links = list(self._links.values())
        for link in links:
            for ordinal, note in link.noted.items():
                self._fail(f"message {_named(link, ordinal)} was to be {_told(note)}, and the trace does not have it")
        missing = [(due[0], link.ends, ordinal, link) for link in links for ordinal, due in link.due.items()]
        for due_us, _, ordinal, link in sorted(missing, key=itemgetter(0, 1, 2)):
            if due_us < end_us:
                late = f"was due at {due_us:,} us and was neither delivered nor dropped"
                self._fail(f"message {_named(link, ordinal)} {late}", at_us=due_us)
        return len(missing)


def _named(link: AuditedLink, ordinal: int) -> str:
    copy = ", a copy," if ordinal > _ORDINALS else ""
    return f"{ordinal & _ORDINALS:,} from {link.ends[0]} to {link.ends[1]}{copy}"


def _told(note: tuple[str, str, str]) -> str:
    event, reason, condition = note
    words = {"drop": f"dropped ({reason})", "hold": "held", "release": "released"}[event]
    return f"{words} by {condition}" if condition else words
