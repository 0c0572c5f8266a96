"""Answers are read strictly: what is wrong with one is said with its field, what came and what was expected."""

from pathlib import Path

import pytest

from cluster.outside.answers import Execution
from cluster.outside.blocks import ChainStart, next_header
from cluster.outside.conversation import Conversation, InvalidPayload, KeptBlock
from cluster.outside.frames import FRAMINGS
from tests.support.chain_harness import make_engine

ROOT = "ab" * 32
PARENT = make_engine().finalized
DRAFT = next_header(PARENT, view=1, proposer=0, timestamp_ms=PARENT.timestamp_ms + 1_000, slot_ms=1_000)
SOUND = {"root": ROOT, "events": []}
GREETING = {"name": "it", "version": "1", "features": ["forks"]}


class LostError(Exception):
    """The error of a wrong answer."""


def talk(answer):
    """Return a conversation whose next answer this is; it notes what was asked."""
    asked = []

    def call(name, fields):
        asked.append((name, fields))
        return {"n": 1} | answer

    def lose(name, reason):
        return LostError(f"{name}: {reason}")

    conversation = Conversation(call, FRAMINGS["json"], lose)
    conversation.asked = asked
    return conversation


def hello(answer, resume=False):
    place = Path("it")
    return talk(answer).hello(node=0, validators=4, parameters={}, directory=place, resume=resume, retain_blocks=8)


def execute(answer):
    return talk(answer).execute(bytes(32), DRAFT, [b"one"])


def propose(answer, offered=2):
    return talk(answer).propose(bytes(32), DRAFT, [b"it"] * offered)


def test_a_sound_answer_is_read():
    event = {"event": "timer-set", "timer": "a", "due": 3}
    found = execute({"root": ROOT, "events": [event], "receipts": ["00"], "included": [ROOT], "cost_us": 7})

    root = bytes.fromhex(ROOT)
    assert found == Execution(root=root, events=(event,), receipts=(b"\0",), included=(root,), cost_us=7)
    assert execute({"invalid": "no"}) == InvalidPayload("no")
    assert propose(SOUND | {"payload": ["01"], "refused": [1]}).refused == (1,)


def test_a_greeting_is_read():
    rates = {"order": "fifo", "dead_per_block": 5, "live_per_block": 6}
    found = hello(GREETING | rates | {"height": 3, "id": ROOT, "root": ROOT}, resume=True)

    assert (found.order, found.dead_per_block, found.live_per_block) == ("fifo", 5, 6)
    assert found.kept == KeptBlock(height=3, id=bytes.fromhex(ROOT), root=bytes.fromhex(ROOT))
    assert hello(GREETING | {"height": None}, resume=True).kept is None
    assert hello(GREETING).kept is None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({}, "the answer has no `features`"),
        (GREETING | {"name": 7}, "`name` is a whole number, text was expected"),
        (GREETING | {"features": ["fork"]}, "the feature 'fork' is unknown; there are check, forks"),
        (GREETING | {"features": "forks"}, "`features` is text, a list was expected"),
        (GREETING | {"order": "lifo"}, "`order` is 'lifo', 'fifo' was expected"),
        (GREETING | {"dead_per_block": -1}, "`dead_per_block` is -1, a whole number from 0"),
        (GREETING, "the answer has no `height`, which `resume` asks for"),
        (GREETING | {"height": 3}, "the answer has no `id`"),
    ],
)
def test_a_wrong_greeting_is_named(answer, reason):
    with pytest.raises(LostError, match=reason):
        hello(answer, resume="`height`" in reason or "height" in answer)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"root": ROOT[2:]}, "`root` has 31 bytes, 32 were expected"),
        ({"root": ROOT.upper()}, "is no lower-case hexadecimal"),
        ({"root": None}, "nothing came, lower-case hexadecimal text was expected"),
        ({"events": None}, "`events` is nothing, a list was expected"),
        ({"events": [7]}, "event 0 is a whole number, a map with text keys was expected"),
        ({"events": [{}]}, "event 0: `event` is nothing, a text with its kind was expected"),
        ({"events": [{"event": "it", "x": 1.5}]}, "event 0, `x` is a number with a fraction; text, whole numbers"),
        ({"events": [{"event": "it", "x": {}}]}, "event 0, `x` is a map; text, whole numbers"),
        ({"events": [{"event": "it", "x": [2**53]}]}, "`x` is 9,007,199,254,740,992, at most"),
        ({"events": [{"event": "timer-fired", "timer": 7}]}, "timer-fired: `timer` is a whole number, the text"),
        ({"events": [{"event": "timer-set", "timer": "a"}]}, "timer-set: `due` is None, a whole number"),
        ({"events": [{"event": "timer-removed", "timer": "a", "why": "x"}]}, "`why` is 'x', one of expired"),
        ({"receipts": "00"}, "`receipts` is text, a list was expected"),
        ({"receipts": [7]}, "`receipts` 0: a whole number came"),
        ({"included": ["00"]}, "`included` 0 has 1 bytes, 32 were expected"),
        ({"cost_us": 60_000_001}, "`cost_us` is 60,000,001, a whole number from 0 to 60,000,000"),
        ({"cost_us": True}, "`cost_us` is a boolean, a whole number was expected"),
        ({"invalid": 7}, "`invalid` is a whole number, text was expected"),
    ],
)
def test_a_wrong_execution_is_named(change, reason):
    with pytest.raises(LostError, match=f"^execute: .*{reason}"):
        execute(SOUND | change)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, "the answer has no `payload`"),
        ({"payload": ["00"] * 2, "refused": [2]}, "`refused` names transaction 2, 2 were offered"),
        ({"payload": ["00" * 600_000] * 2}, "`payload` has 1,200,000 bytes, at most 1,048,576"),
        ({"payload": [], "refused": ["1"]}, "`refused` 0 is text, a whole number"),
    ],
)
def test_a_wrong_proposal_is_named(change, reason):
    with pytest.raises(LostError, match=reason):
        propose(SOUND | change)


