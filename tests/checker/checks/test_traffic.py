"""Traffic: messages beyond what views, requests and timers account for, and messages that are too long."""

import pytest

from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.traffic import Traffic
from faults.events import TransactionSubmitted
from network.events import Delivered, Event, Sent, TimerElapsed
from network.types import SUPERVISOR
from tests.support.checks import RULES, finish, make_run, show
from validators.events import Booted, Entered, Halted, MessageRefused, SnapshotJoined

PLAN = PlannedRun(timeout_retry_us=4_000_000, fetch_timeout_us=1_000_000, regossip_us=2_000_000)


def send(kind, count=1, *, length=80, checksum=b"one"):
    return [Event(1, 0, Sent(1, ordinal, kind, length, checksum)) for ordinal in range(count)]


def judge(*events, honest=(0,), plan=PLAN, **facts):
    """Judge a second of a validator among four that has come to view 2, with these events."""
    check = Traffic(make_run(plan=plan, disks=(None,) * 4, honest=honest, **facts))
    show(check, Event(0, 0, Booted(0, 1, 0, b"")), Event(1, 0, Entered(2, 2)), *events)
    return finish(check, now_us=1_000_000)


def test_votes_within_their_views_pass():
    assert judge(*send("Notarize", 9)).status == "passed"


def test_votes_beyond_their_views_fail_with_the_formula():
    result = judge(*send("Notarize", 10))

    assert result.status == "failed"
    assert result.summary == ("validator 0 sent 10 messages Notarize, at most 9 are accounted for (F (V + L))")


@pytest.mark.parametrize("kind", ["BlockResponse", "CertificateResponse", "SnapshotOffer", "SnapshotChunk"])
def test_an_answer_to_no_request_fails(kind):
    assert judge(*send(kind)).status == "failed"


def test_an_answer_to_a_request_passes():
    asked = Event(1, 0, Delivered(1, 0, "BlockRequest", 40, b""))

    assert judge(asked, *send("BlockResponse")).status == "passed"


def test_an_answer_to_a_request_that_was_refused_fails():
    asked = Event(1, 0, Delivered(1, 0, "BlockRequest", 40, b""))
    refused = Event(1, 0, MessageRefused("BlockRequest", "AnswerUnderWay"))

    assert judge(asked, refused, *send("BlockResponse")).status == "failed"


def test_a_transaction_leaves_once_for_each_peer():
    """And once in each regossip besides."""
    given = Event(1, SUPERVISOR, TransactionSubmitted("submitted", 0, b""))

    assert judge(given, *send("TransactionGossip", 5)).status == "passed"
    assert judge(given, *send("TransactionGossip", 6)).status == "failed"
    assert judge(*send("TransactionGossip", 3)).status == "failed"


def test_a_request_is_not_repeated_before_its_time():
    assert judge(*send("BlockRequest", 6, length=40)).status == "passed"
    assert "times the same BlockRequest" in judge(*send("BlockRequest", 9, length=40)).summary


@pytest.mark.parametrize(
    ("kind", "length", "status"),
    [
        ("Notarize", 192, "passed"),
        ("Notarize", 193, "failed"),
        ("Notarization", 396, "passed"),
        ("Notarization", 397, "failed"),
    ],
)
def test_a_message_has_the_length_that_its_kind_needs(kind, length, status):
    assert judge(*send(kind, length=length)).status == status


