"""System instructions 48, 49 and 50: who may give them, what they do, and from which block on."""

import msgspec
import pytest

from scheduler import (
    TimerCancelledByGovernance,
    TimerConfig,
    TimerConfigUpdated,
    TimerExpired,
    TimerExtendedByGovernance,
    TimerFired,
)
from tests.support.chain_harness import ALICE, BALANCE, advance, do, make_engine, make_genesis, transaction
from validators.actors import Status
from validators.execution import (
    InvalidEncodingError,
    InvalidGenesisError,
    SystemCancelTimer,
    SystemExtendTimer,
    SystemUpdateTimerConfig,
    decode_receipt,
)
from validators.execution.blocks import decode_transaction, encode_transaction
from validators.execution.schema import TIMER_CONFIG, timer_key

CONFIG = TimerConfig(max_cells_per_fire=2_000)
OWNER, STRANGER = 0, 1


def governed(**changes):
    """Return an engine whose only system deployer is the first sender."""
    return make_engine(make_genesis(timer_config=CONFIG, system_deployers=(ALICE,), **changes))


def configured(**changes):
    return msgspec.msgpack.encode(msgspec.structs.replace(CONFIG, **changes))


def receipt_of(executed, index=0):
    return decode_receipt(executed.receipts[index])


def schedule(engine, delay=3, *, sender=OWNER, nonce=0, ttl=None, steps=()):
    """Let the puppet schedule a timer and return its identifier."""
    executed = advance(engine, [do(sender, nonce, ["timer", delay, list(steps), 10_000, ttl])])
    return executed.events[0].timer_id


def instruct(engine, call, *, sender=OWNER, nonce=1):
    """Put a system instruction into a block of its own and return the block."""
    return advance(engine, [transaction(sender, nonce, call)])


class TestAuthority:
    @pytest.mark.parametrize(
        "call",
        [
            SystemCancelTimer(bytes(32)),
            SystemUpdateTimerConfig(configured(gc_lane_paused=True)),
            SystemExtendTimer(bytes(32), 100),
        ],
    )
    def test_an_instruction_not_by_a_system_deployer_is_unauthorized(self, call):
        """It pays for what it used and changes nothing else."""
        engine = governed()
        executed = instruct(engine, call, sender=STRANGER, nonce=0)
        receipt = receipt_of(executed)

        assert (receipt.status, receipt.error, receipt.cycles) == (Status.REVERTED, "Unauthorized", 1_200)
        assert receipt.events == ()
        assert engine.database.get(TIMER_CONFIG.key()) == msgspec.msgpack.encode(CONFIG)

    def test_being_the_owner_of_a_timer_gives_no_right_to_system_instructions(self):
        """A timer's own actor cancels by its host call only."""
        engine = governed()
        timer_id = schedule(engine)

        assert receipt_of(instruct(engine, SystemCancelTimer(timer_id), sender=STRANGER, nonce=0)).status == 1
        assert engine.database.get(timer_key(timer_id)) is not None

    def test_a_deployer_named_twice_is_refused(self):
        """Genesis says each thing once."""
        with pytest.raises(InvalidGenesisError, match="system deployer"):
            make_engine(make_genesis(system_deployers=(ALICE, ALICE)))


