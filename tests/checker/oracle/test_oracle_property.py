"""Random chains of hostile programs: engine and oracle come to the same receipts, changes and roots in every block.

The programs of the chain are tame, so the puppet of the other tests is restated for the oracle: it does whatever its
payload says, in a transaction or when a timer fires.
"""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import MAX_U63
from tests.support.chain_harness import CAROL, POOR, STORM, advance, do, make_engine, pay, policies_of, transaction
from tests.support.oracle_plans import (
    BOT,
    FEED,
    ROOMY,
    TIGHT,
    call_of,
    configuration,
    mail,
    make_governed_genesis,
    plans,
    run_engine,
)
from tests.support.properties import examples
from tests.support.puppets import consult
from validators.actors import FeedOrder, PositionOrder, PriceOrder, StormOrder, Submission
from validators.execution import SystemUpdateTimerConfig

chains = st.fixed_dictionaries(
    {
        "timebase": st.sampled_from(["slot", "height"]),
        "policies": st.sampled_from(["fifo", "fifo-free"]).map(policies_of),
        "timer_config": st.sampled_from([TIGHT, ROOMY]),
    }
)


@examples(80)
@given(plans, chains)
def test_engine_and_oracle_agree_on_random_chains(plan, chain):
    """Every status, most errors of the scheduler, all exits for timers, both timebases, both policies."""
    result = consult(*run_engine(plan, **chain))

    assert result.status == "passed", result.summary


@examples(80)
@given(mail, chains)
@pytest.mark.soak
def test_engine_and_oracle_agree_on_random_messages(plan, chain):
    """Messages of transactions, timers and messages, refused, carried over and reverted; games and subscriptions."""
    result = consult(*run_engine(plan, **chain))

    assert result.status == "passed", result.summary


def agree_on(*blocks, **changes):
    """Run blocks of transactions by the engine, let the oracle agree, and return all receipts as text."""
    genesis = make_governed_genesis(**changes)
    engine = make_engine(genesis)
    chain = [advance(engine, transactions) for transactions in blocks]
    result = consult(genesis, chain)
    assert result.status == "passed", result.summary
    return str([msgspec.msgpack.decode(receipt) for executed in chain for receipt in executed.receipts])


def test_they_agree_on_a_timer_that_is_too_late_to_cancel():
    """It is collected in the block in which another fire asks for it."""
    reported = agree_on([do(0, 0, ("timer", 1, [["cancel_last"]]), ("timer", 1, []))], [])

    assert "AlreadyCollected" in reported


def test_they_agree_on_an_extension_that_is_clamped():
    """Six blocks from now is the longest time to live."""
    reported = agree_on([do(0, 0, ("timer", 1, [], 1_200, 0), ("extend_last", 100))], [], [])

    assert "[7, b" in reported
    assert ", 7]]" in reported


def test_they_agree_on_payers_that_a_fire_before_them_made_insolvent():
    """The first fire gives away what the others need: two of them are removed, the last one waits for the GC lane."""
    give = [["pay", CAROL, 1_900_000 - 1_008_000]]
    timers = [("timer", 1, give, 1_200)] + [("timer", 1, [], 1_200)] * 3
    reported = agree_on([pay(0, 0, POOR, 1_900_000), do(1, 0, *timers, actor=POOR)], [], [])

    assert reported.count("[1, [4, b") == 3
    assert reported.count("[1, [1, b") == 1


def test_they_agree_on_a_program_that_goes_on_after_its_limit():
    """Swallowing the exception gains nothing."""
    reported = agree_on([do(0, 0, ("swallow", 10**6)), do(0, 1, ("timer", 1, [["swallow", 10**6]]))], [])

    assert reported.count("OutOfGas") == 1


@pytest.mark.parametrize("end", [("revert", "no"), ("crash",)])
def test_they_agree_on_a_program_that_ends_badly_after_its_limit(end):
    """The limit counts, whatever the program makes of it."""
    reported = agree_on([do(0, 0, ("swallow", 10**6), end)])

    assert "OutOfGas" in reported


def test_they_agree_on_a_feed_that_publishes():
    """Two submissions, of which the second one extends the update; then the feed goes on by itself."""
    start = call_of(FEED, "start", FeedOrder(1, 0))(0, 0, [])
    submit = [call_of(FEED, "submit", Submission(7))(0, nonce, []) for nonce in (1, 2)]
    reported = agree_on([start], submit, [], [], timer_config=ROOMY)

    assert reported.count("'value', b") == 1
    assert "[7, b" in reported


def test_they_agree_on_a_bot_that_liquidates():
    """Of three positions one is liquidated, one alarms at the very limit, and one is safe."""
    opened = [call_of(BOT, "open", PositionOrder(10, debt))(0, nonce, []) for nonce, debt in enumerate((91, 90, 70))]
    reported = agree_on(opened, [call_of(BOT, "price", PriceOrder(10, 3, 0))(0, 3, [])], [], [], timer_config=ROOMY)

    assert reported.count("'liquidated', b") == 1
    # Two checks one after the other: the alarm brings the second one at once.
    assert reported.count("[1, [1, b") == 2


def test_they_agree_that_a_configuration_holds_from_the_next_block_on():
    """The transaction behind it still pays the old price."""
    change = configuration({"schedule_cycles": 900}, b"")(0, 0, [])
    reported = agree_on([change, do(0, 1, ("timer", 3, []))], [do(0, 2, ("timer", 3, []))])

    assert "[9, b" in reported


@pytest.mark.parametrize("name", ["gc_cost_per_timer", "lane_timer_cycles"])
def test_they_agree_that_nothing_can_be_divided_by_a_price_of_nothing(name):
    """A zero there is no configuration."""
    encoded = msgspec.msgpack.encode(
        [0 if field == name else value for field, value in msgspec.structs.asdict(TIGHT).items()]
    )
    reported = agree_on([transaction(0, 0, SystemUpdateTimerConfig(encoded))])

    assert "InvalidInput" in reported


@pytest.mark.parametrize(("handler", "is_order"), [("a" * 32, True), ("a" * 33, False), ("a\n", False)])
def test_they_agree_on_what_a_storm_may_call(handler, is_order):
    """At most 32 letters."""
    reported = agree_on([call_of(STORM, "make", StormOrder(1, 1, 0, 1, 2, 1_000, 4, handler))(0, 0, [])])

    assert ("not a StormOrder" in reported) is not is_order


def test_they_agree_on_an_expiry_past_all_numbers():
    """The longest time to live, counted from now, needs a bit more."""
    change = configuration({"max_ttl_blocks": MAX_U63}, b"")(0, 0, [])
    reported = agree_on([change], [do(0, 1, ("timer", 1, []))], [])

    assert str(MAX_U63 + 2) in reported
