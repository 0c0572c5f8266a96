"""The policy without fees in the oracle: its lane has no budget."""

from tests.support.oracle_bench import Bench, reported


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
