"""HotStuff as a whole: whatever is delayed, lost, repeated or cut off, validators agree and go on afterwards."""

import pytest
from hypothesis import given

from tests.support.hotstuff_harness import PROFILES, World, final_view
from tests.support.hotstuff_scripts import SCRIPTS, run_script
from tests.support.properties import examples


@pytest.mark.parametrize("profile", PROFILES)
class TestSafetyAndLiveness:
    @examples(40)
    @given(SCRIPTS)
    def test_honest_validators_agree_and_go_on(self, profile, script):
        world = World(profile=profile)
        run_script(world, script)

        world.heal()
        world.assert_safe()

    @examples(40)
    @given(SCRIPTS)
    def test_twins_of_one_validator_divide_nobody(self, profile, script):
        """One of four is Byzantine: two of it propose and vote, each by its own journal."""
        run_script(World(profile=profile, twins=True), script)

    def test_a_calm_cluster_makes_every_view_final(self, profile):
        world = World(profile=profile)
        world.settle(rounds=80)

        finals = [final_view(seat) for seat in world.seats]
        chain = 3 if profile == "three-chain" else 2
        assert min(finals) >= 10
        assert max(seat.engine.position.view for seat in world.seats) - min(finals) <= chain + 1
        world.assert_safe()
        assert all(seat.engine.statistics()["timeouts"] == 0 for seat in world.seats)
