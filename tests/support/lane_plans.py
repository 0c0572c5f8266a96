"""Plans of random chains in the timer lane: racers, agents that misbehave, governance, and the engine."""

import contextlib

import msgspec
from hypothesis import strategies as st

from scheduler import Rejected, TimerConfig, TimerScheduled
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    BOB,
    CAROL,
    PUPPET,
    TEST_PROGRAMS,
    in_lane,
    make_genesis,
    pay,
    propose,
    transaction,
)
from validators.actors import Actor, Revert
from validators.execution import (
    Engine,
    ExecuteActor,
    GenesisActor,
    SystemCancelTimer,
    SystemExtendTimer,
    SystemUpdateTimerConfig,
)

RACERS = tuple(bytes([0xD0 + index]) * 20 for index in range(4))
AGENT = b"\xd9" * 20
FUNDS = (BALANCE, BALANCE, 20_000_000, 6_000_000)
"""Two that are rich, two that run dry."""
OWNERS = (ALICE, ALICE, BOB, CAROL)
FEES = ("max_fee_per_cycle", "max_priority_fee_per_cycle", "priority_tier_hint", "gba", "bid")


def in_eight(context):
    """Return a bid's context in the lane's form: the GBA auction has no lane price and no median tip."""
    return context if len(context) == 8 else [*context[:4], context[2], context[4], 0, context[5]]


class Racer(Actor):
    """Schedules what its orders say; a timer uses what its payload says; an agent answers as it was told."""

    handlers = ("race", "relay", "tell", "drain", "handle_timer", "get_gas_bid")

    def race(self, payload: bytes) -> None:
        for order in msgspec.msgpack.decode(payload):
            self._schedule(*order)

    def relay(self, payload: bytes) -> None:
        self.host.send(self.host.actor, "race", payload, 9_000)

    def tell(self, payload: bytes) -> None:
        self.host.put(b"mode", payload)

    def drain(self, payload: bytes) -> None:
        self.host.transfer(ALICE, max(self.host.balance() - int.from_bytes(payload, "big"), 0))

    def handle_timer(self, payload: bytes) -> None:
        uses, ending, again = msgspec.msgpack.decode(payload)
        self.host.compute(uses)
        for order in again:
            self._schedule(*order)
        if ending == "revert":
            raise Revert("as ordered")
        if ending == "crash":
            raise ZeroDivisionError

    def get_gas_bid(self, payload: bytes) -> bytes:
        due, now, cycle, cell, lane, usage, p50, balance = in_eight(msgspec.msgpack.decode(payload))
        mode = self.host.get(b"mode") or b""
        if mode == b"revert":
            raise Revert("no bid")
        if mode == b"overrun":
            self.host.compute(10**6)
        if mode == b"write":
            with contextlib.suppress(Revert):
                self.host.put(b"k", b"v")
        if mode == b"late":
            return msgspec.msgpack.encode([2 * lane + (now - due), p50 + now - due, cell, 0])
        if mode == b"all":
            return msgspec.msgpack.encode([lane * 3, (cycle + usage + balance) % (lane + 7), cell, 0])
        return mode

    def _schedule(self, delay, payload, stated, fees):
        now = self.host.now
        ttl, watched = stated.pop("ttl", None), stated.pop("watched", None)
        if ttl is not None:
            stated["expires_at"] = now + delay + ttl
        if stated.get("fee_payer") == "sender":
            stated["fee_payer"] = self.host.sender
        try:
            if watched is None:
                self.host.schedule_timer(now + delay, payload, **stated, **fees)
            else:
                self.host.watch_timer([tuple(pair) for pair in watched], payload, **stated, **fees)
        except Rejected as error:
            self.host.emit(error.name)


NARROW = {"max_cycles_per_fire": 3_000, "lane_timer_cycles": 2_500, "max_cells_per_fire": 400}


