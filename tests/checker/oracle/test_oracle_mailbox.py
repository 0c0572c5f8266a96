"""A rule of the mailbox that every validator breaks alike is seen by the oracle, which names the place."""

import pytest

from tests.support.chain_harness import PUPPET, advance, do, make_engine
from tests.support.oracle_plans import make_governed_genesis
from tests.support.puppets import consult
from validators.actors import Meter
from validators.execution import mailbox
from validators.execution.mailbox import StateMailbox


def send(steps, cycles):
    return ["send", PUPPET, steps, cycles, "do"]


def played():
    """A chain whose mailbox is too narrow for what is sent, with answers, and one message that needs many cells."""
    genesis = make_governed_genesis()
    engine = make_engine(genesis)
    sends = [send([["compute", 900]], 1_500), send([send([], 600)], 1_900), send([["put", b"k", bytes(600)]], 500)]
    calls = [do(0, 0, *sends, cells_limit=50_000), do(0, 1, send([["emit", "last"]], 2_600))]
    return genesis, [advance(engine, calls), *(advance(engine) for _ in range(4))]


def deliver_beyond_the_budget(monkeypatch):
    original = StateMailbox.serve

    def serve(self, deliver):
        self._cycles_budget += 2_000
        return original(self, deliver)

    monkeypatch.setattr(StateMailbox, "serve", serve)


def answer_in_the_same_block(monkeypatch):
    original = StateMailbox.serve

    def serve(self, deliver):
        first = original(self, deliver)
        again = original(self, deliver)
        again.delivered += first.delivered
        again.cycles += first.cycles
        again.events[:0] = first.events
        return again

    monkeypatch.setattr(StateMailbox, "serve", serve)


def cells_without_end(monkeypatch):
    monkeypatch.setattr(mailbox, "Meter", lambda cycles, _cells: Meter(cycles, 10**9))


def test_the_chain_that_is_played_is_in_order():
    """Messages are carried over, answered and reverted in it."""
    genesis, chain = played()

    assert consult(genesis, chain).status == "passed"
    assert max(executed.summary.messages_waiting for executed in chain) >= 2
    assert sum(executed.summary.messages_delivered for executed in chain) == 5
    assert sum(executed.summary.messages_reverted for executed in chain) == 1


@pytest.mark.parametrize(
    ("break_rule", "words"),
    [
        (deliver_beyond_the_budget, "is absent by the oracle"),
        (answer_in_the_same_block, "is absent by the oracle"),
        (cells_without_end, "MessageDelivered"),
    ],
)
def test_a_broken_rule_of_the_mailbox_is_named(monkeypatch, break_rule, words):
    """By height and receipt."""
    break_rule(monkeypatch)
    result = consult(*played())

    assert result.status == "failed"
    assert words in result.summary
