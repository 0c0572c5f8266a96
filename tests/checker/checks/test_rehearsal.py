"""Instruments of the test bed that are wrong in what few drawn runs bring about, found in a rehearsal."""

import pytest

from checker.checks.audit.rehearsal_specimens import PLAN, rehearse
from faults import check_plan
from faults.injection import injector, links
from faults.kinds import clock, pause, rule
from faults.kinds import links as links_kind
from faults.kinds.registry import FAULTS
from network.conditions import LinkState
from network.port import Pace, Port
from validators.consensus.registry import ENGINES


def draw_losses_together(self, purpose, ordinal, ppm, happens=LinkState.happens):
    return happens(self, purpose.partition(" ")[0], ordinal, ppm)


def stretch_by_the_factor_alone(self, lane, cost_us):
    factor = self.disk_factor if lane == "disk" else 1
    self.disk_slowed += lane == "disk"
    self.slowed += 1
    return cost_us * factor * self.factor


def resume_the_first_alone(self, context):
    context.touch(self.validator, context.power.resume(self.validator))


WRONG = {
    "pauses that end for one alone": (pause.Pause, "_resume", resume_the_first_alone, "does nothing more after"),
    "a run that is whole too soon": (injector, "all_over_ms", lambda *_: 1_500, "after the run was whole"),
    "losses that share their draws": (LinkState, "happens", draw_losses_together, "dropped (loss) by"),
    "a slow disk without extra time": (Pace, "stretch", stretch_by_the_factor_alone, "on the disk of validator"),
    "timers that keep their pace": (Port, "retime", lambda *_: None, "a timer of 31,000 us fired"),
    "alarms that keep their time": (Port, "reset_alarms", lambda *_: None, "an alarm set to"),
    "links of one way only": (links_kind, "both_ways", tuple, "it was"),
    "swings that never reverse": (
        clock.ClockSwing,
        "turns",
        lambda _self: iter(()),
        "fault swing did not come to reverse",
    ),
    "rules about everybody": (rule.Rule, "links", lambda _self, nodes: links.all_links(nodes), "by dropped"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_goes_wrong_in_a_rehearsal_is_named(name, monkeypatch):
    owner, attribute, replacement, pattern = WRONG[name]
    monkeypatch.setattr(owner, attribute, replacement)

    found = list(rehearse(0))
    assert any(pattern in fault for fault in found), found[:9]


def test_a_rehearsal_is_right_for_every_seed():
    assert [fault for seed in range(0, 200, 5) for fault in rehearse(seed)] == []


def test_its_plan_is_sound_and_has_every_kind_that_needs_no_validator():
    """Lies, and bytes that a disk reads back, have no meaning on a stage."""
    check_plan(PLAN, 5, engine=next(iter(ENGINES)))
    kinds = {type(fault) for fault in PLAN.values()}

    left_out = [kind.__struct_config__.tag for kind in FAULTS.kinds() if kind not in kinds]
    assert sorted(left_out) == ["bit-rot", "byzantine", "disk-full", "io-error", "misdirected-write", "stale-read"]
