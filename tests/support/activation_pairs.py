"""The pairs of policies that may follow each other, for the scenario of one policy after another inside a reorg."""

from checker.oracle.policies import POLICY_ORACLES
from scheduler import POLICIES, Carry

PAIRS = [
    (before, after)
    for before in POLICY_ORACLES
    for after in POLICY_ORACLES
    if isinstance(POLICIES[after]().carry(POLICIES[before]()), Carry)
    and (before, after) not in {("eip1559", "gba-auction"), ("fifo", "eip1559")}
]
"""The pairs of judged policies that may follow each other and have no scenario of their own."""


def settings_of(before, after):
    """Return the settings of `activation-pairs` for a pair."""
    # A bid is asked for when a timer is scheduled: six asks cost more than the client allows for one call.
    unscheduled = ("workload.narrow.may_be_idle=true",) * (before == "bias-auction")
    policies = f"chain.policy={after}", f"chain.activation.previous={before}"
    return (*policies, "expect.rules={}", *unscheduled)
