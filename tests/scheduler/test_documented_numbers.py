"""Every default and every profile constant, against the number of the documents: a slip here would change a chain."""

import msgspec
import pytest

from cluster.runtime.genesis import genesis_of, keys_of
from cluster.scenario.load import convert_scenario
from scheduler import (
    DEFAULT_HANDLER,
    INTRO_CALENDAR,
    MAX_HANDLER_BYTES,
    MAX_PAYLOAD_BYTES,
    MIN_BASEFEE,
    POLICIES,
    ZERO_ORIGIN,
    CalendarProfile,
    LaneConfig,
    TimerConfig,
    calendar,
    fees,
    lane,
    lifecycle,
)
from scheduler.policies.fifo_free import FreeConfig
from tests.support.chain_harness import advance, in_lane, make_engine, make_genesis
from validators.actors import metering
from validators.execution import Genesis, PolicyEntry, genesis

TIMERS = {
    "max_ttl_blocks": 2_592_000,
    "max_cycles_per_fire": 550_000,
    "max_cells_per_fire": 550_000,
    "max_timers_per_actor": 1_024,
    "gc_cycles_per_block": 5_000_000,
    "gc_cost_per_timer": 200,
    "lane_timer_cycles": 2_000_000,
    "schedule_cycles": 200,
    "extend_cycles": 200,
    "cancel_cycles": 200,
    "execution_lane_paused": False,
    "gc_lane_paused": False,
    "charges_index_cells": True,
}

FREE = {"deferred_calls_per_fire_max": 2, "deferred_call_cycles_max": 100_000}

LANE = {
    "max_cycles_per_fire_auction_phase": 250_000,
    "min_lane_basefee": 800,
    "max_lane_basefee": 2**62,
    "initial_lane_basefee": 0,
    "target_utilisation": (1, 2),
    "max_basefee_step": (1, 8),
    "lane_multiplier": (1, 1),
    "fairness_window_blocks": 1_000,
    "weight_min": (1, 1),
    "weight_max": (2, 1),
    "tier_economy": (4, 5),
    "tier_standard": (1, 1),
    "tier_fast": (3, 2),
    "tier_urgent": (5, 2),
    "gba_call_cycles": 10_000,
    "max_gba_calls_per_block": 1_000,
    "gc_scan_per_block": 25_000,
    "bid_deprecation_blocks": 0,
    "slope": "literal",
    "settlement": "additive",
    "packing_account": "use",
    "packing_misfit": "skip",
    "classification": "eager",
    "default_gba": "schedule",
    "tie_break": "id",
    "weight": "multiplicative",
    "median": "mean",
    "fairness_subject": "actor",
    "max_allowed_delays": 100,
    "excessive_delay": "off",
}

CALENDAR = {"ring_size": 4_096, "epoch_length": 3_600, "epoch_horizon": 24}

INTRODUCTION = {"ring_size": 256, "epoch_length": 360, "epoch_horizon": 13}

CHAIN = {
    "timebase": "slot",
    "slot_ms": 1_000,
    "timestamp_ms": 0,
    "block_cycles": 10_000_000,
    "block_cells": 10_000_000,
    "mailbox_cycles": 2_000_000,
    "calendar": CalendarProfile(),
    "policies": (PolicyEntry(1, "fifo"),),
    "min_basefee": 800,
    "cycle_basefee": 800,
    "cell_basefee": 800,
}

PRICES = {
    "TRANSACTION_CYCLES": 1_000,
    "TRANSACTION_BYTE_CELLS": 1,
    "CALL_CYCLES": 200,
    "SYSTEM_INSTRUCTION_CYCLES": 200,
    "STORAGE_GET_CYCLES": 50,
    "STORAGE_PUT_CYCLES": 100,
    "STORAGE_DELETE_CYCLES": 50,
    "STORAGE_BYTE_CELLS": 1,
    "BALANCE_CYCLES": 50,
    "TRANSFER_CYCLES": 100,
    "EMIT_CYCLES": 50,
    "SEND_CYCLES": 200,
    "EMIT_BYTE_CELLS": 1,
    "PAYLOAD_BYTE_CELLS": 1,
}

