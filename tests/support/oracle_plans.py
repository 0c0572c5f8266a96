"""Plans of random hostile chains: what is in their blocks, and the engine that runs them."""

import msgspec
from hypothesis import strategies as st

from scheduler import MAX_U63, TimerConfig, TimerScheduled
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    BOB,
    CAROL,
    DAVE,
    HEART,
    POOR,
    PUPPET,
    STORM,
    do,
    make_engine,
    make_genesis,
    pay,
    propose,
    transaction,
)
from tests.support.chain_harness import order as call_with
from validators.actors import (
    CancelOrder,
    FeedOrder,
    GameOrder,
    HeartbeatOrder,
    PlanOrder,
    PositionOrder,
    PriceOrder,
    StormOrder,
    Submission,
)
from validators.execution import (
    ExecuteActor,
    GenesisActor,
    SystemCancelTimer,
    SystemExtendTimer,
    SystemUpdateTimerConfig,
)

FEED, BOT, GAME, PLAYER, PLAN, SHOP = (bytes([0xC0 + index]) * 20 for index in range(6))

TIGHT = TimerConfig(
    max_ttl_blocks=6,
    max_cycles_per_fire=1_500,
    max_cells_per_fire=60,
    max_timers_per_actor=5,
    gc_cycles_per_block=400,
    lane_timer_cycles=2_500,
)
ROOMY = TimerConfig(max_ttl_blocks=20, max_cycles_per_fire=9_000, max_cells_per_fire=400, lane_timer_cycles=9_000)
"""Room enough for feeds and bots."""


addresses = st.sampled_from([ALICE, BOB, CAROL, DAVE, HEART, STORM, PUPPET, POOR, bytes(20), bytes(19) + b"\x0f"])
keys = st.sampled_from([b"", b"k", b"0123456789", b"a key that is longer than ten bytes"])
plain_steps = st.one_of(
    st.tuples(st.just("put"), keys, st.binary(max_size=12)),
    st.tuples(st.just("delete"), keys),
    st.tuples(st.just("pay"), addresses, st.sampled_from([0, 1, 10**6, 10**13, 2**63 - 1])),
    st.tuples(st.just("emit"), st.sampled_from(["", "topic", "\u00e9"])),
    st.tuples(st.just("compute"), st.sampled_from([0, 1, 300, 900, 10**6])),
    st.tuples(st.just("revert"), st.sampled_from(["", "no", "x" * 200])),
    st.just(("crash",)),
    st.tuples(st.just("swallow"), st.sampled_from([100, 10**6])),
    st.tuples(st.just("cancel_last")),
    st.tuples(st.just("extend_last"), st.integers(0, 30)),
)


def timers_of(steps):
    return st.tuples(
        st.just("timer"),
        st.sampled_from([1, 2, 1, 3, 0]),
        st.lists(steps, max_size=3),
        st.sampled_from([1_200, None, 700, 1_500, 0, 1_501]),
        st.sampled_from([None, 1, 0, 3, 9]),
        st.sampled_from([None, None, ALICE, PUPPET, POOR, bytes(19) + b"\x0f"]),
    )


def messages_of(steps):
    return st.tuples(
        st.just("send"),
        st.sampled_from([PUPPET, POOR] * 6 + [HEART, b"\x77" * 20, b"short"]),
        st.lists(steps, max_size=3),
        st.sampled_from([900, 1_500, 2_500, 200, 4_000] * 4 + [199, 4_001]),
        st.sampled_from(["do", "handle_timer"] * 10 + ["hidden", "h" * 257]),
    )


changes_of_last = st.one_of(
    st.tuples(st.just("cancel_last")), st.tuples(st.just("extend_last"), st.integers(2, 30)), st.just(("revert", "no"))
)
calls_of_others = st.one_of(plain_steps, timers_of(plain_steps), messages_of(plain_steps))
steps = st.one_of(plain_steps, timers_of(calls_of_others), messages_of(calls_of_others))
limits = st.sampled_from([{}, {"cycles_limit": 1_500}, {"cells_limit": 400}, {"max_fee_per_cycle": 801}])
HANDLERS = {
    HEART: ("start", "stop", "handle_timer"),
    STORM: ("make", "cancel", "withdraw", "handle_timer", "fail", "spin", "crash", "spend", "none"),
    FEED: ("start", "submit", "handle_timer"),
    BOT: ("open", "price", "handle_timer"),
    GAME: ("start", "move", "handle_timer"),
    PLAYER: ("on_tick",),
    PLAN: ("subscribe", "cancel", "handle_timer"),
    SHOP: ("paid",),
}
gases = st.sampled_from([0, 1_400, 700])
intervals = st.sampled_from([1, 2, 1, 0])
# The first sender owns most actors.
senders = st.sampled_from([0, 0, 0, 1, 2, 3])


