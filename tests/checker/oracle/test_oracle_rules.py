"""A rule that all validators break alike is broken unseen by each other; the oracle sees it and names the place."""

import pytest

from cluster.scenario.load import load_scenario
from tests.support.cluster_runs import check_named, judge_in_process
from tests.support.keystones import first_of
from tests.support.oracle_breaks import BREAKS
from tests.support.oracle_runs import assert_named, consult, run_chain, write_crowded
from validators.actors import PROGRAMS, Heartbeat
from validators.settings import ValidatorFactory, make_engine
from validators.state.draft import Draft


@pytest.fixture
def crowded(tmp_path):
    return write_crowded(tmp_path)


def test_the_crowded_chain_has_everything_that_the_rules_speak_of(crowded):
    """Fires, expiries, insolvencies and waiting of both kinds: without them a broken rule could not show."""
    _, chain = run_chain(crowded)

    for figure in ("fired", "expired", "insolvent", "waiting_live", "waiting_dead"):
        assert any(getattr(executed.summary, figure) for executed in chain), figure


def test_the_oracle_agrees_with_the_chain_as_it_is(crowded):
    """Nothing is broken, and every height was compared."""
    result = consult(crowded)

    assert result.status == "passed", result.summary
    assert dict(result.evidence)["heights"] >= 14


@pytest.mark.parametrize("name", first_of(BREAKS))
def test_a_rule_that_all_validators_break_is_named(monkeypatch, crowded, name):
    """The validators agree with each other in a whole run; the oracle does not."""
    assert_named(monkeypatch, crowded, BREAKS[name])


class LazyHeart(Heartbeat):
    """Beats without counting."""

    def handle_timer(self, payload):
        self._schedule_next()


def test_a_program_changed_on_all_validators_is_found_by_the_oracle_alone(monkeypatch, crowded):
    """Every validator gets the variant from its factory, the cold replay as well: all other checks pass."""
    programs = {**PROGRAMS, "heartbeat": LazyHeart}
    factory = ValidatorFactory(layer=lambda *arguments: make_engine(*arguments, programs=programs))
    monkeypatch.setattr("checker.record.cold_replay.PROGRAMS", programs)

    result = judge_in_process(load_scenario(crowded), factories=dict.fromkeys(range(4), factory))

    assert [check.name for check in result.checks if check.status != "passed"] == ["oracle"]
    assert result.exit_code == 1
    check = check_named(result, "oracle")
    assert "TimerFired" in check.summary
    assert dict(check.evidence)["timer"] in check.summary


def test_validators_that_seal_another_root_are_seen(monkeypatch, crowded):
    """Contents alike, log not: a floor that is raised one step too far shows in the root and nowhere else."""
    raise_floor = Draft.raise_floor
    monkeypatch.setattr(Draft, "raise_floor", lambda self, steps, pending: raise_floor(self, steps + 1, pending))

    result = consult(crowded)

    # Genesis' own batch is raised too far as well, so block 1 already stands on another block 0.
    assert result.status == "failed"
    assert dict(result.evidence)["what"] in {"header", "roots"}
    assert "parent" in result.summary or "state_root" in result.summary
