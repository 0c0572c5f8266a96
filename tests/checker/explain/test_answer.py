"""The answer: two sentences of at most 120 characters with place, replicas, value, step, and the side that is right."""

import msgspec
import pytest

from checker.explain.answer import CHARACTERS_MAX, answer_of
from checker.explain.differences import compare, in_words, shorten
from checker.explain.explanation import Explanation, KeyReport, OrderRow, SideReport, Stall

LONG = "46e5f46650a3ee025c39d37c28b8001080549239581303fe0a381f8233ce1f58"
ALL = SideReport(who="validators 0, 1, 2, 3", validators=[0, 1, 2, 3], root="b" * 64)

FOUND = Explanation(
    check="supply",
    summary="height 3: too little",
    evidence={},
    also=[],
    cause="execution",
    height=3,
    sides=[SideReport(who="the oracle", has_oracle=True, root="a" * 64), ALL],
    keys=[
        KeyReport(
            key="",
            name=f"account {LONG[:40]}",
            timer="",
            before="balance=9000 nonce=0",
            values=["balance=7800 nonce=0", "balance=7000 nonce=0"],
        )
    ],
    keys_differing=1,
    told=[f"TimerFired timer_id={LONG} ok=True"] * 2,
    receipt=4,
    timer=LONG,
    handler="handle_timer",
)
NO_KEY = msgspec.structs.replace(FOUND, keys=[], keys_differing=0)


def said(explanation=FOUND, **changed):
    return answer_of(msgspec.structs.replace(explanation, **changed))


def test_a_difference_of_values_is_computed():
    assert said() == (
        "Height 3: the balance of account 46e5f46650a3 is 800 units lower on replicas 0, 1, 2, 3 than by the oracle.",
        (
            "The fire of timer 46e5f46650a3 (receipt 4) made the difference; the oracle is right, "
            "replicas 0, 1, 2, 3 are wrong."
        ),
    )


def test_replicas_that_agree_with_the_oracle_are_right_too():
    sides = [SideReport(who="", validators=[0, 2, 3], has_oracle=True), SideReport(who="", validators=[1])]

    assert said(sides=sides)[1].endswith("; the oracle and replicas 0, 2, 3 are right.")


def test_nobody_is_called_wrong_without_the_oracle():
    sides = [SideReport(who="", validators=[1]), SideReport(who="", validators=[2])]
    first, second = said(sides=sides)

    assert first.endswith(" is 800 units lower on replica 2 than on replica 1.")
    assert second.endswith("; no oracle judges it.")


@pytest.mark.parametrize(
    ("before", "right", "wrong", "expected"),
    [
        ("due=3", "deleted", "not written", "stays on replicas 0, 1, 2, 3; by the oracle it is removed."),
        ("absent", "due=3", "not written", "is missing on replicas 0, 1, 2, 3; by the oracle it is created."),
        ("absent", "absent", "due=3", "is created on replicas 0, 1, 2, 3; by the oracle it is missing."),
    ],
)
def test_a_key_that_one_side_lacks_is_said_to_be_missing_or_kept(before, right, wrong, expected):
    key = KeyReport(key="", name=f"timer {LONG}", timer=LONG, before=before, values=[right, wrong])

    assert said(keys=[key])[0] == f"Height 3: timer 46e5f46650a3 {expected}"


