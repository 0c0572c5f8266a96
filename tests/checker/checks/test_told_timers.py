"""Timers that an application tells of: broken rules, stated rates, drains, and replicas that tell differently."""

from types import SimpleNamespace

import pytest

from checker.applications import ApplicationFacts
from checker.checks.told_timers import Drain, TimersTold, ToldTimerFigures
from tests.support.checks import RULES, finish, make_run

EVENTS = ("trace", "events")


def set_(*timers, due):
    return [{"event": "timer-set", "timer": timer, "due": due} for timer in timers]


def fired(*timers):
    return [{"event": "timer-fired", "timer": timer} for timer in timers]


def removed(*timers, why="expired"):
    return [{"event": "timer-removed", "timer": timer, "why": why} for timer in timers]


def deferred(*timers):
    return [{"event": "timer-deferred", "timer": timer} for timer in timers]


def follow(*blocks, first=1, run=None, **facts):
    """Return the check after blocks of one slot each; a block is its events."""
    check = TimersTold(run or make_run(offers=EVENTS, application=ApplicationFacts(**facts)))
    for height, told in enumerate(blocks, first):
        check.settle(SimpleNamespace(height=height, now=height, told=told))
    return check


STORM = [set_(*"abcdef", due=2), [*removed(*"ab"), *fired("c"), *deferred(*"def")], removed("d"), fired("e", "f")]
"""Six timers are due at 2, of which three wait longer."""


class TestRules:
    def test_timers_that_leave_in_time_pass_with_their_counts(self):
        check = follow(set_("a", "b", due=3), [], [*fired("a"), *removed("b"), *set_("c", due=9)])
        result = finish(check)

        assert (result.status, result.exit_class) == ("passed", "safety")
        assert result.summary == "3 timers set, 1 fired, 1 removed, 1 wait, 0 of them due"
        assert check.figures() == ToldTimerFigures(set=3, fired=1, removed=1, waiting=1, overdue=0)

    def test_a_broken_rule_is_named_with_height_and_timer(self):
        result = finish(follow(set_("a", due=3), fired("a")))

        assert (result.status, result.exit_class) == ("failed", "safety")
        assert result.summary == "height 2: timer 'a' fires at 2, 1 before it is due"
        assert dict(result.evidence) == {"height": 2}

    def test_a_timer_that_is_forgotten_is_named_once(self):
        assert finish(follow(set_("a", due=2), [], [])).summary == (
            "height 2: timer 'a' was due at 2, and neither left nor was deferred at 2"
        )

    @pytest.mark.parametrize(("order", "status"), [("fifo", "failed"), ("", "passed")])
    def test_an_order_is_asked_where_it_is_stated(self, order, status):
        assert finish(follow(set_("a", "b", due=2), fired("b", "a"), order=order)).status == status

    @pytest.mark.parametrize(("timebase", "first", "status"), [("slot", 6, "passed"), ("height", 1, "failed")])
    def test_timers_of_genesis_are_known(self, timebase, first, status):
        """Genesis is of slot 5 and height 0, and a timer that it sets for 5 is due in the next block by slots."""
        rules = RULES._replace(timestamp_ms=5_000, timebase=timebase)
        application = ApplicationFacts(told_at_genesis=set_("a", due=5))
        check = follow(fired("a"), first=first, run=make_run(rules=rules, offers=EVENTS, application=application))

        assert finish(check).status == status
        assert "does not wait" in finish(follow(fired("a"))).summary

    def test_a_timer_of_genesis_may_leave_in_a_block_of_its_slot(self):
        rules = RULES._replace(timestamp_ms=5_000)
        for due, at_once, later in ((5, "passed", "passed"), (6, "failed", "passed")):
            application = ApplicationFacts(told_at_genesis=set_("a", due=due))
            run = make_run(rules=rules, offers=EVENTS, application=application)

            assert finish(follow(fired("a"), first=5, run=run)).status == at_once
            assert finish(follow([], fired("a"), first=5, run=run)).status == later

    def test_other_events_and_none_are_not_asked(self):
        assert follow([{"event": "paid", "timer": 7}], []).not_asked() == "the application told of no timer"


class TestRates:
    @pytest.mark.parametrize(
        ("rate", "leave", "words"),
        [("dead_per_block", removed("a", "b"), "removes"), ("live_per_block", fired("a", "b"), "fires")],
    )
    def test_a_block_above_a_rate_fails(self, rate, leave, words):
        blocks = set_("a", "b", due=2), leave

        assert finish(follow(*blocks, **{rate: 2})).status == "passed"
        assert finish(follow(*blocks, **{rate: 1})).summary == (
            f"height 2: the application {words} 2 timers, it states at most 1 a block"
        )

    def test_a_block_that_leaves_timers_behind_has_used_a_rate_up(self):
        result = finish(follow(*STORM, dead_per_block=2, live_per_block=2))

        assert result.summary == (
            "height 3: 2 due timers wait, expected none: 1 dead of 2 were removed and 0 live of 2 fired"
        )

    @pytest.mark.parametrize("rates", [{}, {"dead_per_block": 2, "live_per_block": 2}])
    def test_a_drain_at_the_stated_rates_is_told(self, rates):
        full = [*STORM[:2], removed("d", "e"), fired("f")]
        check = follow(*full, **rates)
        result = finish(check)

        assert result.status == "passed"
        assert check.longest_drain == Drain(blocks=3, removed=4, fired=2)
        assert result.summary.endswith("the longest drain took 3 blocks, with 4 removed and 2 fired")

    def test_the_longest_drain_counts(self):
        later = [set_("g", due=6), deferred("g"), fired("g")]

        assert follow(*STORM, *later).longest_drain == Drain(blocks=3, removed=3, fired=3)


class TestReplicas:
    def result(self, *told):
        check = follow(set_("a", due=9))
        for node, events in enumerate(told):
            block = SimpleNamespace(node=node, height=1, told=events)
            check.applied(block, SimpleNamespace(height=1))
        return finish(check)

    def test_replicas_that_tell_the_same_are_compared(self):
        alike = set_("a", due=9), [*set_("a", due=9), {"event": "paid"}]

        assert self.result(*alike).compared > self.result(*alike[:1]).compared
        assert self.result(*alike).status == "passed"

    def test_another_event_of_one_replica_is_named_with_both(self):
        result = self.result(set_("a", due=9), set_("a", due=8))

        assert result.summary == (
            "height 1: the application of validator 0 tells due=9 event=timer-set timer=a, that of validator 1 tells "
            "due=8 event=timer-set timer=a"
        )
        assert "that of validator 1 tells nothing more" in self.result(set_("a", due=9), []).summary
