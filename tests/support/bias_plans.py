"""Plans of random chains under the bias auction, alone or after and before another policy; racers run them."""

import msgspec
from hypothesis import strategies as st

from checker.oracle.bias_records import BiasConfig
from checker.oracle.escrow import ESCROW
from scheduler import CalendarProfile, LaneConfig, TimerConfig
from scheduler.policies.fifo_free import FreeConfig
from scheduler.watch_records import TriggerConfig
from tests.support.chain_harness import ALICE, BOB, pay
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
from validators.execution import PolicyEntry

BIAS_VALUES = {
    "bias_lambda": st.sampled_from([100_000, 1_000, 700_000, 0]),
    "reserve": st.sampled_from([10, 0, 60]),
    "max_fires_per_block": st.sampled_from([1, 2, 3, 256]),
    "max_fires_per_actor": st.sampled_from([1, 2, 32]),
    "payment": st.sampled_from(["vcg-literal", "vcg-critical", "first-price"]),
    "lambda_window_blocks": st.sampled_from([0, 1, 2, 3]),
    "value_decay": st.sampled_from([[1, 1], [1, 10], [0, 1], [5, 1]]),
    "target_wait": st.sampled_from([0, 1, 2]),
    "lambda_min": st.sampled_from([1_000, 1, 90_000]),
    "lambda_max": st.sampled_from([1_000_000, 80_000_000, 800_000]),
    "gba_call_cycles": st.sampled_from([200, 300, 2_000]),
    "max_watches_per_actor": st.sampled_from([64, 0, 1, 3]),
    "max_keys_per_watch": st.sampled_from([8, 1, 2]),
    "max_triggers_per_block": st.sampled_from([1_000, 0, 1, 2]),
}
LIGHT = {"gba_call_cycles": 1_000}

fees = st.fixed_dictionaries(
    {},
    optional={
        "bid": often([10, 60, 75, 200, 5_000, 0], [3, 10**16]),
        "gba": often([AGENT, RACERS[0]], [b"\x77" * 20]),
        "max_fee_per_cycle": st.sampled_from([900, 2_000]),
    },
)
stated = st.fixed_dictionaries(
    {},
    optional={
        "gas_limit": often([400, 700, 1_000, 1_500], [2_400, 3_000]),
        "ttl": often([3, 9], [0]),
        "fee_payer": often(["sender"], [BOB]),
    },
)
WATCHABLE = (
    [ALICE, None],
    [BOB, None],
    [RACERS[2], None],
    [AGENT, b"mode"],
    [RACERS[0], b"mode"],
    [b"\x07" * 20, b"k" * 11],
)
watching = st.builds(
    lambda terms, watched: {**terms, "watched": watched},
    stated,
    often([1, 2, 3], [0, 9]).flatmap(
        lambda count: st.lists(st.sampled_from(WATCHABLE), min_size=min(count, 1), max_size=count)
    ),
)
"""Terms of timers that watch values: balances that each block moves and such as change seldom, some of them twice."""
orders = st.tuples(delays, payloads, st.one_of(stated, watching), fees).map(list)
modes = st.one_of(
    st.sampled_from([b"late", b"revert", b"overrun", b"write", b"", b"\x94\x01\x02"]),
    st.builds(
        lambda tip, limit: msgspec.msgpack.encode([0, tip, 0, limit]),
        st.sampled_from([0, 1, 40]),
        st.sampled_from([0, 400, 900, 10_000]),
    ),
)
changes = st.one_of(
    *(
        values.map(lambda value, key=key: {key: value})
        for key, values in [
            *((f"system:bias:{name}", values) for name, values in BIAS_VALUES.items()),
            *((f"timer_config.{name}", values) for name, values in TIMER_VALUES.items()),
            *((f"system:watch:{name}", BIAS_VALUES[name]) for name in TriggerConfig.__struct_fields__),
        ]
    )
)
to_the_escrow = st.just(lambda sender, nonce, _known: pay(sender, nonce, ESCROW, 5))
plans = plans_of(st.one_of(*(calls_of(orders, modes),) * 6, st.builds(govern, changes), to_the_escrow))

configs = st.fixed_dictionaries({}, optional=BIAS_VALUES).filter(
    lambda fields: BiasConfig()._replace(**fields).lambda_min <= fields.get("bias_lambda", 100_000)
)
PAIRS = (
    *(("bias-auction",),) * 4,
    *(("eip1559",),) * 2,
    *(("fifo", "bias-auction"), ("fifo-free", "bias-auction"), ("bias-auction", "fifo"), ("bias-auction", "eip1559")),
    *(("fifo", "bias-auction", "eip1559"), ("fifo-free", "bias-auction", "fifo")),
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
        "calendar": st.just(CalendarProfile(epoch_length=4)),
        "timer_config": st.fixed_dictionaries({}, optional=TIMER_VALUES | {"lane_timer_cycles": st.just(4_000)}).map(
            lambda values: TimerConfig(**(NARROW | {"lane_timer_cycles": 3_000} | values))
        ),
    }
)


def _config_of(name, config):
    if name == "bias-auction":
        return msgspec.msgpack.encode(list(BiasConfig()._replace(**(LIGHT | config))))
    if name != "eip1559":
        return msgspec.msgpack.encode(FreeConfig()) if name == "fifo-free" else b""
    lane = msgspec.msgpack.encode(LaneConfig())
    limits = {field: config[field] for field in TriggerConfig.__struct_fields__ if field in config}
    # Half of the chains have the switch on, with limits as under the auction.
    return msgspec.msgpack.encode([lane, msgspec.msgpack.encode(TriggerConfig(**limits))]) if limits else lane


def policies_of_bias(changes):
    """Return the policies of a chain under the auction, with some parameters changed."""
    return (PolicyEntry(1, "bias-auction", _config_of("bias-auction", changes)),)


def run_bias(plan, **changes):
    """Run a plan and return genesis and the finalized blocks."""
    return run_races(make_racing_genesis(**changes), plan)
