"""Messages between programs: their place in the block, what they cost, what waits, what is lost with a revert."""

import msgspec
import pytest

from scheduler import TimerConfig, TimerFired, TimerScheduled
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    CAROL,
    POOR,
    PROPOSER,
    PUPPET,
    advance,
    balance_of,
    do,
    make_engine,
    make_genesis,
    propose,
    stored,
)
from validators.actors import Emitted, MessageSent, Status
from validators.execution import InvalidBlockError, MessageDelivered, decode_receipt
from validators.execution.genesis import Genesis
from validators.execution.schema import MAILBOX, Mailbox, Message, decode_entry, message_key

CYCLES = 1_000
"""Cycles given to most messages here."""


def mailing(**changes):
    return make_engine(make_genesis(timer_config=TimerConfig(max_cells_per_fire=20_000), **changes))


def send(*steps, to=PUPPET, cycles=CYCLES, handler="do"):
    return ["send", to, [list(step) for step in steps], cycles, handler]


def topics(executed):
    return [event.topic for event in executed.events if isinstance(event, Emitted)]


def delivered(executed):
    return [(event.sequence, event.ok) for event in executed.events if isinstance(event, MessageDelivered)]


def queue_of(engine):
    stored_value = engine.database.get(MAILBOX.key())
    return None if stored_value is None else msgspec.msgpack.decode(stored_value, type=Mailbox)


def outcome(executed, index=0):
    receipt = decode_receipt(executed.receipts[index])
    return Status(receipt.status), receipt.error


class TestOrder:
    def test_messages_come_after_the_timers_of_the_block(self):
        """A message of a transaction waits for the timers of its block, and one of a timer comes behind it."""
        engine = mailing()
        advance(engine, [do(0, 0, ["timer", 1, [["emit", "timer"], send(["emit", "sent by the timer"])]])])
        executed = advance(engine, [do(0, 1, send(["emit", "sent by the transaction"]))])

        assert topics(executed) == ["timer", "sent by the transaction", "sent by the timer"]

    def test_they_are_delivered_in_the_order_in_which_they_were_sent(self):
        """The order holds across senders."""
        engine = mailing()
        executed = advance(
            engine, [do(0, 0, send(["emit", "1"]), send(["emit", "2"])), do(1, 0, send(["emit", "3"]), actor=POOR)]
        )

        assert topics(executed) == ["1", "2", "3"]
        assert delivered(executed) == [(0, True), (1, True), (2, True)]

    def test_one_that_a_message_sends_waits_for_the_next_block(self):
        """Messages on the list when the mailbox is opened are delivered, and no others."""
        engine = mailing()
        first = advance(engine, [do(0, 0, send(send(["emit", "answer"], cycles=500), cycles=1_500))])
        assert (topics(first), first.summary.messages_waiting) == ([], 1)

        assert topics(advance(engine)) == ["answer"]

    def test_a_timer_that_a_message_schedules_fires_later(self):
        """At the end of the next block, with the others of that height."""
        engine = mailing()
        executed = advance(engine, [do(0, 0, send(["timer", 1, [["emit", "fired"]]]))])
        assert [type(event) for event in executed.events] == [MessageSent, TimerScheduled, MessageDelivered]

        assert topics(advance(engine)) == ["fired"]

    def test_a_message_cannot_change_what_the_timers_had_on_their_list(self):
        """A timer that waits for the lane is still too late to cancel (Q-28)."""
        config = TimerConfig(max_cells_per_fire=20_000, max_cycles_per_fire=20_000, execution_lane_paused=True)
        engine = make_engine(make_genesis(timer_config=config))
        advance(engine, [do(0, 0, ["timer", 1, []])])
        executed = advance(engine, [do(0, 1, send(["cancel_last"]))])

        assert topics(executed) == ["AlreadyCollected"]
        assert executed.summary.waiting_live == 1


