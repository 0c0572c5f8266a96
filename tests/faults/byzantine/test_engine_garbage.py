"""Garbage under each engine: whatever is drawn can be put on the wire, or the adversary would halt over its own lie."""

import pytest

from faults import Byzantine
from faults.byzantine.noise import Garbage
from faults.byzantine.registry import ADVERSARIES
from network.chance import Chance
from tests.support.hotstuff_harness import config_of as hotstuff_config
from tests.support.longest_chain_bench import config_of as slot_config
from tests.support.simplex_bench import KeyedHashScheme

CONFIGS = {"hotstuff": hotstuff_config("three-chain"), "longest-chain": slot_config()}


@pytest.mark.parametrize("engine", CONFIGS)
def test_garbage_of_an_engine_has_an_encoding(engine):
    adversary = ADVERSARIES[engine].make(
        1,
        validators=4,
        replicas=4,
        byzantine=(1,),
        scheme=KeyedHashScheme(1),
        config=CONFIGS[engine],
        chance=Chance(0),
        max_skew_ms=500,
    )
    garbage = Garbage(adversary, "it", Byzantine(validator=1, behaviour="garbage", start_ms=0, stop_ms=9))
    drawn = [message for _ in range(60) for message in garbage.make()]

    assert len({type(message) for message in drawn}) > 8
    assert all(isinstance(message, bytes) or adversary.codec.encode(message) for message in drawn)