class TestAnswers:
    """A peer has a number of answers in each second, and the second is the replica's own."""

    limit = PLAN.costs.answers_per_second

    def ask(self, count, peer=1, *, came=b"", kind="BlockRequest"):
        """Requests that were sent with an empty checksum, and came with another if they are damaged."""
        sent = [Event(2, peer, Sent(0, each, kind, 40, b"")) for each in range(count)]
        return sent + [Event(10 + each, 0, Delivered(peer, each, kind, 40, came)) for each in range(count)]

    def answer(self, *asked):
        """Each request with the answer that leaves at once, where it is one for a block and came undamaged."""
        for event in asked:
            yield event
            if event.kind == Delivered.kind and not event.body.checksum:
                yield Event(event.at_us, 0, Sent(event.body.source, event.body.ordinal, "BlockResponse", 200, b""))

    def test_more_than_the_limit_fails(self):
        within = [*self.ask(self.limit), *self.ask(self.limit, peer=2)]

        assert judge(*self.answer(*within)).status == "passed"
        assert "to 9 messages BlockRequest of 1 in a second" in judge(*self.answer(*self.ask(self.limit + 2))).summary

    def test_one_that_is_refused_does_not_count(self):
        *taken, last = self.ask(self.limit + 1)
        refused = Event(last.at_us, 0, MessageRefused("BlockRequest", "TooManyAnswers"))

        assert judge(*self.answer(*taken), last, refused, *self.ask(1, peer=2)).status == "passed"

    def test_one_for_an_absent_block_does_not_count(self):
        silent, answered = self.ask(2 * self.limit), self.ask(self.limit)

        assert judge(*silent, *self.answer(*answered)).status == "passed"

    @pytest.mark.parametrize(("height", "counts"), [(0, False), (1, True)])
    def test_snapshots_count_where_there_is_one_above_the_peer(self, height, counts):
        joined = Event(3, 0, SnapshotJoined(height, b"", b""))
        asked = self.ask(self.limit + 2, kind="SnapshotRequest")

        assert ("in a second" in judge(joined, *asked, honest=(0, 1)).summary) is counts

    def test_damaged_ones_do_not_count(self):
        whole, damaged = self.ask(self.limit, peer=2), self.ask(self.limit + 2, came=b"damaged")

        assert judge(*self.answer(*whole), *damaged).status == "passed"

    def test_what_comes_to_a_paused_replica_is_taken_later(self):
        """And refused then; found by the swarm (seed 929)."""
        paused = PLAN._replace(faults=(PlannedFault("nap", 5, 500, (0,), pauses=True),))

        assert judge(*self.ask(self.limit + 2), *send("Notarize"), plan=paused).status == "passed"

    def test_a_halted_replica_answers_nothing_and_says_nothing(self):
        *others, last, one_too_many = self.ask(self.limit + 1)

        assert judge(*self.answer(*others), Event(11, 0, Halted("disk")), last, one_too_many).status == "passed"

    def test_a_second_ends_with_its_timer(self):
        over = Event(50, 0, TimerElapsed(("answers",), 1_000_000))

        once = tuple(self.answer(*self.ask(self.limit)))

        assert judge(*once, over, *once).status == "passed"

    def test_a_second_is_a_second(self):
        assert "a second of 500,000 us" in judge(Event(50, 0, TimerElapsed(("answers",), 500_000))).summary


@pytest.mark.parametrize(
    ("until_us", "ends", "status"),
    [(500_000, (), "inconclusive"), (3_000_000, (1_000_001,), "passed"), (3_000_000, (), "failed")],
)
def test_a_second_that_a_request_began_has_to_end(until_us, ends, status):
    check = Traffic(make_run(plan=PLAN, disks=(None,) * 4))
    show(check, Event(0, 0, Booted(0, 1, 0, b"")), Event(1, 0, Delivered(1, 0, "BlockRequest", 40, b"")))
    show(check, *(Event(at_us, 0, TimerElapsed(("answers",), 1_000_000)) for at_us in ends))

    assert finish(check, now_us=until_us).status == status


class TestOfHotStuff:
    """One vote a view to one validator, and a timeout to all, again with each wait."""

    plan = PLAN._replace(certification_timeout_us=1_000_000)

    def judge(self, *events, **facts):
        return judge(*events, plan=self.plan, engine="hotstuff", **facts)

    @pytest.mark.parametrize(("kind", "most"), [("BlockVote", 3), ("ViewTimeout", 15)])
    def test_votes_within_their_views_pass_and_more_fail(self, kind, most):
        assert self.judge(*send(kind, most)).status == "passed"
        assert f"sent {most + 1} messages {kind}, at most {most}" in self.judge(*send(kind, most + 1)).summary

    @pytest.mark.parametrize(("kind", "most"), [("BlockVote", 192), ("ViewTimeout", 448 + 143 * 4)])
    def test_a_vote_has_the_length_of_its_certificates(self, kind, most):
        assert self.judge(*send(kind, length=most)).status == "passed"
        assert self.judge(*send(kind, length=most + 1)).status == "failed"


