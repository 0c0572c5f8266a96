"""The suite as a whole: a sound history passes every check, and what the suite does not judge does not count."""

import re

from checker.checks.mirror import HAS_LANE_BUDGET
from checker.families import FAMILIES
from checker.record.root import PROJECT_ROOT
from checker.results import verdict_of
from scheduler import POLICIES
from tests.support.checker_history import (
    OF_A_HISTORY,
    RULES,
    digest_of,
    failing,
    write_history,
)

DOCUMENT = PROJECT_ROOT / "docs" / "invariants.md"


SILENT = ("message-delivery",)
"""Checks that the history does not ask: nobody sends a message."""


class TestSoundHistory:
    def test_every_check_passes_and_has_compared_something(self):
        """A sound history passes all checks of the catalogue, none of them vacuously."""
        results = write_history().judge()

        assert {name: result.status for name, result in results.items()} == {
            check.name: "passed" for check in OF_A_HISTORY if check.name not in SILENT
        }
        assert all(result.compared > 0 for result in results.values())
        assert verdict_of(results.values()).exit_code == 0

    def test_results_carry_the_exit_class_of_the_catalogue(self):
        """The exit class of a failure is the same in the catalogue and in each result."""
        results = write_history().judge()

        assert [(result.name, result.exit_class) for result in results.values()] == [
            (check.name, check.exit_class) for check in OF_A_HISTORY if check.name not in SILENT
        ]

    def test_timer_figures_account_for_every_due_timer(self):
        """Due timers are fired, expired or insolvent, and none waits."""
        summary = write_history().judge()["timer-delivery"].summary

        assert summary == "3 timers scheduled: 1 fired, 1 expired, 1 insolvent"

    def test_nothing_observed_is_inconclusive(self):
        """A run in which nothing happened proves nothing."""
        history = write_history()
        history.steps, history.readbacks, history.cold = [], [], None

        results = history.judge()

        assert failing(results) == []
        assert verdict_of(results.values()).name == "inconclusive"
        assert results["agreement"].status == results["cold-replay"].status == "inconclusive"

    def test_byzantine_validators_are_not_judged(self):
        """Events and blocks of a validator outside the honest set count for nothing."""
        history = write_history()
        history.honest = (0, 1, 2)
        history.add(3, "vote", "notarize", 1, digest_of("other"))
        history.add(3, "finalized", 4, 5, digest_of("other"), digest_of("other root"))
        history.steps.append(history.blocks[4]._replace(node=3, block=b"\x00"))
        history.readbacks[3] = history.readbacks[3]._replace(live={})

        assert failing(history.judge()) == []

    def test_timers_may_count_heights(self):
        """With the timebase `height` the slots of the blocks do not matter to timers."""

        def change(plans):
            for plan in plans.values():
                plan.slot += 50

        history = write_history(change)
        assert failing(history.judge()) == ["timer-delivery"]

        history.rules = RULES._replace(timebase="height")
        assert failing(history.judge()) == []


def test_the_document_lists_every_family_with_its_parts():
    """docs/invariants.md has a section for each family, and in it an entry for each part, in the order of a result."""
    sections = re.split(r"^## `([a-z-]+)`$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    listed = {
        name: tuple(re.findall(r"^- `([a-z/-]+)`", text.partition("\n#")[0], re.MULTILINE))
        for name, text in zip(sections[::2], sections[1::2], strict=True)
    }

    assert list(listed.items()) == [(family.name, family.parts) for family in FAMILIES]


def test_the_checks_know_themselves_which_policies_have_a_lane_budget():
    """A policy that says the other thing of itself would have its fires judged by its own mistake."""
    assert {name: policy.has_budget for name, policy in POLICIES.items()} == HAS_LANE_BUDGET
