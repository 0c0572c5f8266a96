"""Chains in the timer lane with racers and heartbeats."""

from scheduler import (
    TimerConfig,
)
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    STORM,
    in_lane,
    make_engine,
    make_genesis,
    order,
)
from validators.actors import FeeTerms, HeartbeatOrder
from validators.execution import GenesisActor

HEARTS = tuple(bytes([0xE0 + index]) * 20 for index in range(4))


AGENT = b"\xea" * 20


GAS = 2_000


CONFIG = TimerConfig(max_cells_per_fire=2_000, lane_timer_cycles=10_000)


def racing(*, activation=1, mode=None, timers=CONFIG, genesis=None, **lane):
    """Return an engine with hearts, a storm maker and an agent of Alice's, in the lane from a height on."""
    program, storage = ("risk-agent", ()) if mode is None else ("chaos-agent", ((b"mode", mode),))
    actors = (
        *(GenesisActor(heart, "heartbeat", ALICE, BALANCE) for heart in HEARTS),
        GenesisActor(STORM, "storm-maker", ALICE, BALANCE),
        GenesisActor(AGENT, program, ALICE, 0, storage),
    )
    fields = {"actors": actors, "timer_config": timers, "system_deployers": (ALICE,)} | (genesis or {})
    return make_engine(make_genesis(**in_lane(activation, **lane), **fields))


def beat(nonce, heart, interval=1, **terms):
    return order(0, nonce, HEARTS[heart], "start", HeartbeatOrder(interval, GAS, FeeTerms(**terms)))
