"""Timers, alarms and messages that an engine does not know: it names the value, and guesses nothing."""

import pytest

from tests.support import hotstuff_harness, longest_chain_bench, simplex_bench
from tests.support.longest_chain_bench import GENESIS, VALIDATORS
from tests.support.simplex_bench import KeyedHashScheme
from validators.consensus.hotstuff.engine import HotStuff
from validators.consensus.interface import AlarmReached, Received, TimeoutReached
from validators.consensus.longest_chain.engine import LongestChain
from validators.consensus.simplex import Simplex

UNKNOWN_TIMER = TimeoutReached("nap", 1)
UNKNOWN_ALARM = AlarmReached("nap", 1, 1_000_000)
UNKNOWN_MESSAGE = Received(1, "hello")


@pytest.mark.parametrize(
    ("engine", "config", "event"),
    [
        (Simplex, simplex_bench.CONFIG, UNKNOWN_TIMER),
        (Simplex, simplex_bench.CONFIG, UNKNOWN_ALARM),
        (HotStuff, hotstuff_harness.config_of("two-chain"), UNKNOWN_TIMER),
        (HotStuff, hotstuff_harness.config_of("two-chain"), UNKNOWN_ALARM),
        (HotStuff, hotstuff_harness.config_of("two-chain"), UNKNOWN_MESSAGE),
        (LongestChain, longest_chain_bench.config_of(), UNKNOWN_TIMER),
        (LongestChain, longest_chain_bench.config_of(), UNKNOWN_ALARM),
        (LongestChain, longest_chain_bench.config_of(), UNKNOWN_MESSAGE),
    ],
)
def test_an_engine_refuses_an_event_that_it_does_not_know(engine, config, event):
    lone = engine(me=0, validators=VALIDATORS, scheme=KeyedHashScheme(0), config=config, genesis=GENESIS)
    lone.replay([], None)
    with pytest.raises((TypeError, ValueError), match=r"nap|hello"):
        lone.step(event)
