"""Messages one by one: one that is lost, doubled, early, out of turn or over budget fails exactly the check on them."""

import pytest

from checker.tables import MAILBOX_KEY
from tests.support.checker_history import ACTOR, assert_only, call_receipt, failing, pack, planned
from validators.actors import MessageSent
from validators.execution.receipts import MessageDelivered, TimerReceipt

SENDER = b"s" * 20


def sent(sequence, cycles=600):
    return MessageSent(sequence, SENDER, ACTOR, "h", cycles)


def delivered(sequence, used=500, *, ok=True):
    return TimerReceipt(MessageDelivered(sequence, ACTOR, ok, used, 0))


def message_key(sequence):
    return b"\x0d" + sequence.to_bytes(8, "big") + bytes(23)


def message(cycles=600):
    return pack(SENDER, ACTOR, "h", b"", cycles, bytes(32))


def write_messages(plans):
    """Three messages at height 1, of which one is delivered there; an answer; the others follow at height 2."""
    plans[1].receipts[0] = call_receipt(*plans[1].receipts[0].events, sent(0), sent(1), sent(2, 400))
    plans[1].receipts += [TimerReceipt(sent(3, 300)), delivered(0)]
    plans[1].changes |= {MAILBOX_KEY: pack(1, 4), message_key(1): message(), message_key(2): message(400)}
    plans[1].changes |= {message_key(3): message(300)}
    plans[1].summary |= {"messages_sent": 4, "messages_delivered": 1, "messages_waiting": 3, "mailbox_cycles": 500}
    plans[2].receipts += [delivered(1), delivered(2, 400, ok=False)]
    plans[2].changes |= {MAILBOX_KEY: pack(3, 4), message_key(1): None, message_key(2): None}
    plans[2].summary |= {"messages_delivered": 2, "messages_reverted": 1, "messages_waiting": 1, "mailbox_cycles": 900}
    plans[3].receipts += [delivered(3, 300)]
    plans[3].changes |= {MAILBOX_KEY: pack(4, 4), message_key(3): None}
    plans[3].summary |= {"messages_delivered": 1, "mailbox_cycles": 300}


def result_of(change):
    """Return the results of the history with messages, changed."""

    def both(plans):
        write_messages(plans)
        change(plans)

    return planned(both)


def test_messages_that_are_delivered_in_their_turn_pass():
    """Carried over, answered, reverted."""
    results = result_of(lambda plans: None)

    assert failing(results) == []
    assert results["message-delivery"].summary == "4 messages sent, 4 delivered in order, 0 wait"


def swap_delivered(plans):
    plans[2].receipts[-2:] = [delivered(2, 400, ok=False), delivered(1)]


def deliver_twice(plans):
    plans[3].receipts.append(delivered(3, 300))
    plans[3].summary |= {"messages_delivered": 2, "mailbox_cycles": 600}


def never_deliver(plans):
    del plans[3].receipts[-1]
    plans[3].summary |= {"messages_delivered": 0, "mailbox_cycles": 0, "messages_waiting": 1}
    plans[4].summary |= {"messages_waiting": 1}
    del plans[3].changes[MAILBOX_KEY], plans[3].changes[message_key(3)]


def deliver_before_the_timers(plans):
    plans[3].receipts.insert(0, plans[3].receipts.pop())


def skip_a_sequence(plans):
    plans[1].receipts[0] = call_receipt(*plans[1].receipts[0].events[:-1], sent(5, 400))


def answer_at_once(plans):
    plans[1].receipts += [delivered(1, 100), delivered(2, 100), delivered(3, 100)]
    plans[1].summary |= {"messages_delivered": 4, "messages_waiting": 0, "mailbox_cycles": 800}
    for plan in (plans[1], plans[2], plans[3]):
        plan.changes = {key: value for key, value in plan.changes.items() if key[0] not in (0x0C, 0x0D)}
    for plan in (plans[2], plans[3]):
        plan.receipts = [it for it in plan.receipts if not isinstance(it.event, MessageDelivered)]
        plan.summary = {key: it for key, it in plan.summary.items() if not key.startswith(("messages", "mailbox"))}
    plans[1].changes[MAILBOX_KEY] = pack(4, 4)


def use_too_much(plans):
    plans[3].receipts[-1] = delivered(3, 301)
    plans[3].summary["mailbox_cycles"] = 301


def exceed_the_budget(plans):
    plans[2].receipts.append(plans[3].receipts.pop())
    plans[2].summary |= {"messages_delivered": 3, "mailbox_cycles": 1_200, "messages_waiting": 0}
    plans[2].changes |= {MAILBOX_KEY: pack(4, 4), message_key(3): None}
    plans[3].summary |= {"messages_delivered": 0, "mailbox_cycles": 0}
    del plans[3].changes[MAILBOX_KEY], plans[3].changes[message_key(3)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (swap_delivered, "message 2 was delivered; expected message 1"),
        (deliver_twice, "message 3 was delivered; expected message -1"),
        (never_deliver, "message 3 of 300 cycles waits, but 1000 are free"),
        (deliver_before_the_timers, "message 3 was delivered before the timers were done"),
        (skip_a_sequence, "message 2 was sent as message 5"),
        (answer_at_once, "message 3 was delivered in the block whose mailbox sent it"),
        (use_too_much, "message 3 used 301 cycles; expected at most 300"),
        (exceed_the_budget, "the mailbox used 1200 cycles; expected at most 1000"),
        (
            lambda plans: plans[2].summary.update(messages_reverted=0),
            "the summary's messages_reverted is 0; expected 1 by the receipts",
        ),
        (
            lambda plans: plans[1].summary.update(messages_sent=3),
            "the summary's messages_sent is 3; expected 4 by the receipts",
        ),
        (
            lambda plans: plans[1].summary.update(messages_waiting=2),
            "the summary's messages_waiting is 2; expected 3 by the receipts",
        ),
        (
            lambda plans: plans[1].changes.update({message_key(2): message(401)}),
            "the state gives message 2 401 cycles; expected 400",
        ),
        (lambda plans: plans[2].changes.pop(message_key(1)), "messages in the state: 2; expected 1"),
        (
            lambda plans: plans[2].changes.update({MAILBOX_KEY: pack(2, 4)}),
            "the mailbox is [2, 4]; expected [3, 4]",
        ),
    ],
)
def test_a_message_that_breaks_a_rule_fails(change, words):
    """The summary names the height and the message."""
    assert_only(result_of(change), "message-delivery", words)
