"""The cause of two different answers, and the words for bytes and events, on calls that are made up."""

import pytest

from cluster.outside.explain.answers import ReadCalls, ToldOutcome, first_difference, groups_of
from cluster.outside.explain.report import orders_of
from cluster.outside.explain.shown import BYTES_MAX, shown_bytes, shown_event, shown_pair, shown_value
from cluster.outside.explain.sides import Side, find_cause, name_group
from cluster.outside.frames import FRAMINGS
from cluster.outside.hosting.calls import CallLog, CallStep
from cluster.outside.process import Launch
from cluster.scenario.sections.application import MAIN

JSON = FRAMINGS["json"]
ID, PARENT = "11" * 32, "22" * 32
HEADER = {"height": 4, "view": 6, "proposer": 1, "slot": 9}
FIRED, REMOVED, DEFERRED = (
    {"event": "timer-fired", "timer": "1"},
    {"event": "timer-removed", "timer": "2", "why": "expired"},
    {"event": "timer-deferred", "timer": "3"},
)


def calls_of(*answers, payloads=((), ()), framing=JSON):
    """Return calls in which replicas 0, 1, ... execute one block with these answers."""
    log = CallLog()
    for node, answer in enumerate(answers):
        asked = {"id": ID, "parent": PARENT, "header": HEADER, "payload": list(payloads[node % 2])}
        request = log.place_of(framing.encode(in_bytes(asked) if framing != JSON else asked))
        log.steps_of(node).append(CallStep("begin", 0, ("directory",)))
        place = log.place_of(framing.encode(in_bytes(answer) if framing != JSON else answer))
        log.steps_of(node).append(CallStep("call", 0, ("execute",), request, place))
    return ReadCalls(log.contents, {MAIN: framing}, log.steps).read()


def in_bytes(fields):
    return {name: bytes.fromhex(value) if name in {"id", "parent", "root"} else value for name, value in fields.items()}


def answer(root="aa", *events):
    return {"root": root * 32, "events": list(events)}


def cause_of(calls):
    id_, groups = first_difference(calls)
    launch = Launch(command=("none",), folder=None)
    sides = [
        Side(*name_group(group, groups, "the cold replay"), group.first, group.outcome, MAIN, {MAIN: launch})
        for group in groups
    ]
    return find_cause(calls, id_, *sides)


@pytest.mark.parametrize(
    ("right", "wrong", "cause"),
    [
        (answer("aa", FIRED, REMOVED), answer("bb", REMOVED, FIRED), "order"),
        (answer("aa", FIRED, REMOVED), answer("bb", FIRED), "clean-up"),
        (answer("aa", FIRED, DEFERRED), answer("bb", FIRED), "execution"),
        (answer("aa", FIRED), answer("bb", FIRED), "execution"),
        (answer("aa"), {"invalid": "too old"}, "execution"),
    ],
)
def test_events_show_the_cause(right, wrong, cause):
    for framing in FRAMINGS.values():
        assert cause_of(calls_of(right, right, wrong, framing=framing)).cause == cause


def test_another_payload_is_another_input():
    calls = calls_of(answer("aa"), answer("bb"), payloads=(("00",), ("01",)))
    assert cause_of(calls).cause == "input"


def test_equal_answers_are_no_difference():
    assert first_difference(calls_of(answer(), answer(), answer())) is None


def test_the_larger_group_comes_first_and_second_answers_are_named():
    calls = calls_of(answer("bb"), answer("aa"), answer("aa"))
    calls.answers[bytes.fromhex(ID)].append(calls.answers[bytes.fromhex(ID)][1]._replace(node=0, at=7))
    groups = groups_of(calls.answers[bytes.fromhex(ID)])

    names = [name_group(group, groups, "the cold replay") for group in groups]
    assert names == [
        ("validators 1, 2 and the second answer of validator 0", [1, 2]),
        ("the first answer of validator 0", []),
    ]


def test_a_root_alone_equals_an_answer_with_this_root():
    told = ToldOutcome(b"a", (FIRED,), (b"receipt",))
    assert told.equals(ToldOutcome(b"a"))
    assert not told.equals(ToldOutcome(b"b"))
    assert not told.equals(told._replace(receipts=(b"other",)))


def test_bytes_are_text_if_printable():
    assert shown_bytes(b"balance bob") == "balance bob"
    assert shown_bytes(b"\x00\xff") == "00ff"
    assert shown_bytes(b"a\x1b[31m") == "611b5b33316d"
    assert shown_bytes(b"") == "nothing"
    assert shown_bytes(b"x" * 500) == "x" * BYTES_MAX + "... (500 bytes)"


def test_long_values_begin_before_the_first_difference():
    mine, other = shown_pair(b"x" * 300 + b"one", b"x" * 300 + b"two")
    assert mine == "... from byte 260: " + "x" * 40 + "one"
    assert other.endswith("xtwo")


def test_an_object_is_shown_by_its_fields():
    assert shown_value(b'{"number": 5, "name": "bob"}') == "number=5 name=bob"
    assert shown_value(b'{"a": 1, "b": {"c": 1}}') == '{"a": 1, "b": {"c": 1}}'
    assert shown_value(b'{"a": "b=1"}') == '{"a": "b=1"}'


def test_events_are_compared_from_the_first_difference_on():
    right, wrong = ToldOutcome(events=(FIRED, REMOVED)), ToldOutcome(events=(FIRED,))
    (same, differs) = orders_of(right, wrong)
    assert (same.place, differs.values) == (0, [shown_event(REMOVED), "nothing"])
    assert orders_of(right, right) == []