def often(values, others):
    """Return a strategy that mostly draws from the first values."""
    return st.sampled_from([*values * (1 + 6 * len(others) // len(values)), *others])


payloads = st.builds(
    lambda uses, ending, again: msgspec.msgpack.encode([uses, ending, again]),
    st.sampled_from([0, 100, 700, 1_500]),
    often(["ok"], ["revert", "crash"]),
    st.just([]),
)
stated = st.fixed_dictionaries(
    {"gas_limit": often([400, 700, 1_000], [1_001, 2_400, None])},
    optional={"ttl": often([1, 3, 9], [0]), "fee_payer": often(["sender"], [BOB])},
)
fees = st.fixed_dictionaries(
    {},
    optional={
        "max_fee_per_cycle": often([850, 900, 1_000, 1_300, 2_000, 10**6], [0, 700, 2**63 - 1, -1]),
        "max_priority_fee_per_cycle": often([0, 1, 2, 3, 50, 120], [10**6, 2**63]),
        "priority_tier_hint": often(["economy", "standard", "fast", "urgent"], ["eager"]),
        "gba": often([AGENT, AGENT, RACERS[0]], [PUPPET, b"\x77" * 20]),
        "bid": st.just(5),
    },
)
delays = often([1, 1, 2, 3], [4, 5, 9, 15, 40, 100])
orders = st.tuples(delays, payloads, stated, fees).map(list)
again = st.builds(
    lambda order, uses, others: [order[0], msgspec.msgpack.encode([uses, "ok", others]), *order[2:]],
    orders,
    st.sampled_from([0, 300]),
    st.lists(orders, max_size=2),
)
senders = st.sampled_from([0, 0, 1, 2])


def race(actor, wanted, handler="race"):
    """Return a call of a racer."""
    payload = msgspec.msgpack.encode(wanted)
    return lambda sender, nonce, _known: transaction(sender, nonce, ExecuteActor(actor, handler, payload))


def tell(actor, mode):
    """Return a call that tells an agent how to answer."""
    return lambda sender, nonce, _known: transaction(sender, nonce, ExecuteActor(actor, "tell", mode))


def drain(actor, left):
    """Return a call after which a racer has at most `left` units."""
    payload = left.to_bytes(8, "big")
    return lambda sender, nonce, _known: transaction(sender, nonce, ExecuteActor(actor, "drain", payload))


def govern(changes):
    """Return an instruction that changes the configuration by keys, or that replaces the timers' by its fields."""
    encoded = msgspec.msgpack.encode(dict(sorted(changes.items())) if isinstance(changes, dict) else changes)
    return lambda sender, nonce, _known: transaction(sender, nonce, SystemUpdateTimerConfig(encoded))


def on_known(make, choice):
    """Return an instruction about a timer that was scheduled, or about none."""
    return lambda sender, nonce, known: transaction(
        sender, nonce, make(known[choice % len(known)] if known else bytes(32))
    )


LANE_VALUES = {
    "max_cycles_per_fire_auction_phase": st.sampled_from([500, 1_000, 2_000]),
    "min_lane_basefee": st.sampled_from([7, 8, 500, 800, 2_000]),
    "max_lane_basefee": st.sampled_from([850, 2**62]),
    "target_utilisation": st.sampled_from([[1, 2], [1, 10], [9, 10], [1, 1]]),
    "max_basefee_step": st.sampled_from([[1, 8], [1, 2], [1, 100]]),
    "lane_multiplier": st.sampled_from([[1, 1], [4, 5], [3, 2], [0, 1]]),
    "fairness_window_blocks": st.sampled_from([0, 1, 2, 3, 1_000]),
    "weight_min": st.sampled_from([[1, 1], [1, 2], [5, 2]]),
    "weight_max": st.sampled_from([[2, 1], [1, 1], [3, 2]]),
    "priority_tier_multipliers.fast": st.sampled_from([[3, 2], [0, 5], [7, 1]]),
    "gba_call_cycles": st.sampled_from([200, 300, 10_000]),
    "max_gba_calls_per_block": st.sampled_from([0, 1, 2, 1_000]),
    "gc_scan_per_block": st.sampled_from([0, 1, 2, 25_000]),
    "bid_deprecation_blocks": st.sampled_from([0, 3, 604_800]),
    "ring_size": st.sampled_from([1, 2, 5, 4_096]),
    "epoch_length": st.sampled_from([1, 2, 4, 3_600]),
    "epoch_horizon": st.sampled_from([0, 1, 3]),
    "slope": st.sampled_from(["literal", "classic"]),
    "settlement": st.sampled_from(["additive", "literal", "intro"]),
    "packing_account": st.sampled_from(["use", "limit"]),
    "packing_misfit": st.sampled_from(["skip", "stop"]),
    "classification": st.sampled_from(["eager", "cursor"]),
    "default_gba": st.sampled_from(["schedule", "fire"]),
    "tie_break": st.sampled_from(["id", "age", "append"]),
    "weight": st.sampled_from(["multiplicative", "additive"]),
    "median": st.sampled_from(["mean", "lower", "upper"]),
    "fairness_subject": st.sampled_from(["actor", "deployer"]),
    "max_allowed_delays": st.sampled_from([0, 1, 2, 5]),
    "excessive_delay": st.sampled_from(["off", "force", "cancel"]),
}
TIMER_VALUES = {
    "lane_timer_cycles": st.sampled_from([0, 900, 2_000, 4_000]),
    "gc_cycles_per_block": st.sampled_from([0, 200, 400, 2_000]),
    "execution_lane_paused": st.booleans(),
    "gc_lane_paused": st.booleans(),
    "max_cells_per_fire": st.sampled_from([0, 400]),
    "max_ttl_blocks": st.sampled_from([2, 9, 200]),
}
changes = st.fixed_dictionaries(
    {},
    optional={f"system:cip1:{name}": values for name, values in LANE_VALUES.items()}
    | {f"timer_config.{name}": values for name, values in TIMER_VALUES.items()},
).flatmap(
    # A few at a time, so that most of them are valid.
    lambda all_changes: st.sets(st.sampled_from(sorted(all_changes) or ["none"]), max_size=3).map(
        lambda names: {name: all_changes.get(name, 0) for name in names}
    )
)
modes = st.sampled_from(
    [b"late", b"all", b"revert", b"overrun", b"write", b"", msgspec.msgpack.encode([3_000, 40, 0, 0]), b"\x94\x01\x02"]
)


def calls_of(orders, modes):
    """Return a strategy of calls: mostly races with these orders."""
    races = st.builds(
        race, st.sampled_from(RACERS), st.lists(orders, min_size=3, max_size=7), often(["race"], ["relay"])
    )
    return st.one_of(
        *(races,) * 6,
        st.builds(tell, st.sampled_from([AGENT, AGENT, RACERS[0]]), modes),
        st.builds(drain, st.sampled_from(RACERS), st.sampled_from([0, 2_000_000, 4_000_000, 9_000_000])),
        st.builds(
            lambda actor, amount: lambda sender, nonce, _known: pay(sender, nonce, actor, amount),
            st.sampled_from(RACERS),
            st.just(8_000_000),
        ),
        st.integers(0, 40).map(lambda choice: on_known(SystemCancelTimer, choice)),
        st.builds(
            lambda choice, expires_at: on_known(lambda timer_id: SystemExtendTimer(timer_id, expires_at), choice),
            st.integers(0, 40),
            st.integers(0, 30),
        ),
    )


calls = calls_of(st.one_of(orders, again), modes)


def plans_of(wanted):
    """Return plans of chains: for each block, who sends what, and after how many milliseconds it comes."""
    block = st.tuples(
        st.lists(st.tuples(senders, wanted), min_size=1, max_size=4), often([1_000], [1_500, 4_000, 30_000])
    )
    return st.lists(block, min_size=4, max_size=14)


plans = plans_of(calls)
replacements = st.fixed_dictionaries({}, optional=TIMER_VALUES).map(
    lambda values: govern([*(msgspec.structs.asdict(TimerConfig(**NARROW)) | values).values()])
)
governed = plans_of(st.one_of(calls, calls, st.builds(govern, changes), replacements))
"""Plans with changes of the configuration by key."""
SMALL = {
    "max_cycles_per_fire_auction_phase": 1_000,
    "ring_size": 4,
    "epoch_length": 3,
    "epoch_horizon": 2,
    "fairness_window_blocks": 4,
}


def lane_config(changes):
    """Return small parameters of lane and calendar with some changed, by field."""
    names = {f"priority_tier_multipliers.{name}": f"tier_{name}" for name in ("economy", "standard", "fast", "urgent")}
    return SMALL | {names.get(name, name): value for name, value in changes.items()}


configs = st.fixed_dictionaries(
    {},
    optional={
        name: LANE_VALUES[name]
        for name in (
            *("slope", "settlement", "packing_account", "packing_misfit", "classification", "default_gba", "tie_break"),
            *(
                "weight",
                "median",
                "fairness_subject",
                "ring_size",
                "epoch_length",
                "max_gba_calls_per_block",
                "gc_scan_per_block",
            ),
            *("max_allowed_delays", "excessive_delay"),
        )
    },
)
chains = st.fixed_dictionaries(
    {
        "timebase": st.sampled_from(["slot", "height"]),
        "activation_height": st.sampled_from([1, 1, 2, 4, 6]),
        "lane_config": configs.map(lane_config),
        "timer_config": st.fixed_dictionaries({}, optional=TIMER_VALUES | {"lane_timer_cycles": st.just(4_000)}).map(
            lambda values: TimerConfig(**(NARROW | values))
        ),
    }
)


def make_lane_genesis(**changes):
    """Return a genesis of the lane with racers and an agent."""
    return make_racing_genesis(
        **in_lane(changes.pop("activation_height", 1), **changes.pop("lane_config", {})), **changes
    )


def make_racing_genesis(*actors, funds=FUNDS, **changes):
    """Return a genesis with racers, an agent and these actors; the first two senders are system deployers."""
    genesis = make_genesis(block_cycles=900_000, system_deployers=(ALICE, BOB), **changes)
    racers = tuple(
        GenesisActor(racer, "racer", owner, units) for racer, owner, units in zip(RACERS, OWNERS, funds, strict=True)
    )
    agent = GenesisActor(AGENT, "racer", ALICE, BALANCE, ((b"mode", b"late"),))
    return msgspec.structs.replace(genesis, actors=(*genesis.actors, *racers, agent, *actors))


def run_lane(plan, **changes):
    """Run a plan in the lane and return genesis and the finalized blocks."""
    return run_races(make_lane_genesis(**changes), plan)


def run_races(genesis, plan):
    """Run a plan and return genesis and the finalized blocks."""
    engine = Engine(
        genesis,
        programs={**TEST_PROGRAMS, "racer": Racer},
        verify_transaction=lambda transaction: transaction.signature[0] == 0,
    )
    nonces, chain, known = [0, 0, 0], [], []
    for index, (wanted, after_ms) in enumerate(plan):
        transactions = []
        for sender, make in wanted:
            transactions.append(make(sender, nonces[sender], known))
            nonces[sender] += 1
        executed = propose(engine, transactions, after_ms=after_ms, proposer=index % 2)
        engine.finalize(executed.digest)
        chain.append(executed)
        known += [event.timer_id for event in executed.events if isinstance(event, TimerScheduled)]
    return genesis, chain