def test_one_transaction_may_be_longer_than_a_payload():
    assert len(propose(SOUND | {"payload": ["00" * 2_000_000]}).payload) == 1


@pytest.mark.parametrize(
    ("ask", "answer", "reason"),
    [
        (lambda it: it.snapshot(b""), {"pieces": 0}, "`pieces` is 0, at least 1 was expected"),
        (lambda it: it.piece(b"", 0), {"bytes": "00" * (4 * 2**20 + 1)}, "`bytes` has 4,194,305 bytes, at most"),
        (lambda it: it.restore(b"", DRAFT, [b"it"]), {}, "the answer has no `root`"),
        (lambda it: it.entries(b"", b"", 1), {"entries": [["00", "00"], ["01", "00"]]}, "has 2 pairs, at most 1"),
        (lambda it: it.entries(b"", b"", 9), {"entries": [["01", ""], ["00", ""]]}, "has the key 00, one above 01"),
        (lambda it: it.entries(b"", b"\1", 9), {"entries": [["01", ""]]}, "begins with the key 01, one above 01"),
        (lambda it: it.entries(b"", b"", 9), {"entries": [["01"]]}, "0 is a list, a list of a key and a value"),
        (lambda it: it.check(b""), {"ok": False}, "the answer has no `refused`"),
        (lambda it: it.check(b""), {"ok": "yes"}, "`ok` is text, a boolean was expected"),
        (lambda it: it.describe(b"", b""), {"text": 7}, "`text` is a whole number, text was expected"),
        (lambda it: it.transactions(1, b""), {"transactions": "00"}, "`transactions` is text, a list"),
    ],
)
def test_other_wrong_answers_are_named(ask, answer, reason):
    with pytest.raises(LostError, match=reason):
        ask(talk(answer))


def test_a_proposed_header_has_no_roots():
    conversation = talk(SOUND | {"payload": []})
    conversation.propose(bytes(32), DRAFT, [])
    header = conversation.asked[0][1]["header"]

    assert "state_root" not in header
    assert (header["height"], header["slot"]) == (DRAFT.height, DRAFT.slot)


def test_genesis_is_told_with_its_time():
    conversation = talk(SOUND)
    conversation.genesis(ChainStart(chain="it", timestamp_ms=5, timebase="slot", slot_ms=400))

    fields = {"chain": "it", "timestamp_ms": 5, "timebase": "slot", "slot_ms": 400}
    assert conversation.asked == [("genesis", fields)]
