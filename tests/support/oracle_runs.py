"""Small chains for the oracle, each with what some of its rules speak of.

`crowded`: both lanes are too narrow, some timers expire, some payers have nothing. `governed`: system instructions in
height time. `free`: the policy without fees and expiry.
"""

from checker.checks.oracle import consult_oracle
from tests.support.cluster_runs import applied_blocks

CROWDED = """
name = "crowded"
title = "heartbeats behind timers that wait for the lane, and dead ones that wait for the GC lane"

[chain.timers]
# Three timers of the storm fit a block, and the heartbeats behind the fourth would fit beside it.
lane_timer_cycles = 31_000
# Two removals a block.
gc_cycles_per_block = 400

[workload.pulse]
kind = "heartbeats"
actors = 2

[workload.storm]
kind = "storm"
actors = 5
unfunded_actors = 2
timers_per_actor = 6
timers_per_transaction = 6
first_slot = 4
spread_slots = 2
ttl_slots = 2
unfunded_ttl_slots = 3
gas_limit = 30_000
start_ms = 100

[run]
until_height = 14
"""


GOVERNED = """
name = "governed"
title = "lanes paused and narrowed, timers cancelled and extended, an intruder who tries the same"

[chain]
timebase = "height"
# So that heights and slots are not the same numbers.
slot_ms = 400

[chain.timers]
max_ttl_blocks = 30
gc_cycles_per_block = 400

[workload.pulse]
kind = "heartbeats"
actors = 2

# Wait while the lane is paused, and are above the lane when it is released.
[workload.large]
kind = "storm"
actors = 1
timers_per_actor = 6
start_ms = 100
first_slot = 10
spread_slots = 1
ttl_slots = 15
gas_limit = 60_000

# Wait behind the large ones, and pass them.
[workload.small]
kind = "storm"
actors = 1
timers_per_actor = 6
start_ms = 200
first_slot = 10
spread_slots = 2
ttl_slots = 15

# Expire while both lanes are paused.
[workload.brief]
kind = "storm"
actors = 1
timers_per_actor = 8
start_ms = 300
first_slot = 9
spread_slots = 1
ttl_slots = 2

# Far off: for the intruder and for the clamp.
[workload.later]
kind = "storm"
actors = 1
timers_per_actor = 6
start_ms = 400
first_slot = 24
spread_slots = 1
ttl_slots = 1

[workload.intruder]
kind = "governance"
is_deployer = false
actions = [
    { at_ms = 4_000, do = "cancel", workload = "later", first = 4 },
    { at_ms = 4_000, do = "extend", workload = "later", first = 5, expires_at = 28 },
    { at_ms = 4_000, do = "configure", set = { schedule_cycles = 300 } },
]

[workload.council]
kind = "governance"
actions = [
    { at_ms = 4_100, do = "extend", workload = "later", count = 2, expires_at = 500 },
    { at_ms = 4_100, do = "cancel", workload = "later", first = 3 },
    { at_ms = 4_600, do = "cancel", workload = "later", first = 3 },
    { at_ms = 5_000, do = "configure", set = { execution_lane_paused = true, gc_lane_paused = true } },
    { at_ms = 14_000, do = "extend", workload = "brief", first = 7, expires_at = 30 },
    { at_ms = 14_000, do = "cancel", workload = "brief", first = 6 },
    { at_ms = 15_000, do = "configure", set = { execution_lane_paused = false, gc_lane_paused = false } },
    { at_ms = 15_100, do = "configure", set = { lane_timer_cycles = 50_000 } },
]

[run]
until_height = 26
"""

FREE = """
name = "free"
title = "fires without a fee, for actors that have nothing, long after their time"

[chain]
policy = "fifo-free"

[chain.timers]
# Two fires of 400 cycles after one that may use 20,000: the last ones come when they would have expired.
lane_timer_cycles = 20_800

[workload.storm]
kind = "storm"
actors = 2
unfunded_actors = 1
timers_per_actor = 12
start_ms = 100
first_slot = 4
spread_slots = 1
ttl_slots = 1

[run]
until_height = 16
"""


def write_crowded(directory):
    """Write the scenario file and return its path as a scenario's reference."""
    path = directory / "crowded.toml"
    path.write_text(CROWDED)
    return str(path)


def run_chain(reference, **options):
    """Run a scenario; return its genesis and its final blocks as the first validator to apply each one has them."""
    run, applied = applied_blocks(reference, **options)
    chain = []
    for _, executed in applied:
        if executed.header.height == len(chain) + 1:
            chain.append(executed)
    return run.genesis, chain


def consult(reference, **options):
    """Run a scenario and ask the oracle."""
    return consult_oracle(*run_chain(reference, **options))


def write_governed(directory):
    """As `write_crowded`, for a chain in height time that governance pauses, narrows and corrects."""
    path = directory / "governed.toml"
    path.write_text(GOVERNED)
    return str(path)


def write_free(directory):
    """As `write_crowded`, for a chain on which fires are free."""
    path = directory / "free.toml"
    path.write_text(FREE)
    return str(path)


def assert_named(monkeypatch, reference, rule_break):
    """Break a rule in all validators and see the oracle fail, at a height and with what differs."""
    break_rule, what = rule_break
    break_rule(monkeypatch)

    result = consult(reference)

    assert result.status == "failed"
    assert dict(result.evidence)["what"] == what
    assert result.summary.startswith(f"height {dict(result.evidence)['height']}: ")