class TestBudget:
    def test_what_does_not_fit_waits_and_blocks_those_behind_it(self):
        """The first that does not fit what is left ends the delivery, even if a later one would fit."""
        engine = mailing(mailbox_cycles=2_000)
        sends = [send(["emit", name], cycles=cycles) for name, cycles in (("a", 1_500), ("b", 1_900), ("c", 300))]
        reported = [advance(engine, [do(0, 0, *sends)]), advance(engine), advance(engine)]

        # Of `a` only what it used counts: 1,750 are left, less than the 1,900 that `b` may use.
        assert [topics(executed) for executed in reported] == [["a"], ["b", "c"], []]
        assert [executed.summary.messages_waiting for executed in reported] == [2, 0, 0]
        assert reported[1].summary.mailbox_cycles == 2 * 250

    def test_no_block_uses_more_than_the_budget(self):
        """Messages that use all they have."""
        engine = mailing(mailbox_cycles=2_500)
        reported = [advance(engine, [do(0, 0, *[send(["compute", 10**6])] * 7)]), *(advance(engine) for _ in range(3))]

        assert [executed.summary.mailbox_cycles for executed in reported] == [2_000, 2_000, 2_000, 1_000]
        assert [executed.summary.messages_reverted for executed in reported] == [2, 2, 2, 1]

    def test_one_that_no_block_could_deliver_is_refused(self):
        """It would block the mailbox for ever."""
        engine = mailing(mailbox_cycles=2_000)
        executed = advance(engine, [do(0, 0, send(cycles=2_001)), do(0, 1, send(cycles=2_000))])

        assert [outcome(executed, index) for index in range(2)] == [
            (Status.REVERTED, "GasLimitTooHigh"),
            (Status.OK, ""),
        ]

    def test_a_genesis_whose_mailbox_could_deliver_nothing_is_refused(self):
        """A call costs 200 cycles."""
        encoded = msgspec.msgpack.encode(make_genesis(mailbox_cycles=199))
        with pytest.raises(msgspec.ValidationError):
            msgspec.msgpack.decode(encoded, type=Genesis)


class TestPayment:
    def test_the_sender_pays_for_all_that_a_message_may_use(self):
        """Cycles and as many cells, whatever the message then uses; delivering it moves no units."""
        engine = mailing()
        executed = advance(engine, [do(0, 0, send(cycles=5_000))])
        receipt = decode_receipt(executed.receipts[0])
        own_bytes = len(executed.block.transactions[0])
        payload_bytes = len(msgspec.msgpack.encode([[]]))

        assert receipt.cycles == 1_000 + 200 + 200 + 5_000
        assert receipt.cells == own_bytes + payload_bytes + 5_000
        assert executed.summary.mailbox_cycles == 200
        assert balance_of(engine, ALICE) == BALANCE - receipt.burned - receipt.tip
        assert balance_of(engine, PROPOSER) == receipt.tip
        assert executed.summary.burned == receipt.burned

    def test_a_fire_pays_for_its_messages_out_of_its_own_limit(self):
        """C-12: of 550,000 cycles two messages of 100,000 leave 350,000, less the price of sending."""
        engine = make_engine(make_genesis(timer_config=TimerConfig(), block_cells=50_000_000))
        sends = [send(cycles=100_000)] * 2
        advance(
            engine,
            [do(0, 0, ["timer", 1, [*sends, ["compute", 349_400]]], ["timer", 1, [*sends, ["compute", 349_401]]])],
        )
        fires = [event for event in advance(engine).events if isinstance(event, TimerFired)]

        assert [(fire.ok, fire.used_cycles) for fire in fires] == [(True, 550_000), (False, 550_000)]

    def test_more_than_the_caller_has_is_out_of_gas(self):
        """The call ends there, and nothing was sent."""
        engine = mailing()
        executed = advance(engine, [do(0, 0, send(cycles=500_000))])

        assert outcome(executed) == (Status.OUT_OF_GAS, "OutOfGas")
        assert queue_of(engine) is None

    def test_a_message_may_not_use_more_than_it_was_given(self):
        """Cells as well as cycles: each limit ends its call."""
        engine = mailing()
        long_value = ["put", b"k", bytes(1_000)]
        executed = advance(engine, [do(0, 0, send(["compute", 801]), send(long_value, cycles=2_200))])
        used = [event.used_cycles for event in executed.events if isinstance(event, MessageDelivered)]

        assert delivered(executed) == [(0, False), (1, True)]
        assert used == [1_000, 300]
        short = advance(engine, [do(0, 1, send(long_value))])
        assert delivered(short) == [(2, False)]

    def test_nobody_but_the_actor_pays_for_the_timers_of_its_messages(self):
        """A message has no transaction's sender behind it, and the actor that sent it has agreed to nothing."""
        engine = mailing()
        steps = [["timer", 1, [], None, None, payer] for payer in (PUPPET, POOR, CAROL)]
        executed = advance(engine, [do(0, 0, *[send(step, to=POOR) for step in steps])])

        assert [ok for _, ok in delivered(executed)] == [False, True, False]


