"""The timer lane on a chain: activation, bids from programs, agents, governance by key, tiers, forks and restarts."""

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import (
    EpochPromoted,
    GbaFailed,
    LaneConfig,
    TimerConfig,
    TimerConfigUpdated,
    TimerDeferred,
    TimerFired,
    TimerPriorityClampedAtSchedule,
    TimerScheduled,
)
from scheduler.lane_state import LANE_CONFIG, LANE_MARKET, RECENT_FIRES
from tests.support.chain_harness import (
    ALICE,
    PROPOSER,
    STORM,
    advance,
    balance_of,
    make_engine,
    make_genesis,
    order,
    propose,
    stored,
    transaction,
)
from tests.support.lane_chains import AGENT, GAS, HEARTS, beat, racing
from tests.support.properties import examples
from validators.actors import RiskOrder, StormOrder
from validators.execution import InvalidGenesisError, PolicyEntry, SystemUpdateTimerConfig, decode_receipt
from validators.execution.schema import (
    BUCKETS,
    CALENDAR,
    EPOCHS,
    OVERFLOW,
    TIMERS,
    decode_entry,
    epoch_key,
)
from validators.execution.timers import PoolKeeper, Waiting

LANE = msgspec.msgpack.encode(LaneConfig())


def events(executed, kind):
    return [event for event in executed.events if isinstance(event, kind)]


def fired(executed):
    return [event.actor for event in events(executed, TimerFired)]


def record(engine, table):
    return decode_entry(table.key(), engine.database.get(table.key())).record


def outcome(executed, index=0):
    receipt = decode_receipt(executed.receipts[index])
    return receipt.status, receipt.error


class TestActivation:
    def test_below_it_the_chain_is_fifo_and_from_it_on_tips_decide(self):
        """In the block of the activation already, for timers that were made before it."""
        engine = racing(activation=3)
        started = [
            beat(0, 0),
            beat(1, 1, max_fee_per_cycle=90_000, max_priority_fee_per_cycle=9),
            beat(2, 2, max_fee_per_cycle=90_000, max_priority_fee_per_cycle=99),
        ]
        advance(engine, started)
        assert fired(advance(engine)) == [HEARTS[0], HEARTS[1], HEARTS[2]]
        # Made in block 2, below the activation: what they offered then has no effect.
        third = advance(engine)
        assert {event.tip for event in events(third, TimerFired)} == {0}

        assert fired(advance(engine))[:2] == [HEARTS[2], HEARTS[1]]

    def test_it_rewrites_no_timer(self):
        """Fields that a pending timer lacks are derived when it is read."""
        engine = racing(activation=3)
        advance(engine, [beat(0, 0, interval=9)])
        advance(engine)
        changed = advance(engine).changes

        assert not [key for key in changed if key[0] in (TIMERS.code, BUCKETS.code)]
        assert LANE_MARKET.key() in changed

    def test_the_lane_begins_at_the_cycle_basefee(self):
        """Both are equal before; from here on each goes its own way."""
        engine = racing(activation=3)
        prices = [advance(engine).summary.lane_price for _ in range(3)]

        assert prices == [0, 0, 800]
        assert record(engine, LANE_MARKET).activation_basefee == 800

    @pytest.mark.parametrize(
        "policies",
        [
            (),
            (PolicyEntry(1, "fifo", LANE),),
            (PolicyEntry(1, "eip1559"),),
            (PolicyEntry(1, "eip1559", LANE + b"\0"),),
            (PolicyEntry(2, "eip1559", LANE),),
            (PolicyEntry(1, "fifo"), PolicyEntry(1, "eip1559", LANE)),
            (PolicyEntry(1, "fifo"), PolicyEntry(2, "fifo-free")),
            (PolicyEntry(1, "fifo"), PolicyEntry(2, "fifo")),
        ],
    )
    def test_policies_that_make_no_chain_are_refused(self, policies):
        """Heights begin at 1 and ascend, parameters are the policy's, and each can follow the one before."""
        with pytest.raises(InvalidGenesisError, match="polic"):
            make_engine(make_genesis(policies=policies))


