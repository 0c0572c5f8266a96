"""The specification of HotStuff: engines do what it says, whatever happens, and none of its rules can be broken."""

from functools import cache
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.oracle.consensus import calls
from checker.oracle.consensus.compare import compare_life
from checker.oracle.consensus.hotstuff import HotStuff
from cluster.scenario.load import load_scenario
from tests.support.consensus_calls import differences, recorded_lives
from tests.support.hotstuff_followed import FOLLOWED_STEPS, FollowedWorld
from tests.support.hotstuff_harness import PROFILES
from tests.support.hotstuff_scripts import SCRIPTS, run_script
from tests.support.properties import examples
from tools.mutation.campaign import campaign_scenario
from tools.mutation.catalogue import CATALOGUE

SINGLE = ("cluster.validators=1", "consensus.engine=hotstuff", "run.until_height=12")

MUTANTS = {
    "final-after-two-blocks": 5,
    "voted-view-open-again": 0,
    "block-certified-below-quorum": 0,
    "justify-not-bound": 0,
    "never-locked": 4,
    "vote-to-the-present-leader": 0,
    "wait-does-not-double": 0,
}
"""Mutants of the engine, and a seed of the swarm in which the specification sees each."""


def first_difference(make, lives_of):
    found, _, _ = differences(make, lives_of)
    return str(found[0]) if found else ""


@cache
def lives_of_a_script(profile):
    """Return the lives of a cluster to which many things happen."""
    world = FollowedWorld(4, profile)
    drawn = [sha256(b"step %d" % number).digest() for number in range(100)]
    run_script(world, [int.from_bytes(each[:2]) for each in drawn], FOLLOWED_STEPS)
    return {place: [(life.life, tuple(life.calls())) for life in lives] for place, lives in world.lives.items()}


def first_part(make):
    """Return the part of the first difference in the two clusters' lives."""
    for profile in PROFILES:
        for lives in lives_of_a_script(profile).values():
            for life, timed_calls in lives:
                difference = compare_life(make, life, timed_calls).difference
                if difference is not None:
                    return difference.part
    return ""


class TestEnginesFollowTheSpecification:
    @pytest.mark.parametrize("profile", PROFILES)
    @examples(6)
    @given(SCRIPTS, st.sampled_from((1, 4, 4, 7)))
    def test_whatever_is_lost_forged_and_restarted(self, profile, script, validators):
        world = FollowedWorld(validators, profile)
        run_script(world, script, FOLLOWED_STEPS)
        assert not first_difference(HotStuff, world.lives)

    @examples(4)
    @given(SCRIPTS)
    def test_beside_two_engines_of_one_validator(self, script):
        world = FollowedWorld(twins=True)
        run_script(world, script, FOLLOWED_STEPS)
        assert not first_difference(HotStuff, world.lives)

    @pytest.mark.parametrize(
        ("name", "settings"),
        [("hotstuff-joiner", ()), ("final-at-a-joiner", ()), ("hotstuff-refusals", ()), ("calm", SINGLE)],
    )
    def test_in_runs_with_joiners_observers_forgers_or_one_validator(self, name, settings):
        assert not first_difference(HotStuff, recorded_lives(load_scenario(name, settings)))


class TestTheSpecificationIsNeeded:
    @pytest.mark.parametrize("name", ["never-locked", "wait-does-not-double"])
    def test_a_mutant_of_the_engine_is_seen(self, name):
        assert first_difference(
            HotStuff, recorded_lives(campaign_scenario(CATALOGUE[name], MUTANTS[name]), MUTANTS[name])
        )

    @pytest.mark.soak
    @pytest.mark.parametrize("name", sorted(MUTANTS.keys() - {"never-locked", "wait-does-not-double"}))
    def test_every_mutant_of_the_engine_is_seen(self, name):
        assert first_difference(
            HotStuff, recorded_lives(campaign_scenario(CATALOGUE[name], MUTANTS[name]), MUTANTS[name])
        )

    def test_nothing_is_a_difference_while_no_rule_is_broken(self):
        assert not first_part(HotStuff)

    @pytest.mark.parametrize(
        ("rule", "broken", "part"),
        [
            ("leader", lambda _self, view: view % 7, "timer"),
            ("signed_vote", lambda _self, _view, digest: digest, "vote"),
            ("fault_of_signatures", lambda *_: "", "report"),
            ("may_vote_for", lambda *_: False, "request"),
            ("raise_lock", lambda *_: None, "record"),
            ("find_proof", lambda _: None, "record"),
            ("ask", lambda *_: None, "request"),
            ("certify_timeouts", lambda *_: None, "record"),
            ("follow_others", lambda _: None, "vote"),
            ("end_timer", lambda self: self.give_up("ViewExpired"), "timer"),
            ("try_to_propose", lambda _: None, "request"),
            ("ask_again", lambda _: None, "request"),
        ],
    )
    def test_a_broken_rule_is_a_difference(self, monkeypatch, rule, broken, part):
        monkeypatch.setattr(HotStuff, rule, broken)
        assert first_part(HotStuff) == part

    def test_an_effect_of_another_kind_with_equal_fields_is_a_difference(self):
        """A proof that is written down has the bytes of the finality that is reported."""
        for life, timed_calls in lives_of_a_script("three-chain")[0]:
            changed = [(at_us, with_proofs_written_twice(call)) for at_us, call in timed_calls]
            if changed != list(timed_calls) or [*map(kinds_of, changed)] != [*map(kinds_of, timed_calls)]:
                difference = compare_life(HotStuff, life, changed).difference
                assert difference is not None
                assert difference.part == "record"
                return
        pytest.fail("no block was made final")


def with_proofs_written_twice(call):
    if not isinstance(call, calls.Stepped):
        return call
    written = [calls.Append(each.finality) if isinstance(each, calls.Finalized) else each for each in call.effects]
    return call._replace(effects=tuple(written))


def kinds_of(timed_call):
    call = timed_call[1]
    return [type(each) for each in call.effects] if isinstance(call, calls.Stepped) else []
