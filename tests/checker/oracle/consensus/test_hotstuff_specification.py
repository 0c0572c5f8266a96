"""The specification of HotStuff: engines do what it says, whatever happens, and its rules are needed."""

import pytest
from hypothesis import given

from checker.oracle.consensus.hotstuff import HotStuff
from tests.support.consensus_calls import differences
from tests.support.hotstuff_followed import FOLLOWED_STEPS, FollowedWorld
from tests.support.hotstuff_harness import PROFILES
from tests.support.hotstuff_scripts import SCRIPTS, run_script
from tests.support.properties import examples


@pytest.mark.parametrize("profile", PROFILES)
class TestEnginesFollowTheSpecification:
    @examples(20)
    @given(SCRIPTS)
    def test_whatever_is_lost_forged_and_restarted(self, profile, script):
        world = FollowedWorld(profile=profile)
        run_script(world, script, FOLLOWED_STEPS)

        found, _, _ = differences(HotStuff, world.lives)
        assert not found, found[0]