def call_of(actor, handler, record):
    """Return a call with a record as payload, for a sender and a nonce that are not known yet."""
    return lambda sender, nonce, _known: call_with(sender, nonce, actor, handler, record)


def instruction_on(make_call, choice):
    """Return a system instruction about one of the timers that were ever scheduled, or about none."""

    def instruct(sender, nonce, known):
        timer_id = known[choice % len(known)] if known else bytes(32)
        return transaction(sender, nonce, make_call(timer_id))

    return instruct


def configuration(changes, tail):
    """Return an instruction with a configuration, spoiled by what is appended to it."""
    encoded = msgspec.msgpack.encode(msgspec.structs.replace(TIGHT, **changes)) + tail
    return lambda sender, nonce, _known: transaction(sender, nonce, SystemUpdateTimerConfig(encoded))


def raw_configuration(fields):
    """Return an instruction whose configuration the chain's own type need not allow."""
    encoded = msgspec.msgpack.encode(fields)
    return lambda sender, nonce, _known: transaction(sender, nonce, SystemUpdateTimerConfig(encoded))


bools = st.booleans()
good_fields = [*msgspec.structs.astuple(TIGHT)]
instructions = st.one_of(
    st.integers(0, 50).map(lambda choice: instruction_on(SystemCancelTimer, choice)),
    st.builds(
        lambda choice, expires_at: instruction_on(lambda timer_id: SystemExtendTimer(timer_id, expires_at), choice),
        st.integers(0, 50),
        st.one_of(st.integers(0, 30), st.just(MAX_U63)),
    ),
    st.builds(
        configuration,
        st.fixed_dictionaries(
            {"execution_lane_paused": bools, "gc_lane_paused": bools},
            optional={
                "lane_timer_cycles": st.sampled_from([1, 1_300, 2_500, 9_000]),
                "gc_cycles_per_block": st.sampled_from([0, 199, 200, 1_000]),
                "gc_cost_per_timer": st.sampled_from([1, 150]),
                "max_ttl_blocks": st.sampled_from([0, 2, 20, MAX_U63]),
                "max_timers_per_actor": st.sampled_from([0, 1, 9]),
                "max_cycles_per_fire": st.sampled_from([0, 800, 3_000]),
                "max_cells_per_fire": st.sampled_from([0, 200]),
                "schedule_cycles": st.sampled_from([0, 900]),
                "extend_cycles": st.sampled_from([0, 350]),
                "cancel_cycles": st.sampled_from([0, 450]),
            },
        ),
        st.sampled_from([b"", b"", b"", b"", b"\0"]),
    ),
    st.builds(
        lambda index, value: raw_configuration([*good_fields[:index], value, *good_fields[index + 1 :]]),
        st.integers(0, 11),
        st.sampled_from([0, 1, -1, MAX_U63, 2**63, True, 1.0, "1", None, []]),
    ),
    st.integers(0, 11).map(lambda size: raw_configuration(good_fields[:size])),
)
storm_handlers = st.sampled_from(["", "", "fail", "spin", "crash", "spend", "handle_timer", "none", "Up"])
messaging = st.one_of(
    st.builds(
        lambda interval, players, gas, cycles: call_of(GAME, "start", GameOrder(interval, players, gas, cycles)),
        intervals,
        st.lists(st.sampled_from([PLAYER, PLAYER, SHOP, b"\x77" * 20]), max_size=3).map(tuple),
        st.sampled_from([0, 9_000]),
        st.sampled_from([1_700, 2_000, 300]),
    ),
    st.builds(
        lambda price, interval: call_of(PLAN, "subscribe", PlanOrder(SHOP, price, interval)),
        st.sampled_from([0, 10**6, 4 * 10**12]),
        intervals,
    ),
    st.just(lambda sender, nonce, _known: call_with(sender, nonce, PLAN, "cancel", None)),
)
programs = st.one_of(
    st.builds(lambda interval, gas: call_of(HEART, "start", HeartbeatOrder(interval, gas)), intervals, gases),
    st.builds(
        lambda count, spread, ttl, handler, sender_pays, offset: call_of(
            STORM, "make", StormOrder(count, 1, 0, spread, ttl, 1_000, 4, handler, sender_pays, offset=offset)
        ),
        st.integers(1, 6),
        st.integers(1, 2),
        st.integers(0, 7),
        storm_handlers,
        bools,
        st.sampled_from([0, 1, 2**63 - 1]),
    ),
    st.builds(lambda interval, gas: call_of(FEED, "start", FeedOrder(interval, gas)), intervals, gases),
    st.integers(0, 3).map(lambda value: call_of(FEED, "submit", Submission(value))),
    st.builds(
        lambda collateral, debt: call_of(BOT, "open", PositionOrder(collateral, debt)),
        st.sampled_from([0, 10, 2**40, 2**40 + 1]),
        st.sampled_from([0, 70, 71, 90, 91]),
    ),
    st.builds(
        lambda price, interval, gas: call_of(BOT, "price", PriceOrder(price, interval, gas)),
        st.sampled_from([0, 1, 10, 2**40]),
        intervals,
        gases,
    ),
    messaging,
    st.builds(
        lambda choices, is_known: (
            lambda sender, nonce, known: call_with(
                sender,
                nonce,
                STORM,
                "cancel",
                CancelOrder(tuple(known[choice % len(known)] if known and is_known else b"x" for choice in choices)),
            )
        ),
        st.lists(st.integers(0, 50), max_size=3),
        bools,
    ),
    st.builds(
        lambda place, payload: lambda sender, nonce, _known: transaction(sender, nonce, ExecuteActor(*place, payload)),
        st.sampled_from(
            [(actor, handler) for actor, handlers in HANDLERS.items() for handler in handlers],
        ),
        st.one_of(
            st.just(b""), st.binary(max_size=6), st.lists(st.integers(0, 3), max_size=9).map(msgspec.msgpack.encode)
        ),
    ),
)
calls = st.one_of(
    st.builds(
        lambda wanted, actor, changes: lambda sender, nonce, _: do(sender, nonce, *wanted, actor=actor, **changes),
        st.one_of(
            st.lists(steps, min_size=1, max_size=4),
            st.tuples(timers_of(changes_of_last), changes_of_last).map(list),
            st.lists(timers_of(changes_of_last), min_size=1, max_size=3),
        ),
        st.sampled_from([PUPPET, POOR, HEART, b"\x77" * 20]),
        limits,
    ),
    st.builds(
        lambda to, amount, changes: lambda sender, nonce, _: pay(sender, nonce, to, amount, **changes),
        addresses,
        st.sampled_from([0, 5, 10**12, 10**13]),
        limits,
    ),
    programs,
    instructions,
)


