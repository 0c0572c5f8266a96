"""Plans of random chains under the GBA auction, alone or after and before another policy; racers run them."""

import msgspec
from hypothesis import strategies as st

from checker.oracle.auction import DEFAULT_AGENT
from checker.oracle.auction_records import AuctionConfig
from scheduler import CalendarProfile, LaneConfig, TimerConfig
from scheduler.policies.fifo_free import FreeConfig
from tests.support.chain_harness import BOB
from tests.support.lane_plans import (
    AGENT,
    NARROW,
    RACERS,
    TIMER_VALUES,
    calls_of,
    delays,
    govern,
    make_racing_genesis,
    often,
    payloads,
    plans_of,
    run_races,
)
from validators.execution import GenesisActor, PolicyEntry

AUCTION_VALUES = {
    "ema_lambda": st.sampled_from([[1, 5], [0, 1], [1, 1], [2, 3], [3, 2]]),
    "weight_initial": st.sampled_from([[1, 1], [1, 2], [9, 5], [3, 1]]),
    "weight_min": st.sampled_from([[1, 2], [0, 1], [1, 3]]),
    "weight_max": st.sampled_from([[2, 1], [10, 7], [1, 1]]),
    "starvation_floor": st.sampled_from([[4, 5], [0, 1], [5, 3]]),
    "starvation_deferrals": st.sampled_from([1, 2, 3, 0]),
    "reset_epoch": st.sampled_from([0, 1, 2, 3]),
    "rescale_epoch": st.sampled_from([0, 1, 2, 3]),
    "rescale": st.sampled_from([[1, 1], [3, 2], [1, 7], [0, 1]]),
    "gba_call_cycles": st.sampled_from([200, 300, 10_000]),
    "max_gba_calls_per_block": st.sampled_from([1, 2, 3, 0, 1_000]),
    "effective_tip": st.sampled_from(["bid", "intro"]),
    "budget": st.sampled_from(["hard", "literal"]),
    "timer_phase": st.sampled_from(["after", "before"]),
    "tie_break": st.sampled_from(["id", "append"]),
}
CALENDAR_VALUES = {"epoch_length": st.sampled_from([1, 2, 3, 5]), "ring_size": st.sampled_from([2, 4_096])}

fees = st.fixed_dictionaries(
    {"gba": often([AGENT, AGENT, DEFAULT_AGENT, RACERS[0]], [b"\x77" * 20, None])},
    optional={
        "max_fee_per_cycle": often([900, 2_000], [0, 10**6]),
        "max_priority_fee_per_cycle": often([0, 1, 50], [10**6]),
    },
)
stated = st.fixed_dictionaries(
    {"gas_limit": often([400, 700, 1_000, 1_500], [2_400, 3_000, None])},
    optional={"ttl": often([3, 9], [0]), "fee_payer": often([None], [BOB])},
)
orders = st.tuples(delays, payloads, stated, fees).map(list)
modes = st.one_of(
    st.sampled_from([b"late", b"all", b"revert", b"overrun", b"write", b"", b"\x94\x01\x02"]),
    st.builds(
        lambda fee, tip: msgspec.msgpack.encode([fee, tip, 0, 0]),
        st.sampled_from([700, 810, 900, 3_000]),
        st.sampled_from([0, 1, 1, 40]),
    ),
)
changes = st.one_of(
    *(
        values.map(lambda value, key=key: {key: value})
        for key, values in [
            *((f"system:gba:{name}", values) for name, values in AUCTION_VALUES.items()),
            *((f"system:cip1:{name}", values) for name, values in CALENDAR_VALUES.items()),
            *((f"timer_config.{name}", values) for name, values in TIMER_VALUES.items()),
        ]
    )
)
plans = plans_of(st.one_of(*(calls_of(orders, modes),) * 5, st.builds(govern, changes)))

valid = {
    name: values.filter(lambda value: value not in ([3, 2], [3, 1], [5, 3], 0))
    if name in ("ema_lambda", "weight_initial", "starvation_floor", "starvation_deferrals")
    else values
    for name, values in AUCTION_VALUES.items()
}
configs = st.fixed_dictionaries({}, optional=valid).filter(
    lambda fields: (
        not {"weight_initial", "weight_max", "weight_min"} & set(fields)
        or (fields.get("weight_max", [2, 1]) == [2, 1] and fields.get("weight_initial", [1, 1]) != [0, 1])
    )
)
PAIRS = (
    *(("gba-auction",),) * 4,
    *(("fifo", "gba-auction"), ("fifo-free", "gba-auction"), ("eip1559", "gba-auction"), ("gba-auction", "eip1559")),
    *(("fifo", "gba-auction", "eip1559"), ("fifo-free", "eip1559", "gba-auction")),
)
chains = st.fixed_dictionaries(
    {
        "timebase": st.sampled_from(["slot", "height"]),
        "policies": st.builds(
            lambda names, heights, config: tuple(
                PolicyEntry(height, name, _config_of(name, config))
                for name, height in zip(names, sorted(heights), strict=False)
            ),
            st.sampled_from(PAIRS),
            st.sampled_from([(1, 3, 6), (1, 4, 5), (1, 5, 9)]),
            configs,
        ),
        "calendar": st.fixed_dictionaries({"epoch_length": st.sampled_from([1, 2, 3, 4, 5])}).map(
            lambda sizes: CalendarProfile(**sizes)
        ),
        "timer_config": st.fixed_dictionaries({}, optional=TIMER_VALUES | {"lane_timer_cycles": st.just(4_000)}).map(
            lambda values: TimerConfig(**(NARROW | {"lane_timer_cycles": 3_000} | values))
        ),
    }
)


def _config_of(name, config):
    if name == "gba-auction":
        return msgspec.msgpack.encode(list(AuctionConfig()._replace(**config)))
    parameters = {"eip1559": LaneConfig, "fifo-free": FreeConfig}.get(name)
    return b"" if parameters is None else msgspec.msgpack.encode(parameters())


def policies_of_auction(changes):
    """Return the policies of a chain under the auction, with some parameters changed."""
    return (PolicyEntry(1, "gba-auction", _config_of("gba-auction", changes)),)


def run_auction(plan, **changes):
    """Run a plan and return genesis and the finalized blocks; the default agent is an actor of genesis."""
    default = GenesisActor(DEFAULT_AGENT, "default-agent", bytes(20), 0)
    return run_races(make_racing_genesis(default, **changes), plan)