class TestCancelTimer:
    def test_opcode_48_removes_a_timer_of_any_actor(self):
        """The timer is gone, its place under the cap is free, and it never fires."""
        engine = governed()
        timer_id = schedule(engine)
        executed = instruct(engine, SystemCancelTimer(timer_id))

        assert receipt_of(executed).events == (TimerCancelledByGovernance(timer_id, was_live=True),)
        assert executed.summary.cancelled == 1
        assert [advance(engine).summary.fired for _ in range(4)] == [0] * 4
        assert engine.database.get(timer_key(timer_id)) is None

    def test_opcode_48_is_a_no_op_with_a_flag_when_the_timer_is_gone(self):
        """Fired, cancelled or never made: the transaction succeeds and says that it changed nothing."""
        engine = governed()
        timer_id = schedule(engine, 1)
        assert advance(engine).summary.fired == 1
        executed = instruct(engine, SystemCancelTimer(timer_id))

        assert receipt_of(executed).status == Status.OK
        assert receipt_of(executed).events == (TimerCancelledByGovernance(timer_id, was_live=False),)
        assert executed.summary.cancelled == 0

    def test_a_timer_that_waits_can_be_cancelled(self):
        """A due timer that a paused lane holds back leaves by the cancellation."""
        engine = governed()
        timer_id = schedule(engine, 3)
        instruct(engine, SystemUpdateTimerConfig(configured(execution_lane_paused=True)))
        advance(engine)
        assert advance(engine).summary.waiting_live == 1

        assert instruct(engine, SystemCancelTimer(timer_id), nonce=2).summary.waiting_live == 0


class TestUpdateTimerConfig:
    def test_opcode_49_holds_from_the_next_block_on(self):
        """The block with the change still fires and prices by the old configuration."""
        engine = governed()
        schedule(engine, 1)
        update = configured(execution_lane_paused=True, schedule_cycles=900)
        calls = [transaction(OWNER, 1, SystemUpdateTimerConfig(update)), do(OWNER, 2, ["timer", 1, [], 10_000])]
        executed = advance(engine, calls)

        assert receipt_of(executed).events == (TimerConfigUpdated(update),)
        assert executed.summary.fired == 1
        following = advance(engine, [do(OWNER, 3, ["timer", 1, [], 10_000])])
        assert (following.summary.fired, following.summary.waiting_live) == (0, 1)
        assert receipt_of(following).cycles - receipt_of(executed, 1).cycles == 700

    def test_the_state_holds_the_very_bytes_of_the_instruction(self):
        """The last of two changes in one block is the one that stays."""
        engine = governed()
        first, last = configured(gc_lane_paused=True), configured(gc_cycles_per_block=400)
        advance(
            engine, [transaction(OWNER, index, SystemUpdateTimerConfig(it)) for index, it in enumerate((first, last))]
        )

        assert engine.database.get(TIMER_CONFIG.key()) == last

    @pytest.mark.parametrize(
        "config",
        [
            b"",
            b"\xc1",
            configured()[:-1],
            configured() + b"\x00",
            b"\x9b" + configured()[1:-1],
            msgspec.msgpack.encode([*msgspec.structs.astuple(CONFIG), 1]),
            msgspec.msgpack.encode([0, *msgspec.structs.astuple(CONFIG)[1:-1], 1]),
            msgspec.msgpack.encode([-1, *msgspec.structs.astuple(CONFIG)[1:]]),
            msgspec.msgpack.encode([2**63, *msgspec.structs.astuple(CONFIG)[1:]]),
            configured().replace(b"\xcd\x04\x00", b"\xce\x00\x00\x04\x00"),
            msgspec.msgpack.encode([1, 1, 1, 1, 1, 0, 1, 1, 1, 1, False, False]),
            msgspec.msgpack.encode([1, 1, 1, 1, 1, 1, 0, 1, 1, 1, False, False]),
        ],
    )
    def test_a_configuration_that_no_chain_can_run_on_reverts(self, config):
        """Undecodable, not canonical, out of range, no lane, free removal: InvalidInput, and the old one stays."""
        engine = governed()
        assert config != configured()
        receipt = receipt_of(instruct(engine, SystemUpdateTimerConfig(config), nonce=0))

        assert (receipt.status, receipt.error) == (Status.REVERTED, "InvalidInput")
        assert engine.database.get(TIMER_CONFIG.key()) == msgspec.msgpack.encode(CONFIG)

    def test_lanes_are_paused_one_by_one(self):
        """A paused GC lane removes nothing while the execution lane goes on, and the other way round."""
        engine = governed()
        advance(engine, [do(OWNER, 0, ["timer", 2, [], 10_000, 0]), do(OWNER, 1, ["timer", 5, [], 10_000])])
        instruct(engine, SystemUpdateTimerConfig(configured(execution_lane_paused=True, gc_lane_paused=True)), nonce=2)
        assert advance(engine).summary.waiting_live == 1
        assert advance(engine).summary.waiting_dead == 1
        instruct(engine, SystemUpdateTimerConfig(configured(gc_lane_paused=True)), nonce=3)
        executed = advance(engine)
        assert (executed.summary.fired, executed.summary.waiting_dead) == (1, 1)
        instruct(engine, SystemUpdateTimerConfig(configured()), nonce=4)

        assert any(isinstance(event, TimerExpired) for event in advance(engine).events)

    def test_prices_beyond_every_balance_only_make_timers_insolvent(self):
        """The cost that an event states stays within the range of a record."""
        engine = governed()
        timer_id = schedule(engine, 2)
        instruct(engine, SystemUpdateTimerConfig(configured(max_cells_per_fire=2**63 - 1)))
        (event,) = advance(engine).events

        assert (event.timer_id, event.required, event.available) == (timer_id, 2**63 - 1, BALANCE)