CONSTANTS = {
    "longest payload": (MAX_PAYLOAD_BYTES, 1_048_576),
    "longest handler": (MAX_HANDLER_BYTES, 256),
    "default handler": (DEFAULT_HANDLER, "handle_timer"),
    "origin of a fire": (ZERO_ORIGIN, bytes(32)),
    "least basefee": (MIN_BASEFEE, 800),
    "least that a minimum may be": (genesis.MIN_BASEFEE_FLOOR, 8),
    "least that the lane's minimum may be": (lane.LOWEST_MINIMUM, 8),
    "greatest basefee": (fees.MAX_BASEFEE, 2**62),
    "greatest lane price": (lane.MAX_PRICE, 2**62 - 1),
    "step of a basefee": (fees.STEP_DENOMINATOR, 8),
    "last address of the system": (lifecycle.LAST_RESERVED_ADDRESS, 0x0F),
    "brackets of the convention": (lifecycle.MAX_CONVENTION_BRACKETS, 64),
    "cells of a key": (lifecycle.KEY_CELLS, 32),
    "longest ring": (calendar.MAX_TIER, 65_536),
}


def scenario_of(**chain):
    return convert_scenario({"name": "numbers", "title": "", "chain": chain}, "here")


def genesis_from(**chain):
    scenario = scenario_of(**chain)
    return genesis_of(scenario, keys_of(scenario))


@pytest.mark.parametrize(
    ("found", "documented"),
    [
        pytest.param(msgspec.structs.asdict(TimerConfig()), TIMERS, id="timer configuration"),
        pytest.param(msgspec.structs.asdict(LaneConfig()), LANE, id="lane configuration"),
        pytest.param(msgspec.structs.asdict(CalendarProfile()), CALENDAR, id="calendar profile"),
        pytest.param(msgspec.structs.asdict(INTRO_CALENDAR), INTRODUCTION, id="profile intro"),
        pytest.param(msgspec.structs.asdict(FreeConfig()), FREE, id="free configuration"),
        pytest.param(
            {name: msgspec.structs.asdict(policy.default_config) for name, policy in POLICIES.items()},
            {
                "fifo": TIMERS,
                "fifo-free": TIMERS | {"schedule_cycles": 1_000, "cancel_cycles": 500},
                "eip1559": TIMERS,
                "gba-auction": TIMERS,
                "bias-auction": TIMERS,
                "aptos": TIMERS,
            },
            id="policies",
        ),
        pytest.param({name: getattr(Genesis(chain_id="", validators=()), name) for name in CHAIN}, CHAIN, id="genesis"),
        pytest.param({name: getattr(metering, name) for name in PRICES}, PRICES, id="prices"),
        *(pytest.param(*pair, id=name) for name, pair in CONSTANTS.items()),
    ],
)
def test_a_number_is_that_of_the_documents(found, documented):
    """Written out here once more, so that no number changes by a slip of one hand."""
    assert found == documented


@pytest.mark.parametrize(
    ("chain", "timers", "own"),
    [
        ({}, TIMERS, None),
        ({"policy": "fifo-free"}, TIMERS | {"schedule_cycles": 1_000, "cancel_cycles": 500}, FreeConfig(**FREE)),
        ({"policy": "eip1559"}, TIMERS, LaneConfig(**LANE)),
        ({"policy": "eip1559", "lane": {"profile": "intro"}}, TIMERS, LaneConfig(**LANE)),
    ],
    ids=["fifo", "fifo-free", "eip1559", "intro"],
)
def test_a_scenario_that_states_nothing_has_the_documented_chain(chain, timers, own):
    """Its sections hold defaults of their own."""
    found = genesis_from(**chain)

    assert msgspec.structs.asdict(found.timer_config) == timers
    assert msgspec.structs.asdict(found.calendar) == (INTRODUCTION if "lane" in chain else CALENDAR)
    config = b"" if own is None else msgspec.msgpack.encode(own)
    plain = {"policies": (PolicyEntry(1, chain.get("policy", "fifo"), config),), "calendar": found.calendar}
    assert {name: getattr(found, name) for name in CHAIN} == CHAIN | plain


def test_the_first_block_in_the_lane_asks_for_800_a_cycle():
    """The lane opens at the cycle basefee, which is 800 where genesis says nothing else (Q-4)."""
    engine = make_engine(make_genesis(**in_lane()))

    assert advance(engine).summary.lane_price == 800


def test_the_basefees_of_a_scenario_are_those_of_its_genesis():
    found = genesis_from(min_basefee=40, cycle_basefee=50, cell_basefee=60)

    assert (found.min_basefee, found.cycle_basefee, found.cell_basefee) == (40, 50, 60)
