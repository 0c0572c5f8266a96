"""An observer in each of the replica modes, and the runs of two policies that have to pass with all of them."""

from cluster.authoring.small_sizes import small_settings

MODES = {
    "plain": '{kind="finalized-only"}',
    "early": '{kind="apply-early", retain_blocks=12}',
    "restarted": '{kind="restart", every_blocks=3}',
    "joined": '{kind="snapshot-join", every_blocks=6}',
    "replayed": '{kind="cold-replay", every_blocks=7}',
    "refetched": '{kind="cold-replay", blocks="peers", every_blocks=9}',
    "rebuilt": '{kind="rebuild-indexes"}',
    "pruned": '{kind="own-cadence"}',
}
"""The eight modes of observers."""

IN_EVERY_MODE = tuple(f"observers.mode-{name}={mode}" for name, mode in MODES.items())
"""Settings that add an observer of each mode to a scenario."""

BIAS, QUEUE = "chain.policy=bias-auction", "chain.policy=aptos"


ROOMY = "chain.timers.lane_timer_cycles=70_000", "workload.bidders.bid=700"
"""A lane in which more than one fire has room: the auction reserves gas limits (Q-46), the lane takes what is used."""


STORM = small_settings("outage-storm")
"""A smaller storm: with eight observers beside the validators the whole one takes minutes and gigabytes a run."""


def pair(before, after, *settings):
    """Return the activation of a policy after another one across a reorg."""
    policies = f"chain.policy={after}", f"chain.activation.previous={before}"
    return "activation-pairs", (*policies, "expect.rules={}", *settings)


OWN = (
    *((name, ()) for name in ("bias-aging", "vcg-night", "lambda-loop", "state-triggers")),
    *((name, ()) for name in ("bids-in-a-storm", "bids-after-outage", "lane-triggers")),
    *((name, ()) for name in ("aptos-day", "aptos-shutdown", "aptos-reschedule", "aptos-flood")),
    *((name, ()) for name in ("aptos-storm", "aptos-reorg", "aptos-boundaries")),
    *(("certified-split-deep", (policy,)) for policy in (BIAS, QUEUE)),
    *(("deep-rewind", (policy,)) for policy in (BIAS, QUEUE)),
    ("outage-storm", (BIAS, *STORM)),
    # `aptos-storm` is the queue's: of `outage-storm` nothing is alive after the blackout, heartbeats expire as well.
    ("activation-reorg", (BIAS, *ROOMY)),
    *(pair(before, "bias-auction") for before in ("fifo", "fifo-free")),
    # A bid is asked for when a timer is scheduled: six asks cost more than the client allows for one call.
    *(pair("bias-auction", after, "workload.narrow.may_be_idle=true") for after in ("fifo", "eip1559")),
)
"""Scenario and settings of each run of `bias-auction` and `aptos`: theirs, storms, deep drops and activations."""

RUNS = (
    *((name, (*settings, *IN_EVERY_MODE)) for name, settings in OWN),
    ("all-roads", (BIAS, *ROOMY)),
    ("all-roads", (QUEUE, "chain.activation.height=1", "expect.activation_crossed_min=0", "expect.counts={fired=50}")),
)
"""The same with an observer of each mode, and the scenario that has them itself."""
