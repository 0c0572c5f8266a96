"""A small crowded chain for the oracle: both lanes are too narrow, some timers expire, some payers have nothing."""

from cluster.judge import consult_oracle
from tests.cluster_runs import applied_blocks

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
