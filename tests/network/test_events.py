"""Trace events: read by type from a run and from its log, and the page docs/extend/event.md."""

import importlib

import msgspec
import pytest

from checker.record.streams import iterate_events
from network.events import (
    Event,
    EventRouter,
    LoggedValues,
    MalformedEventError,
    OfLabels,
    Sent,
    TimerElapsed,
    TraceEvent,
    events_of_type,
    read_event,
)
from network.trace import Trace
from tests.support.events import Mark, logged
from tests.support.examples import run_example
from validators.events import CertificateHeld, Entered, EvidenceReported, Reported

ROOMS = ("network.events", "validators.events", "faults.events")
HELD = CertificateHeld("notarization", 3, b"digest", (0, 1, 2))


def read_back(body):
    """Return an event as its own log holds it."""
    trace = Trace([0])
    trace.chain(0).add(7, body)
    trace.fold()
    (event,) = iterate_events(trace.log)
    return event


def test_the_log_has_time_node_kind_and_values():
    trace = Trace([0])
    trace.chain(0).add(7, Entered(3, 1))
    trace.fold()

    assert msgspec.msgpack.decode(trace.log) == [7, 0, "enter", 3, 1]


@pytest.mark.parametrize("body", [Entered(3, 1), HELD, Sent(1, 0, "Vote", 9, b"sum"), Reported("TimedOut", 1, 2, "")])
def test_an_event_reads_the_same_from_the_log_and_from_the_run(body):
    assert read_event(Event(7, 0, body), type(body)) == read_event(read_back(body), type(body)) == body


def test_values_are_those_of_the_log():
    """A tuple is a list there."""
    assert Event(7, 0, HELD).values == read_back(HELD).values == ("notarization", 3, b"digest", [0, 1, 2])


def test_an_event_of_another_kind_reads_as_none():
    assert read_event(Event(7, 0, Entered(3, 1)), CertificateHeld) is None
    assert read_event(read_back(Entered(3, 1)), CertificateHeld) is None


def test_values_that_are_not_those_of_the_kind_are_refused():
    with pytest.raises(MalformedEventError, match=r"'enter' of node 0 at 7 us: .*int"):
        read_event(logged(7, 0, "enter", "three", 1), Entered)


def test_evidence_is_a_report_too():
    evidence = EvidenceReported("NullifyFinalize", 2, 6, "", b"first", b"second")

    assert read_event(Event(7, 0, evidence), Reported) is evidence
    assert read_event(read_back(evidence), Reported) == Reported("NullifyFinalize", 2, 6, "")
    assert read_event(read_back(evidence), EvidenceReported) == evidence


def test_events_of_one_type_come_with_their_values():
    events = [Event(1, 0, Entered(1, 0)), Event(2, 0, HELD), logged(3, 1, "enter", 2, 1)]

    assert [(event.at_us, body.view) for event, body in events_of_type(events, Entered)] == [(1, 1), (3, 2)]


def test_a_router_calls_the_handlers_of_a_type_in_order():
    seen = []
    first = {Entered: lambda event, entered: seen.append(("first", event.node, entered.view))}
    second = {Entered: lambda event, entered: seen.append(("second", event.node, entered.view)), Mark: seen.append}
    router = EventRouter(first, second)
    router.route(logged(1, 4, "enter", 3, 1))
    router.route(Event(2, 4, TimerElapsed("any")))

    assert seen == [("first", 4, 3), ("second", 4, 3)]


def test_a_router_calls_handlers_of_labels_for_these_alone():
    seen = []
    some = {Sent: OfLabels(lambda label: label.startswith("V"), lambda _event, sent: seen.append(("some", sent.label)))}
    every = {Sent: lambda _event, sent: seen.append(("every", sent.label))}
    router = EventRouter(some, every)
    for label in ("Vote", "Block", "Vote"):
        router.route(Event(1, 0, Sent(1, 0, label, 9, b"sum")))
    router.route(logged(2, 0, "send", 1, 0, "View", 9, b"sum"))

    assert [label for who, label in seen if who == "some"] == ["Vote", "Vote", "View"]
    assert [label for who, label in seen if who == "every"] == ["Vote", "Block", "Vote", "View"]


def test_a_handler_of_labels_passes_over_others_without_a_router():
    seen = []
    handler = OfLabels(("Vote",).__contains__, lambda _event, sent: seen.append(sent.label))
    for label in ("Vote", "Block"):
        handler(Event(1, 0, Sent(1, 0, label, 9, b"sum")), Sent(1, 0, label, 9, b"sum"))

    assert seen == ["Vote"]


def test_every_kind_has_one_type():
    """Evidence has the kind of the report that it is."""
    found = [each for room in ROOMS for each in vars(importlib.import_module(room)).values() if isinstance(each, type)]
    types = {each for each in found if issubclass(each, TraceEvent) and each not in {TraceEvent, EvidenceReported}}
    kinds = [each.kind for each in types]

    assert len(kinds) > 30
    assert sorted(kinds) == sorted(set(kinds))


def test_the_page_on_events_shows_one_that_works():
    names = run_example("event.md")
    yawns = names["Yawns"]()
    router = EventRouter(yawns.handlers)
    for waited_us in (5, 9, 7):
        router.route(Event(1, 2, names["Yawned"](waited_us)))
    router.route(Event(1, 3, LoggedValues("yawned", (4,))))

    assert yawns.longest_us == {2: 9, 3: 4}
