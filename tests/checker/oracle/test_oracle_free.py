"""The policy without fees in the oracle: its lane has no budget, and a fire sends a bounded number of messages."""

import pytest

from checker.oracle.calls import SENT, RevertedError
from checker.oracle.policies.fifo_free import CONFIG, FifoFreeOracle, FreeConfig
from checker.oracle.records import MalformedError, write
from tests.support.oracle_bench import Bench, address, reported


def bench_of(**timers):
    """Return a chain of `fifo-free` with an actor that has nothing and a narrow lane."""
    return Bench({"poor": 0}, policy="fifo-free", timers={"lane_timer_cycles": 1_000, **timers})


def test_everything_due_fires_in_its_block():
    """However far beyond the lane of the other policies, and whatever its own limit is."""
    bench = bench_of()
    for name in ("1", "2", "3"):
        bench.add(name, "poor", 1, gas_limit=5_000, uses=4_000)

    assert reported(1, bench.run_block()) == ["1", "2", "3"]
    assert bench.result.counts["lane_cycles"] == 12_000


def test_a_paused_lane_fires_nothing():
    """All that is due waits, as lane_full."""
    bench = bench_of(execution_lane_paused=True)
    bench.add("1", "poor", 1, gas_limit=5_000)

    assert bench.run_block() == [[2, b"1", "lane_full"], [6, [["lane_full", 1]]]]


def test_the_ceiling_of_a_gas_limit_is_that_of_a_fire():
    """The lane's does not count, for the default neither."""
    bench = bench_of(max_cycles_per_fire=7_000)

    assert bench.schedule("poor", 9)[0][6] == 7_000
    assert bench.schedule("poor", 9, gas_limit=7_001) == "GasLimitTooHigh"


def send(bench, *cycles, is_fire=True):
    """Send messages with these cycles in one call; return those that were sent, and the errors of the others."""
    call = bench.call("poor")
    call.is_fire = is_fire
    errors = []
    for each in cycles:
        try:
            call.send(address("poor"), "note", b"", each)
        except RevertedError as error:
            errors.append(str(error))
    return [event[5] for event in call.events if event[0] == SENT], errors


def test_a_fire_sends_two_messages_with_100_000_cycles_at_most():
    """K-39; what is refused counts for nothing."""
    sent, errors = send(bench_of(), 100_001, 100_000, 300, 300)

    assert (sent, errors) == ([100_000, 300], ["TooManyCalls"] * 2)


def test_other_calls_are_not_bounded():
    """A transaction and a message divide no fixed budget."""
    assert send(bench_of(), 100_001, 300, 300, is_fire=False) == ([100_001, 300, 300], [])


def test_the_record_has_both_bounds():
    """A block reads them at its start."""
    bench = bench_of()
    bench.contents.own(CONFIG).put(None, FreeConfig(1, 300))

    assert send(bench, 301, 300, 300) == ([300], ["TooManyCalls"] * 2)


@pytest.mark.parametrize("fields", [[2], [-1, 0], [2, 2**63], [2, True], [2, 1, 0]])
def test_a_record_that_is_none_is_refused(fields):
    """Genesis and governance write it."""
    with pytest.raises(MalformedError):
        FifoFreeOracle().read_config(write(fields))
