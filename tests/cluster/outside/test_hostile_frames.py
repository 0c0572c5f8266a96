"""Hostile frames: a reader has a value or a FrameError for each, in little time and memory; nothing else comes out."""

import resource
import sys
import time

import msgspec
import pytest

from checker.record.root import PROJECT_ROOT
from cluster.outside.answers import AnswerFields
from cluster.outside.blocks import canonical_event
from cluster.outside.conformance.stage import START
from cluster.outside.conversation import Conversation
from cluster.outside.frames import FRAME_BYTES_MAX, FRAMINGS, REASON_CHARACTERS_MAX, FrameError
from cluster.outside.life import ApplicationLife
from cluster.outside.process import ApplicationLostError, ApplicationProcess, Launch
from tests.applications.hostile import SOUND, FrameDraws, drawn_frame
from tests.support.keystones import first_of
from tests.validators.execution.layer_contract import ABSENT
from validators.execution.blocks import VERSION, Header

HEADER = Header(VERSION, 1, 0, 1, ABSENT, 0, 1, 1, ABSENT, ABSENT, ABSENT)
CALLS = {
    "hello": lambda talk: talk.hello(
        node=0, validators=4, parameters={}, directory=PROJECT_ROOT, resume=True, retain_blocks=8
    ),
    "genesis": lambda talk: talk.genesis(START),
    "check": lambda talk: talk.check(b"it"),
    "propose": lambda talk: talk.propose(ABSENT, HEADER, [b"it"]),
    "execute": lambda talk: talk.execute(ABSENT, HEADER, [b"it"]),
    "snapshot": lambda talk: talk.snapshot(ABSENT),
    "piece": lambda talk: talk.piece(ABSENT, 0),
    "restore": lambda talk: talk.restore(ABSENT, HEADER, [b"it"]),
    "entries": lambda talk: talk.entries(ABSENT, b"", 3),
    "describe": lambda talk: talk.describe(b"it", b"it"),
    "transactions": lambda talk: talk.transactions(3, ABSENT),
}
"""Every call whose answer has fields."""


def outcome_of(framing, frame, name):
    """Return what a call has of a frame: "waits", "fault" or "value"; all else that is raised comes out."""
    buffer = bytearray(frame)

    def lose(_name, reason):
        assert len(reason) <= REASON_CHARACTERS_MAX + 3
        return FrameError(reason)

    try:
        answer = framing.take(buffer)
        if answer is None:
            return "waits"
        # The record of a run keeps the whole answer, and the page shows it.
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(answer)) == answer
        msgspec.json.encode(answer)
        CALLS[name](Conversation(lambda _name, _fields: answer, framing, lose))
        for event in AnswerFields(answer, framing).events():
            canonical_event(event)
    except FrameError:
        return "fault"
    return "value"


def campaign(count, seed):
    """Read so many frames; return how many had each outcome."""
    draws, outcomes, names = FrameDraws(seed), {}, [*CALLS]
    for number in range(count):
        framing = FRAMINGS["json" if number % 2 else "msgpack"]
        frame = drawn_frame(draws, framing.name, number)
        found = outcome_of(framing, frame, names[number // 2 % len(names)])
        outcomes[found] = outcomes.get(found, 0) + 1
    return outcomes


def test_a_hostile_frame_is_a_value_or_a_fault():
    outcomes = campaign(3_000, 1)

    assert outcomes["fault"] > 1_000
    assert outcomes["value"] > 100
    assert outcomes["waits"] > 50


@pytest.mark.soak
def test_a_million_hostile_frames_do_no_harm():
    """Memory does not grow with their number; a frame has less than a millisecond."""
    campaign(20_000, 2)
    before_kib, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    outcomes = campaign(1_000_000, 3)
    spent_s, grown_kib = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib

    assert sum(outcomes.values()) == 1_000_000
    assert spent_s < 1_000
    assert grown_kib < 100_000


@pytest.mark.parametrize("name", FRAMINGS)
def test_the_sound_answer_is_read_by_every_call(name):
    """Without it the changed ones would be refused for what was not changed."""
    framing = FRAMINGS[name]
    frame = framing.encode({"n": 1, **SOUND, "ok": True})

    assert {call: outcome_of(framing, frame, call) for call in CALLS} == dict.fromkeys(CALLS, "value")


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b'{"n": "\xff"}', "is no JSON"),
        (b'{"n": 1, "it": ' + b"[" * 64 + b"]" * 64 + b"}", "more than 64 maps and lists came within each other"),
        (b'{"n": 1, "it": 99999999999999999999}', "a whole number beyond 64 bits came"),
    ],
)
def test_a_line_that_no_record_could_hold_is_a_fault(frame, reason):
    with pytest.raises(FrameError, match=reason):
        FRAMINGS["json"].take(bytearray(frame + b"\n"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x81\xa1n\xa1\xff", "is no msgpack"),
        (b"\x81\xa1n\xd4\x05a", "Ext came, which no frame holds"),
        (b"\x81\xa1n\xd6\xff" + bytes(4), "datetime came, which no frame holds"),
        (b"\x81\xa1n\xca\x7f\xc0\x00\x00", "a number that is not finite came"),
        (b"\x81\xa1n\x81\x90\x01", "a map with text keys was expected"),
        (b"\x81\xa1n\xdd\x00\xff\xff\xf0" + b"\x80" * (FRAME_BYTES_MAX - 16), "has millions of maps and lists"),
    ],
)
def test_a_frame_that_no_record_could_hold_is_a_fault(content, reason):
    with pytest.raises(FrameError, match=reason):
        FRAMINGS["msgpack"].take(bytearray(len(content).to_bytes(4, "little") + content))


def test_long_byte_strings_are_no_millions_of_maps():
    frame = FRAMINGS["msgpack"].encode({"bytes": b"\x80" * (4 * 1024 * 1024)})

    assert FRAMINGS["msgpack"].take(bytearray(frame))


@pytest.mark.parametrize("name", first_of(FRAMINGS))
def test_a_life_with_a_hostile_application_ends_in_a_loss(name, tmp_path):
    """A call has its answer, or the application is lost; in few of 12 lives every answer can be read."""
    ends = [end_of_life(name, seed, tmp_path) for seed in range(12)]

    assert sum(end.startswith("request ") for end in ends) > 8


def end_of_life(name, seed, place):
    """Return why a life is lost over the calls, "" where it is not."""
    command = (sys.executable, "-m", "tests.applications.hostile", str(seed), name)
    launch = Launch(command=command, folder=PROJECT_ROOT, framing=FRAMINGS[name], call_timeout_ms=2_000)
    life = ApplicationLife(ApplicationProcess(launch, place), place)
    try:
        for call in CALLS.values():
            call(life.talk)
    except ApplicationLostError as error:
        return "" if life.process.is_alive else str(error)
    finally:
        life.process.kill()
    return ""