class TestOfTheLongestChain:
    """One block a slot, questions for heads once for each round, an answer to each."""

    def judge(self, *events, **facts):
        led = Event(1, 0, Entered(4, 0))
        return judge(led, *events, engine="longest-chain", finality_depth=5, **facts)

    @pytest.mark.parametrize(("kind", "most"), [("Announcement", 3), ("HeadRequest", 9)])
    def test_messages_within_slots_and_rounds_pass_and_more_fail(self, kind, most):
        assert self.judge(*send(kind, most)).status == "passed"
        assert f"sent {most + 1} messages {kind}, at most {most}" in self.judge(*send(kind, most + 1)).summary

    def test_an_answer_needs_a_question_that_was_not_refused(self):
        asked = Event(1, 0, Delivered(1, 0, "HeadRequest", 40, b""))
        refused = Event(1, 0, MessageRefused("HeadRequest", "TooManyAnswers"))

        assert self.judge(asked, *send("HeadResponse")).status == "passed"
        assert self.judge(asked, refused, *send("HeadResponse")).status == "failed"

    def test_questions_beyond_the_limit_of_a_second_are_not_answered(self):
        count = PLAN.costs.answers_per_second + 2
        sent = [Event(2, 1, Sent(0, each, "HeadRequest", 40, b"")) for each in range(count)]
        asked = [Event(10 + each, 0, Delivered(1, each, "HeadRequest", 40, b"")) for each in range(count)]

        assert "messages HeadRequest of 1 in a second" in self.judge(*sent, *asked).summary

    @pytest.mark.parametrize(("kind", "most"), [("Announcement", 352), ("HeadResponse", 352 * 8)])
    def test_headers_have_a_length(self, kind, most):
        asked = Event(1, 0, Delivered(1, 0, "HeadRequest", 40, b""))

        assert self.judge(asked, *send(kind, length=most)).status == "passed"
        assert self.judge(asked, *send(kind, length=most + 1)).status == "failed"


class TestOfLengths:
    """Blocks go by the cells of a block, transactions by the longest, pieces by the state's longest value."""

    BLOCK = 384 + RULES.block_cells * 21 // 20

    def longest(self, kind, most, **facts):
        """Whether a message of this length passes, and one that is longer fails."""
        asks = {
            "BlockResponse": "BlockRequest",
            "SnapshotChunk": "SnapshotChunkRequest",
            "SnapshotOffer": "SnapshotRequest",
        }
        given = (
            Event(1, 0, Delivered(1, 0, asks.get(kind, ""), 40, b"")),
            Event(1, SUPERVISOR, TransactionSubmitted("submitted", 0, b"")),
        )
        results = [judge(*given, *send(kind, length=length), **facts) for length in (most, most + 1)]
        return [result.status for result in results] == ["passed", "failed"]

    def test_a_block_is_no_longer_than_its_cells(self):
        assert self.longest("BlockRelay", self.BLOCK)
        assert self.longest("BlockRelay", self.BLOCK + 192 + 2 * 396 + 36, engine="hotstuff")

    def test_an_answer_has_64_blocks(self):
        everybody = range(4)
        assert self.longest("BlockResponse", min(64 * (self.BLOCK + 8), 8 * 1024**2 + 512), honest=everybody)
        assert self.longest("BlockResponse", 16 * 1024**2)

    def test_gossip_has_64_transactions(self):
        everybody = range(4)
        assert self.longest(
            "TransactionGossip", 64 * 308 + 128, honest=everybody, submissions=lambda: {b"": bytes(300)}
        )
        assert self.longest("TransactionGossip", 2 * 1024**2)

    def test_a_piece_has_one_value_beyond_its_length(self):
        plan = PLAN._replace(snapshot_chunk_bytes=1_000)
        most = (1_000 + 116 + 384) * 6 // 5 + 128
        assert self.longest("SnapshotChunk", most, plan=plan, genesis_values={b"key": bytes(116)})

    def test_an_offer_has_an_outline_and_a_proof(self):
        assert self.longest("SnapshotOffer", 3_072 + 256 + 396)