def plans_of(wanted, who=senders):
    return st.lists(
        st.tuples(st.lists(st.tuples(who, wanted), max_size=4), st.sampled_from([1_000, 1_500, 4_000])),
        min_size=3,
        max_size=9,
    )


plans = plans_of(calls)


def later_of(steps):
    return st.tuples(st.just("timer"), st.integers(1, 2), st.lists(steps, max_size=3))


relayed = messages_of(st.one_of(messages_of(calls_of_others), plain_steps, later_of(plain_steps)))
mail = plans_of(
    st.one_of(
        st.builds(
            lambda wanted, actor: lambda sender, nonce, _: do(sender, nonce, *wanted, actor=actor, cells_limit=50_000),
            st.lists(st.one_of(relayed, later_of(relayed)), min_size=1, max_size=4),
            st.sampled_from([PUPPET, POOR]),
        ),
        messaging,
    ),
    st.just(0),
)
"""Plans of chains on which programs send each other messages."""


def make_governed_genesis(**changes):
    """Return a genesis with all programs, on which the first two senders are system deployers."""
    fields = {"timer_config": TIGHT, "block_cycles": 900_000, "system_deployers": (ALICE, BOB)}
    fields = fields | {"mailbox_cycles": 4_000} | changes
    genesis = make_genesis(**fields)
    programs = {
        FEED: "oracle-feed",
        BOT: "liquidation-bot",
        GAME: "game-loop",
        PLAYER: "game-player",
        PLAN: "subscription",
        SHOP: "merchant",
    }
    services = tuple(GenesisActor(actor, program, ALICE, BALANCE) for actor, program in programs.items())
    return msgspec.structs.replace(genesis, actors=genesis.actors + services)


def run_engine(plan, **changes):
    """Run a plan and return genesis and the finalized blocks."""
    genesis = make_governed_genesis(**changes)
    engine = make_engine(genesis)
    nonces = [0, 0, 0, 0]
    chain, known = [], []
    for index, (wanted, after_ms) in enumerate(plan):
        transactions = []
        for sender, make in wanted:
            transactions.append(make(sender, nonces[sender], known))
            nonces[sender] += 1
        executed = propose(engine, transactions, after_ms=after_ms, proposer=index % 2)
        engine.finalize(executed.digest)
        chain.append(executed)
        known += [event.timer_id for event in executed.events if isinstance(event, TimerScheduled)]
        if len(executed.block.transactions) < len(transactions):
            # One did not fit; those after it of the same sender would not either.
            break
    return genesis, chain
