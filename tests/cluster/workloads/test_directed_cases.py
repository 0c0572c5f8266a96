"""The shipped directed cases: each happened as it says, and the oracle judges all of them under every policy."""

import re
import tomllib
from functools import cache

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.scenario.load import convert_scenario, load_scenario
from cluster.workloads.planned import sites_of
from scheduler import (
    POLICIES,
    TimerCancelled,
    TimerCancelledInsufficientFunds,
    TimerConfigUpdated,
    TimerDeferred,
    TimerExpired,
    TimerExtended,
    TimerFired,
    TimerScheduled,
    TimerTriggered,
)
from tests.support.cluster_runs import check_named, judge, result_of
from tests.support.keystones import rest_in_soak
from validators.actors import Emitted

REFUSED = "refused"
ORACLE = "oracle"

SHOWN_BY = {
    "cancel-at-the-fire": ("fifo", "fifo-free", "eip1559", "gba-auction", "bias-auction"),
    "same-call-again": tuple(POLICIES),
    "extend-at-the-expiry": ("fifo", "eip1559", "gba-auction", "bias-auction"),
    "watch-what-a-fire-writes": ("eip1559", "bias-auction"),
    "watch-at-its-expiry": ("eip1559", "bias-auction"),
    "payer-drained-by-a-fire": ("fifo", "eip1559"),
    "governance-before-the-fire": ("fifo", "eip1559", "gba-auction", "bias-auction"),
}
"""The policies under which each case shows what it promises; under the others its calls are refused or differ."""


class Story:
    """The final blocks of a case, event by event."""

    def __init__(self, name, *settings):
        self.result = result_of(name, *settings)
        self.site = next(site for site, _ in sites_of(load_scenario(name)) if site.name == "desk")
        self.blocks = [(executed.header, list(executed.events)) for executed in self.result.chain]

    def named(self, *kinds):
        """Each event of some kinds as (slot, event)."""
        return [(header.slot, event) for header, events in self.blocks for event in events if isinstance(event, kinds)]

    def told(self, topic):
        """The texts told under a topic, as (slot, text)."""
        return [(slot, event.data.decode()) for slot, event in self.named(Emitted) if event.topic == topic]

    def scheduled(self):
        """The timers in the order of their scheduling."""
        return [event for _, event in self.named(TimerScheduled)]


@cache
def story_of(name):
    """A case under its own policy; the tests of one case share its run."""
    return Story(name)


def ends(story, kind):
    """Slots by timer of one kind of event."""
    return {event.timer_id: slot for slot, event in story.named(kind)}


def test_a_cancellation_meets_the_block_of_the_fire():
    story = story_of("cancel-at-the-fire")
    earlier, later, gone, *row = story.scheduled()
    fired, cancelled = ends(story, TimerFired), ends(story, TimerCancelled)
    ((at, _), *_) = story.named(TimerCancelled)
    in_time = [timer for timer in row if timer.due == at]

    assert story.result.verdict == "passed"
    # The transaction: the timer is due in its own block, which has no fire of it.
    assert len(in_time) == 1
    assert cancelled[in_time[0].timer_id] == at
    assert in_time[0].timer_id not in fired
    # The fire is refused, and the later timer fires behind it in the same block; the message finds nothing.
    order = [event.timer_id for _, event in story.named(TimerFired) if event.due == later.due]
    assert order == [earlier.timer_id, later.timer_id, gone.timer_id]
    assert story.told(REFUSED)[-2:] == [(later.due, "AlreadyCollected"), (later.due, "UnknownTimer")]


def test_a_transaction_comes_too_late_for_the_timers_before_its_block():
    story = story_of("cancel-at-the-fire")
    row = story.scheduled()[3:]
    ((at, _), *_) = story.named(TimerCancelled)

    assert [timer.due < at for timer in row] == [timer.timer_id in ends(story, TimerFired) for timer in row]


def test_equal_calls_have_identifiers_of_their_own():
    story = story_of("same-call-again")
    once, twice, again, _, _, *echoes = story.scheduled()
    fired = ends(story, TimerFired)

    assert story.result.verdict == "passed"
    assert len({timer.timer_id for timer in (once, twice, again)}) == 3
    assert [timer.timer_id in fired for timer in (once, twice, again)] == [False, True, True]
    assert len({timer.due for timer in echoes}) == 1
    assert [timer.timer_id in fired for timer in echoes] == [True, False]


def test_without_the_counter_the_same_identifier_comes_again():
    settings = ("chain.policy=aptos", "chain.policy_parameters.counts_ids=false", "expect.counts.fired=3")
    story = Story("same-call-again", *settings)
    once, again, *_ = story.scheduled()

    assert story.result.verdict == "passed"
    assert once.timer_id == again.timer_id
    assert [text for _, text in story.told(REFUSED)] == ["DuplicateTimer"] * 2


def test_a_timer_is_extended_at_its_expiry_and_not_behind_it():
    story = story_of("extend-at-the-expiry")
    saved, lost, *_ = story.scheduled()
    extended, expired = ends(story, TimerExtended), ends(story, TimerExpired)

    assert story.result.verdict == "passed"
    assert extended[saved.timer_id] == saved.expires_at
    assert saved.timer_id in ends(story, TimerFired)
    assert (lost.expires_at + 1, "InvalidInput") in story.told(REFUSED)
    assert lost.timer_id in expired