class TestExtendTimer:
    def test_opcode_50_moves_the_expiry_of_any_timer_and_clamps_it(self):
        """The event tells the expiry that holds."""
        engine = governed()
        timer_id = schedule(engine, 2, ttl=0)
        assert receipt_of(instruct(engine, SystemExtendTimer(timer_id, 50))).events == (
            TimerExtendedByGovernance(timer_id, 50),
        )
        latest = 3 + CONFIG.max_ttl_blocks
        executed = instruct(engine, SystemExtendTimer(timer_id, 2**63 - 1), nonce=2)
        # Due at 3, and extended before the timer phase of that block: it fires.
        assert receipt_of(executed).events == (TimerExtendedByGovernance(timer_id, latest),)
        assert isinstance(executed.events[-1], TimerFired)

    @pytest.mark.parametrize(("expires_at", "waits", "error"), [(2, 0, "InvalidInput"), (50, 3, "InvalidInput")])
    def test_expired_stays_expired_for_the_validator_set_too(self, expires_at, waits, error):
        """Neither an expiry that is not in the future nor a timer past its own."""
        engine = governed()
        timer_id = schedule(engine, 2, ttl=0)
        nonce = 1
        if waits:
            instruct(engine, SystemUpdateTimerConfig(configured(gc_lane_paused=True, execution_lane_paused=True)))
            nonce = 2
        for _ in range(waits):
            advance(engine)

        assert receipt_of(instruct(engine, SystemExtendTimer(timer_id, expires_at), nonce=nonce)).error == error

    def test_a_timer_that_is_gone_cannot_be_extended(self):
        """Unlike a cancellation, an extension of nothing is an error."""
        assert receipt_of(instruct(governed(), SystemExtendTimer(bytes(32), 9), nonce=0)).error == "UnknownTimer"


@pytest.mark.parametrize(
    "call", [SystemCancelTimer(b"\x07" * 32), SystemUpdateTimerConfig(configured()), SystemExtendTimer(bytes(32), 5)]
)
def test_a_system_instruction_has_one_encoding(call):
    """One content, one encoding."""
    encoded = encode_transaction(transaction(OWNER, 0, call))

    assert decode_transaction(encoded).call == call
    with pytest.raises(InvalidEncodingError):
        decode_transaction(encoded.replace(bytes([call.__struct_config__.tag]), b"\x33", 1))


def test_an_instruction_without_the_cycles_for_it_is_out_of_gas():
    """The price is charged before the right is looked at."""
    engine = governed()
    call = transaction(OWNER, 0, SystemCancelTimer(bytes(32)), cycles_limit=1_199)
    receipt = receipt_of(advance(engine, [call]))

    assert (receipt.status, receipt.error, receipt.cycles) == (Status.OUT_OF_GAS, "OutOfGas", 1_199)