class TestReverts:
    @pytest.mark.parametrize("end", [["revert", "no"], ["crash"], ["compute", 10**6]])
    def test_a_call_that_does_not_end_well_has_sent_nothing(self, end):
        """Its sequence goes to the next message, and its cycles stay paid."""
        engine = mailing()
        executed = advance(engine, [do(0, 0, send(["emit", "lost"]), end), do(0, 1, send(["emit", "kept"]))])

        assert topics(executed) == ["kept"]
        assert delivered(executed) == [(0, True)]
        assert decode_receipt(executed.receipts[0]).cycles >= 1_000 + 200 + 200 + CYCLES

    @pytest.mark.parametrize("end", [["revert", "no"], ["crash"], ["compute", 10**6]])
    def test_a_message_that_does_not_end_well_is_gone_with_what_it_wrote(self, end):
        """It is delivered once, and what it sent is not sent."""
        engine = mailing()
        executed = advance(engine, [do(0, 0, send(["put", b"k", b"v"], send(cycles=200), end, cycles=1_500))])

        assert delivered(executed) == [(0, False)]
        assert stored(engine, PUPPET, b"k") is None
        assert (executed.summary.messages_waiting, executed.summary.messages_reverted) == (0, 1)

    @pytest.mark.parametrize(("to", "handler"), [(b"\x77" * 20, "do"), (ALICE, "do"), (PUPPET, "hidden"), (PUPPET, "")])
    def test_a_message_to_nobody_is_delivered_to_nobody(self, to, handler):
        """Unknown actors and handlers: known only when it is delivered, because they may come to be until then."""
        engine = mailing()
        executed = advance(engine, [do(0, 0, send(to=to, handler=handler))])

        assert outcome(executed)[0] is Status.OK
        assert delivered(executed) == [(0, False)]

    @pytest.mark.parametrize(
        ("step", "error"),
        [
            (send(to=b"short"), "InvalidInput"),
            (send(cycles=199), "InvalidInput"),
            (send(cycles=-1), "InvalidInput"),
            (send(handler="h" * 257), "HandlerTooLong"),
        ],
    )
    def test_what_may_not_be_sent_is_refused_by_name(self, step, error):
        """And what it would have been given is not charged."""
        executed = advance(mailing(), [do(0, 0, step)])

        assert outcome(executed) == (Status.REVERTED, error)
        assert decode_receipt(executed.receipts[0]).cycles == 1_000 + 200 + 200


class TestState:
    def test_a_message_that_waits_has_one_entry(self):
        """It holds all that its call needs; the queue's record is written with it."""
        engine = mailing(mailbox_cycles=1_000)
        executed = advance(engine, [do(0, 0, send(["emit", "first"]), send(["compute", 1]), send())])
        value = engine.database.get(message_key(2))
        entry = decode_entry(message_key(2), value)
        origin = decode_receipt(executed.receipts[0]).transaction

        assert (entry.table, entry.identity) == ("message", (2,))
        assert entry.record == Message(PUPPET, PUPPET, "do", msgspec.msgpack.encode([[]]), CYCLES, origin)
        assert queue_of(engine) == Mailbox(1, 3)

    def test_a_message_of_a_timer_goes_back_to_no_transaction(self):
        """Its origin is 32 zero bytes, that of an answer to it too."""
        engine = mailing(mailbox_cycles=2_000)
        inner = send(send(cycles=500), cycles=1_800)
        advance(engine, [do(0, 0, ["timer", 1, [inner]])])
        advance(engine)
        record = decode_entry(message_key(1), engine.database.get(message_key(1))).record

        assert (record.origin, record.sender) == (bytes(32), PUPPET)

    def test_an_answer_goes_back_to_the_transaction_that_caused_it(self):
        """Through as many messages as it takes."""
        engine = mailing()
        executed = advance(engine, [do(0, 0, send(send(cycles=500), cycles=1_800))])
        record = decode_entry(message_key(1), engine.database.get(message_key(1))).record

        assert record.origin == decode_receipt(executed.receipts[0]).transaction

    def test_sequences_go_on_when_the_mailbox_is_empty(self):
        """No two messages of a chain have one sequence."""
        engine = mailing()
        sequences = [delivered(advance(engine, [do(0, nonce, send())])) for nonce in range(3)]

        assert sequences == [[(0, True)], [(1, True)], [(2, True)]]
        assert queue_of(engine) == Mailbox(3, 3)

    def test_forks_have_mailboxes_of_their_own(self):
        """A message delivered on one branch still waits on the other."""
        engine = mailing(mailbox_cycles=1_000)
        parent = advance(engine, [do(0, 0, *[send(["compute", 10**6])] * 2)])
        left = propose(engine, parent=parent.digest)
        right = propose(engine, [do(0, 1, send(["emit", "right"]))], parent=parent.digest, after_ms=2_000)
        later = propose(engine, parent=right.digest)

        assert [delivered(executed) for executed in (left, right, later)] == [[(1, False)], [(1, False)], [(2, True)]]


def test_a_block_that_says_that_it_delivered_what_it_did_not_is_refused():
    """The mailbox is part of the state that the header commits to."""
    engine = mailing(mailbox_cycles=1_000)
    parent = advance(engine, [do(0, 0, *[send(["compute", 10**6])] * 2)])
    honest = propose(engine, parent=parent.digest)
    header = msgspec.structs.replace(honest.header, state_root=parent.header.state_root, view=honest.header.view + 1)

    with pytest.raises(InvalidBlockError, match="state_root"):
        engine.execute(msgspec.structs.replace(honest.block, header=header))