def test_a_transaction_extends_the_timer_that_expires_in_its_block():
    story = story_of("extend-at-the-expiry")
    row = story.scheduled()[4:]
    (at,) = {slot for timer, slot in ends(story, TimerExtended).items() if timer in {each.timer_id for each in row}}

    assert at in {timer.expires_at for timer in row}
    assert [timer.expires_at >= at for timer in row] == [timer.timer_id in ends(story, TimerFired) for timer in row]
    assert story.told(REFUSED).count((at, "InvalidInput")) == sum(timer.expires_at < at for timer in row)


def test_a_fire_a_message_and_the_same_block_wake_who_watches():
    story = story_of("watch-what-a-fire-writes")
    by_fire, by_message, ahead, behind, _, late = story.scheduled()
    triggered, told = ends(story, TimerTriggered), dict(map(reversed, story.told("done")))
    begun = told["at[0]"]

    assert story.result.verdict == "passed"
    assert triggered == {
        ahead.timer_id: begun,
        behind.timer_id: begun,
        by_message.timer_id: told["at[1].steps[1].payload"],
        by_fire.timer_id: told["at[1].steps[0].payload"],
    }
    # The value was written once more while the last one watched it, and was the same.
    assert told["at[3]"] > told["at[2]"]
    assert late.timer_id not in triggered


def test_a_change_in_the_last_block_of_a_watch_triggers_nothing():
    story = story_of("watch-at-its-expiry")
    watches = story.scheduled()
    heights = {
        header.height for header, events in story.blocks for event in events if isinstance(event, TimerTriggered)
    }
    (written,) = heights
    by_end = {timer.expires_at - written: timer.timer_id for timer in watches}

    assert story.result.verdict == "passed"
    assert sorted(by_end) == [-2, -1, 0, 1, 2]
    assert ends(story, TimerTriggered).keys() == {by_end[1], by_end[2]} == ends(story, TimerFired).keys()
    assert ends(story, TimerExpired).keys() == {by_end[-2], by_end[-1], by_end[0]}


def test_a_fire_drains_the_payer_of_the_next_timer_of_its_block():
    story = story_of("payer-drained-by-a-fire")
    first, second = story.scheduled()
    ((slot, removal),) = story.named(TimerCancelledInsufficientFunds)

    assert story.result.verdict == "passed"
    assert ends(story, TimerFired) == {first.timer_id: slot}
    assert (removal.timer_id, slot, second.due) == (second.timer_id, first.due, first.due)
    assert removal.available < removal.required


def test_governance_comes_between_scheduling_and_fire():
    story = story_of("governance-before-the-fire")
    large, small = story.scheduled()
    lowered, raised = (slot for slot, _ in story.named(TimerConfigUpdated))
    fired, deferred = ends(story, TimerFired), ends(story, TimerDeferred)

    assert story.result.verdict == "passed"
    assert lowered < large.due < raised
    assert deferred == {large.timer_id: large.due}
    assert fired[large.timer_id] > raised
    assert (fired[small.timer_id], small.gas_limit) == (small.due, 50_000)
    assert [text for _, text in story.told(REFUSED)] == ["GasLimitTooHigh"]


def settings_for(name, policy):
    """One validator is enough for the oracle; watching is a switch of the lane, and the queue counts in slots."""
    yield from (f"chain.policy={policy}", "cluster.validators=1")
    if name.startswith("watch"):
        yield from ["chain.state_triggers=true"] * (policy == "eip1559")
        yield from ["chain.timebase=slot"] * (policy == "aptos")


@pytest.mark.long
@pytest.mark.parametrize("name", rest_in_soak(SHOWN_BY, ["watch-at-its-expiry"]))
def test_the_oracle_judges_a_case_under_every_policy(name):
    """It passes where the case can be shown; elsewhere nothing fails, and the run says that it shows less."""
    results = {policy: result_of(name, *settings_for(name, policy)) for policy in POLICIES}
    verdicts = {policy: result.verdict for policy, result in results.items()}
    statuses = {policy: check_named(result, ORACLE).status for policy, result in results.items()}

    assert statuses == dict.fromkeys(POLICIES, "passed")
    assert verdicts == {policy: "passed" if policy in SHOWN_BY[name] else "inconclusive" for policy in POLICIES}


def section_of_the_page():
    page = (PROJECT_ROOT / "docs" / "workloads.md").read_text(encoding="utf-8")
    return page.partition("\n## `scripts`\n")[2].partition("\n## ")[0]


def test_the_example_of_the_page_passes():
    raw = tomllib.loads(section_of_the_page().partition("```toml\n")[2].partition("```")[0])
    scenario = convert_scenario({"name": "page", "title": "", **raw, "run": {"until_height": 9}}, "docs/workloads.md")

    assert judge(scenario).verdict == "passed"


def test_the_page_names_each_directed_case():
    assert re.findall("`([a-z-]+)`", section_of_the_page().partition("To copy from:")[2]) == list(SHOWN_BY)