class TestWithoutAKey:
    def test_another_exit_of_a_timer_is_said_in_verbs(self):
        told = [f"TimerExpired timer_id={LONG}", f"TimerFired timer_id={LONG} ok=True"]

        assert said(NO_KEY, told=told) == (
            "Height 3: timer 46e5f46650a3 fires on replicas 0, 1, 2, 3; by the oracle it expires.",
            (
                "Timer 46e5f46650a3 fires on replicas 0, 1, 2, 3 and expires by the oracle (receipt 4); "
                "the oracle is right."
            ),
        )

    def test_a_field_of_a_receipt_is_compared(self):
        told = [f"TimerFired timer_id={LONG} used_cycles=700", f"TimerFired timer_id={LONG} used_cycles=720"]

        assert said(NO_KEY, told=told)[0] == (
            "Height 3: the used cycles of TimerFired (receipt 4) is 20 cycles higher on replicas 0, 1, 2, 3 "
            "than by the oracle."
        )

    def test_an_execution_that_broke_off_says_with_what(self):
        told = ["completes", "aborts: KeyError: no timer lies at 3, 1"]
        first, second = said(NO_KEY, told=told, block=LONG)

        assert first == "Height 3: replicas 0, 1, 2, 3 cannot execute block 46e5f46650a3."
        assert "aborted with KeyError: no timer lies at 3, 1; the oracle is right" in second

    def test_roots_alone_are_a_matter_of_hashing(self):
        origin = "the state database: values and operations are equal on all sides"
        first, second = said(NO_KEY, told=[], origin=origin, receipt=None, timer="")

        assert first == (
            "Height 3: the state root is bbbbbbbbbbbb on replicas 0, 1, 2, 3, aaaaaaaaaaaa by the oracle, "
            "with equal values."
        )
        assert second.startswith("Values and log operations are equal, but the state database hashes them")

    def test_two_final_blocks_have_no_right_side(self):
        sides = [SideReport(who="", validators=[node], root="a" * 64, block=f"{node}" * 64) for node in (1, 2)]

        assert said(NO_KEY, sides=sides) == (
            "Height 3: replica 1 finalized block 111111111111, replica 2 block 222222222222.",
            (
                "Two blocks are final at one height, with the same root aaaaaaaaaaaa: agreement is broken, "
                "and no side is right."
            ),
        )

    def test_a_block_that_the_oracle_refuses_says_why(self):
        origin = "transaction 3: nonce 7 where 6 comes next, and it was executed"

        first, second = said(NO_KEY, sides=[ALL], origin=origin, block=LONG, leader=1, view=3)
        assert first.endswith("executed block 46e5f46650a3, which the oracle refuses.") or "nonce 7" in first
        assert second.endswith("the oracle is right.")


def test_memory_is_compared_with_the_log():
    sides = [
        SideReport(who="the operation log of validator 2", says="[total=6]"),
        SideReport(who="validator 2", validators=[2], says="[total=5]"),
    ]
    first, second = said(NO_KEY, sides=sides, origin=f"live-values, account {LONG[:40]}", told=[])

    assert first == (
        "Height 3: the total of account 46e5f46650a3 is 1 unit lower in replica 2's memory than in its operation log."
    )
    assert "replica 2 is wrong" in second


def test_an_order_is_said_by_its_first_place():
    orders = [OrderRow(place=0, values=["a", "a"]), OrderRow(place=1, values=[f"fire of timer {LONG}", "b"])]

    assert said(orders=orders)[1].startswith(
        "The order differs at place 1: b on replicas 0, 1, 2, 3, fire of timer 46e5f46650a3 by the oracle; "
    )


class TestWithoutADifference:
    STUCK = Explanation(check="finality-regained", summary="x", evidence={}, also=[], family="liveness", replicas=4)

    def test_a_stall_says_since_when_and_what_is_waited_for(self):
        stalls = [
            Stall(validator=2, height=5, since_us=5_132_000, view=9, leader=3, waits_for="waits in view 9 for a block")
        ]

        assert said(self.STUCK, stalls=stalls, end_us=24_000_000, left_over="4 views ended by Timeout before") == (
            "Replica 2 finalized no block after height 5 (5.132 s); the run ended at 24.000 s.",
            "Replica 2 waits in view 9 for a block; 4 views ended by Timeout before.",
        )

    def test_a_long_line_of_a_check_goes_on_in_the_second_sentence(self):
        summary = f"height 2: transaction {LONG} was valid and in the mempool of leader 2 as it entered view 2, "
        first, second = said(self.STUCK, family="service", summary=f"{summary}and its block had room and left it out")

        assert first.endswith("as it entered view 2.")
        assert second.startswith("Its block had room and left it out. No state differs")

    @pytest.mark.parametrize("summary", ["x" * 500, "a " * 300, f"y: {'z ' * 200}"])
    def test_no_sentence_is_longer_than_it_may_be(self, summary):
        assert all(len(sentence) <= CHARACTERS_MAX for sentence in said(self.STUCK, summary=summary))


def test_figures_are_computed():
    assert compare("nonce", "1", "2") == "1 higher"
    assert compare("x", "[a, b(c, d)]", "[b(c, d), a]") == "in another order"
    assert compare("x", "[]", "[a]") == "1 entry longer"
    assert compare("x", "0000000000000001", "0000000000000002") == ""


def test_names_are_cut_and_fields_are_words():
    assert shorten(f"a {LONG} 100000000000000") == "a 46e5f46650a3 100000000000000"
    assert in_words(f"TimerFired timer_id={LONG} ok=True payload= burned=763200") == (
        "TimerFired: timer id 46e5f46650a3, ok yes, payload none, burned 763,200"
    )
