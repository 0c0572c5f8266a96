"""A small study file for tests: three timers a block compete for a lane that has room for two."""

SMALL = """
title = "Three timers for two places"
question = "Who waits where three timers want two places?"
place = "a test"
blocks = 20
warmup_blocks = 5
seeds = 3
figures = ["congested", "high.wait_mean", "low.wait_mean", "high.share", "efficiency"]
limits = "Two groups, one chain."
answer = "The group with the higher worth fires first."

[scenario.chain]
policy = "bias-auction"
min_basefee = 8
cycle_basefee = 8
cell_basefee = 8

[scenario.chain.timers]
lane_timer_cycles = 200_000

[bidders.high]
actors = 2
worth = [200, 300]
ttl = 5

[bidders.low]
actors = 2
per_block = [2, 1]
worth = [100, 150]
ttl = 5

[axes.pay]
key = "scenario.chain.policy_parameters.payment"
values = ["vcg-critical", "first-price"]

[[validity]]
figure = "congested"
at_least = 0.9

[[findings]]
says = "The payment rule leaves the order alone."
figure = "high.share"
from = { pay = "vcg-critical" }
to = { pay = "first-price" }
expect = "level"
within = 0.01

[quick]
blocks = 10
seeds = 2
"""


def write_study(folder, *changes, name="small"):
    """Write the small study with changes (old, new) to its text; return the path of the file."""
    text = SMALL
    for old, new in changes:
        assert old in text, f"{old} is in the small study"
        text = text.replace(old, new)
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path