class TestBids:
    def test_a_tip_goes_to_the_proposer_and_the_basefee_burns(self):
        """Both for the cycles that were used."""
        engine = racing()
        executed = advance(engine, [beat(0, 0, max_fee_per_cycle=90_000, max_priority_fee_per_cycle=50)])
        before = balance_of(engine, PROPOSER), balance_of(engine, HEARTS[0])
        executed = advance(engine)
        (fire,) = events(executed, TimerFired)

        assert fire.tip == 50 * fire.used_cycles
        assert fire.burned == fire.used_cycles * (800 + 800) + fire.used_cells * 800
        assert balance_of(engine, PROPOSER) == before[0] + fire.tip
        assert balance_of(engine, HEARTS[0]) == before[1] - fire.tip - fire.burned
        assert executed.summary.lane_burned == fire.used_cycles * 800
        assert (executed.summary.tips, executed.summary.burned) == (fire.tip, fire.burned)

    @pytest.mark.parametrize(
        ("terms", "error"),
        [
            ({"max_fee_per_cycle": 799}, "TimerRejectedBelowBasefee"),
            ({"priority_tier_hint": "lazy"}, "InvalidInput"),
        ],
    )
    def test_terms_that_make_no_sense_now_are_refused(self, terms, error):
        """By the names of the documents."""
        assert outcome(advance(racing(), [beat(0, 0, **terms)])) == (1, error)

    def test_a_tip_that_does_not_fit_is_clamped_and_told(self):
        """Right after TimerScheduled."""
        reported = advance(racing(), [beat(0, 0, max_fee_per_cycle=1_000, max_priority_fee_per_cycle=300)]).events

        assert [type(event) for event in reported] == [TimerScheduled, TimerPriorityClampedAtSchedule]
        assert (reported[1].stated, reported[1].clamped) == (300, 200)

    def test_a_tier_is_a_multiple_of_the_median_tip(self):
        """Of the fires of the block before."""
        engine = racing()
        advance(engine, [beat(0, 0, max_fee_per_cycle=90_000, max_priority_fee_per_cycle=100)])
        advance(engine, [beat(1, 1, priority_tier_hint="urgent")])
        reported = [advance(engine, [beat(2, 2, priority_tier_hint="urgent")]), advance(engine)]
        tips = [
            {event.actor: event.tip // event.used_cycles for event in events(executed, TimerFired)}
            for executed in reported
        ]

        # The second heart first asked when no tip had been paid yet; then both asked for two and a half times 100.
        assert tips[0][HEARTS[1]] == 0
        assert (tips[1][HEARTS[1]], tips[1][HEARTS[2]]) == (250, 250)

    def test_bid_is_ignored_and_then_refused(self):
        """The rule holds from the stated number of blocks after the activation on."""
        engine = racing(activation=2, bid_deprecation_blocks=2)
        outcomes = [outcome(advance(engine, [beat(nonce, 0, bid=5)])) for nonce in range(4)]

        assert outcomes == [(0, ""), (0, ""), (0, ""), (1, "TimerArgDeprecated")]

    def test_who_is_priced_out_waits(self):
        """Below the basefee there is no attempt and no fee; the rest goes on."""
        engine = racing(timers=TimerConfig(max_cells_per_fire=2_000, lane_timer_cycles=2_700))
        rich = [beat(heart, heart, max_fee_per_cycle=90_000) for heart in (0, 1)]
        advance(engine, [*rich, beat(2, 2, interval=4, max_fee_per_cycle=800)])
        reported = [advance(engine) for _ in range(4)]

        assert [event.reason for event in events(reported[-1], TimerDeferred)] == ["below_basefee"]
        assert reported[-1].summary.lane_price > 800
        assert sorted(fired(reported[-1])) == [HEARTS[0], HEARTS[1]]


class TestAgents:
    def asked(self, **options):
        engine = racing(**options)
        return engine, [beat(nonce, nonce, gba=AGENT) for nonce in range(3)]

    def test_the_risk_agent_bids_more_near_the_limit(self):
        """Normal, alarmed, past the limit: 2, 4 and 16 times the lane's price."""
        tips = []
        for debt in (5, 8, 10):
            engine, _ = self.asked()
            advance(engine, [order(0, 0, AGENT, "assess", RiskOrder(10, debt, 1)), beat(1, 0, gba=AGENT)])
            (fire,) = events(advance(engine), TimerFired)
            tips.append(fire.tip // fire.used_cycles)

        assert tips == [0, 2, 8]

    @pytest.mark.parametrize(
        ("mode", "reason"),
        [
            (b"revert", "failed"),
            (b"crash", "failed"),
            (b"write", "failed"),
            (b"spin", "overrun"),
            (b"negative", "absurd"),
            (b"great", "absurd"),
            (b"garbage", "absurd"),
            (b"short", "absurd"),
        ],
    )
    def test_one_that_fails_leaves_its_timers_the_default_values(self, mode, reason):
        """An event has the kind of failure; its writes are discarded, and the call is free."""
        engine, calls = self.asked(mode=mode)
        advance(engine, calls)
        executed = advance(engine)

        assert [(event.reason, event.count) for event in events(executed, GbaFailed)] == [(reason, 1)] * 3
        assert sorted(fired(executed)) == sorted(HEARTS[:3])
        assert stored(engine, AGENT, b"asked") is None
        assert executed.summary.lane_cycles == sum(event.used_cycles for event in events(executed, TimerFired))

    def test_an_agent_that_does_not_exist_fails(self):
        """It is asked all the same."""
        engine = racing()
        advance(engine, [beat(0, 0, gba=b"\x77" * 20)])

        assert [event.reason for event in events(advance(engine), GbaFailed)] == ["failed"]

    def test_no_more_are_asked_than_a_block_may_ask(self):
        """The oldest; one event counts the others."""
        engine, calls = self.asked(mode=b"low", max_gba_calls_per_block=1)
        advance(engine, calls)

        assert [(event.reason, event.count) for event in events(advance(engine), GbaFailed)] == [("call_limit", 2)]

    def test_an_agent_may_not_use_more_than_its_cycles(self):
        """200 for the call, 50 for what it reads."""
        reasons = []
        for cycles in (249, 250):
            engine, calls = self.asked(mode=b"low", gba_call_cycles=cycles)
            advance(engine, calls[:1])
            reasons.append([event.reason for event in events(advance(engine), GbaFailed)])

        assert reasons == [["overrun"], []]


class TestGovernance:
    def govern(self, engine, nonce, changes):
        encoded = msgspec.msgpack.encode(dict(sorted(changes.items())))
        return advance(engine, [transaction(0, nonce, SystemUpdateTimerConfig(encoded))])

    def test_every_parameter_of_the_lane_has_a_key(self):
        """A map of keys changes those and leaves the others; it holds from the next block on."""
        engine = racing()
        config = LaneConfig(
            *(51_000, 900, 10**6, 7, (1, 3), (1, 9), (3, 2), 5, (1, 2), (5, 2), (1, 1), (1, 2), (2, 1), (3, 1)),
            *(5_000, 3, 44, 9, "classic", "literal", "limit", "stop", "cursor", "fire", "age"),
            *("additive", "lower", "deployer", 5, "cancel"),
        )
        values = msgspec.structs.asdict(config)
        default = msgspec.structs.asdict(LaneConfig())
        assert not [name for name in values if values[name] == default[name] and name != "tier_economy"]
        executed = self.govern(engine, 0, {LaneConfig.key_of(name): value for name, value in values.items()})

        assert outcome(executed) == (0, "")
        assert record(engine, LANE_CONFIG) == config
        assert executed.summary.lane_price == 800
        assert LaneConfig.key_of("tier_urgent") == "system:cip1:priority_tier_multipliers.urgent"

    def test_both_configurations_change_by_one_instruction(self):
        """The event has the bytes of the instruction."""
        engine = racing()
        executed = self.govern(engine, 0, {"system:cip1:ring_size": 9, "timer_config.lane_timer_cycles": 4_000})
        (reported,) = events(executed, TimerConfigUpdated)

        assert record(engine, CALENDAR).ring_size == 9
        assert msgspec.msgpack.decode(reported.config) == {
            "system:cip1:ring_size": 9,
            "timer_config.lane_timer_cycles": 4_000,
        }

    @pytest.mark.parametrize(
        "encoded",
        [
            msgspec.msgpack.encode({}),
            msgspec.msgpack.encode({"system:cip1:ring": 9}),
            msgspec.msgpack.encode({"timer_config.lane_timer_cycles": 0}),
            msgspec.msgpack.encode({"timer_config.lane_timer_cycles": True}),
            msgspec.msgpack.encode({"timer_config.gc_lane_paused": 1}),
            msgspec.msgpack.encode({"system:cip1:ring_size": 0}),
            msgspec.msgpack.encode({"system:cip1:ring_size": "9"}),
            msgspec.msgpack.encode({"system:cip1:weight_max": [1, 0]}),
            msgspec.msgpack.encode({"system:cip1:weight_max": [1, 2]}),
            msgspec.msgpack.encode({"system:cip1:slope": "steep"}),
            msgspec.msgpack.encode({"timer_config.extend_cycles": 9, "system:cip1:ring_size": 9}),
            b"\x82" + 2 * msgspec.msgpack.encode({"timer_config.extend_cycles": 9})[1:],
            b"\x81\xd9" + msgspec.msgpack.encode({"timer_config.extend_cycles": 9})[1:],
            msgspec.msgpack.encode({7: 9}),
            b"\x81\x91\x01\x01",
            msgspec.msgpack.encode({"system:cip1:ring_size": 9}) + b"\0",
        ],
    )
    def test_what_is_no_change_is_refused_as_a_whole(self, encoded):
        """Unknown keys, wrong types, values that no chain can run on, another order or encoding."""
        engine = racing()
        before = engine.database.get(LANE_CONFIG.key())
        executed = advance(engine, [transaction(0, 0, SystemUpdateTimerConfig(encoded))])

        assert outcome(executed) == (1, "InvalidInput")
        assert engine.database.get(LANE_CONFIG.key()) == before

    def test_a_chain_without_a_lane_does_not_know_its_keys(self):
        """Those of timer configuration and calendar are known there too."""
        engine = make_engine(make_genesis(system_deployers=(ALICE,)))

        assert outcome(self.govern(engine, 0, {"system:cip1:slope": "classic"})) == (1, "InvalidInput")
        assert outcome(self.govern(engine, 1, {"timer_config.extend_cycles": 9})) == (0, "")
        assert outcome(self.govern(engine, 2, {"system:cip1:ring_size": 9})) == (0, "")


def root_of_heights(buckets):
    """The root over heights with their buckets' records, as docs/state.md has it."""
    if len(buckets) == 1:
        ((height, value),) = buckets.items()
        return hashlib.sha256(b"\0" + height.to_bytes(8, "big") + value).digest()
    differing = 0
    for height in buckets:
        differing |= height ^ min(buckets)
    bit = 64 - differing.bit_length()
    sides = [
        {height: value for height, value in buckets.items() if (height >> (63 - bit)) % 2 == side} for side in (0, 1)
    ]
    return hashlib.sha256(b"\1" + bytes([bit]) + b"".join(map(root_of_heights, sides))).digest()


def assert_tiers(engine, now):
    """The tables of the tiers are what the buckets, the configuration and the present say."""
    entries = dict(engine.database.items())
    config = record(engine, CALENDAR)
    buckets = {int.from_bytes(key[1:9], "big"): value for key, value in entries.items() if key[0] == BUCKETS.code}
    epoch = now // config.epoch_length
    beyond = {
        height: value
        for height, value in buckets.items()
        if height - now >= config.ring_size or (value.endswith(b"\xc3") and height // config.epoch_length > epoch)
    }
    last = epoch + config.epoch_horizon
    epochs = {}
    for height in beyond:
        if height // config.epoch_length <= last:
            epochs[height // config.epoch_length] = epochs.get(height // config.epoch_length, 0) + 1
    overflow = {height: value for height, value in beyond.items() if height // config.epoch_length > last}

    stored_epochs = {key: value for key, value in entries.items() if key[0] == EPOCHS.code}
    assert stored_epochs == {epoch_key(epoch): msgspec.msgpack.encode([count]) for epoch, count in epochs.items()}
    expected = msgspec.msgpack.encode([len(overflow), root_of_heights(overflow)]) if overflow else None
    assert entries.get(OVERFLOW.key()) == expected
    assert engine.due_heights(2**40) == sorted(buckets)


SIZES = {"ring_size": 3, "epoch_length": 5, "epoch_horizon": 2}


class TestTiers:
    def test_an_epoch_that_begins_is_told_first_in_the_block(self):
        """With the heights that left the overflow tree for it."""
        engine = racing(**SIZES)
        make = order(0, 0, STORM, "make", StormOrder(12, 10, 0, 12, 50, GAS))
        advance(engine, [make])
        reported = [advance(engine) for _ in range(9)]
        promoted = [(executed.header.height, *events(executed, EpochPromoted)) for executed in reported]

        assert [(height, event.epoch, event.heights) for height, event in filter(lambda it: len(it) > 1, promoted)] == [
            (5, 1, 5),
            (10, 2, 3),
        ]
        assert isinstance(decode_receipt(reported[3].receipts[0]).event, EpochPromoted)

    @examples(25)
    @given(
        st.lists(
            st.one_of(
                st.tuples(st.just("make"), st.integers(1, 4), st.integers(1, 40), st.integers(1, 9)),
                st.tuples(st.just("govern"), st.integers(1, 6), st.integers(1, 9), st.integers(0, 3)),
                st.tuples(st.just("wait"), st.sampled_from([1_000, 1_000, 3_000, 17_000, 60_000])),
            ),
            max_size=8,
        )
    )
    def test_their_tables_follow_from_buckets_configuration_and_present(self, steps):
        """Whatever was scheduled, delivered and changed, with jumps over more than the ring."""
        engine = racing(genesis={"timebase": "slot"}, **SIZES)
        nonce = 0
        for verb, *arguments in steps:
            after_ms, calls = 1_000, []
            if verb == "make":
                count, delay, spread = arguments
                calls = [order(0, nonce, STORM, "make", StormOrder(count, delay, 0, spread, 9, GAS))]
            elif verb == "govern":
                sizes = dict(zip(("ring_size", "epoch_length", "epoch_horizon"), arguments, strict=True))
                changes = {f"system:cip1:{name}": size for name, size in sorted(sizes.items())}
                calls = [transaction(0, nonce, SystemUpdateTimerConfig(msgspec.msgpack.encode(changes)))]
            else:
                (after_ms,) = arguments
            nonce += len(calls)
            executed = advance(engine, calls, after_ms=after_ms)
            assert_tiers(engine, executed.header.slot)


TERMS = st.sampled_from(
    [{}, {"max_fee_per_cycle": 90_000, "max_priority_fee_per_cycle": 70}, {"max_fee_per_cycle": 850}, {"gba": AGENT}]
)


class TestForksAndRestarts:
    @examples(25)
    @given(
        st.lists(st.tuples(st.integers(0, 3), TERMS, st.integers(0, 3)), min_size=2, max_size=9),
        st.sampled_from(["eager", "cursor"]),
        st.integers(1, 4),
    )
    def test_the_pool_that_follows_the_blocks_equals_one_made_anew(self, plan, classification, activation):
        """On random trees of blocks: a validator that builds the pool for each block has the same roots."""
        options = {"activation": activation, "mode": b"low", "classification": classification}
        options |= {"timers": TimerConfig(max_cells_per_fire=2_000, lane_timer_cycles=2_500, max_ttl_blocks=4)}
        keeping, fresh = racing(**options), racing(**options)
        tips = [(keeping.finalized_digest, 0)]
        for heart, terms, place in plan:
            parent, nonce = tips[place % len(tips)]
            executed = propose(keeping, [beat(nonce, heart, **terms)], parent=parent, skipped_views=len(tips))
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(PoolKeeper, "take", lambda *_: None)
                again = fresh.execute(executed.block)
            assert again.digest == executed.digest
            tips.append((executed.digest, nonce + len(executed.block.transactions)))

    def test_a_restart_goes_on_as_if_nothing_had_happened(self):
        """Pool, sums of the window and tiers come from the state alone."""
        engine = racing(fairness_window_blocks=3, ring_size=2, epoch_length=3, epoch_horizon=1)
        chain = [advance(engine, [beat(0, 0), beat(1, 1, max_fee_per_cycle=90_000, max_priority_fee_per_cycle=9)])]
        chain += [advance(engine, [beat(2, 2, interval=7)]), *(advance(engine) for _ in range(5))]
        log = [operation for executed in chain for operation in executed.operations]
        restarted = make_engine(engine._rules.genesis, operations=log, header=engine.finalized)

        for _ in range(5):
            expected, found = advance(engine), advance(restarted)
            assert found.header.state_root == expected.header.state_root
            assert found.events == expected.events

    @pytest.mark.parametrize("is_carried", [True, False])
    def test_the_sums_by_count_are_those_of_the_state(self, is_carried, monkeypatch):
        """Carried from block to block, or worked out anew where a restart has lost them."""
        engine = racing(fairness_window_blocks=3)
        advance(engine, [beat(0, 0), beat(1, 1, interval=2), beat(2, 2, interval=3)])
        for _ in range(9):
            if not is_carried:
                waiting = engine._tree.finalized.waiting
                monkeypatch.setattr(engine._tree.finalized, "waiting", Waiting(waiting.timers, waiting.through, None))
            advance(engine)
            recent = [
                msgspec.msgpack.decode(value)[0]
                for key, value in engine.database.items()
                if key[0] == RECENT_FIRES.code
            ]
            assert engine._tree.finalized.waiting.carried == {count: recent.count(count) for count in recent}
        assert len(dict.fromkeys(recent)) > 1
