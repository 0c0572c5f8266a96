"""The shipped scenarios under each policy: as a program it prints the page `scenarios-by-policy`.

Each scenario is loaded with `chain.policy` set to each policy. A refusal has one of few reasons. A scenario that loads
runs, but may promise behaviour of its own policy only; then a named check is inconclusive.
"""

import sys
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from cluster.scenario.load import convert_scenario, scenario_paths
from cluster.scenario.messages import ScenarioError
from cluster.scenario.toml_file import read_toml
from scheduler import POLICIES

REASONS: Final[Mapping[str, tuple[str, str]]] = {
    "A": (" cannot follow ", "an activation: the policy may not follow the one before it, or is that one already"),
    "P": (
        "chain.policy_parameters of ",
        "parameters of another policy: what the scenario is about has no meaning here",
    ),
    "L": (" belongs to eip1559", "the timer lane: fees, weights or the switch of state triggers, which `eip1559` has"),
    "T": ("chain.timebase", "heights: entries of the queue are due at times (Q-53); add `--set chain.timebase=slot`"),
    "S": ("payer must be actor", "a common payer: an entry is signed and paid for by its own sender (F-3)"),
    "B": ("payload_bytes: ", "payloads of a mebibyte: an entry has to be below `max_size_bytes` (F-1)"),
    "Q": ("only chain.policy aptos", "instructions on the service of the queue, which `aptos` has"),
}
"""Letters of the table: a part of the refusal, and the reason."""

_DEPOSITED: Final = "without its unfunded actors, whose insertions are refused for want of a deposit (F-4)"

_TOO_LATE: Final = "no fire of its heartbeats succeeds: entries expire after 10 s, and its blocks are farther apart"

_RESERVED: Final = "gas limits are reserved (Q-46): its lane has room for one fire; passes with 70,000 cycles and bids"

PROMISES: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "aptos": {
        "broken-refund": ("inconclusive", "its mutant refunds fires of the lanes; entries are settled out of deposits"),
        "cancel-at-the-fire": ("inconclusive", "an entry that is due can be cancelled until its turn, and is"),
        "clock-storm": ("inconclusive", "the storm drains in fewer blocks: expiry has a bound of its own (Q-37)"),
        "epoch-cut": ("inconclusive", "no clean-up begins in the blocks that it waits for: entries expire after 10 s"),
        "extend-at-the-expiry": ("inconclusive", "an entry's expiry is fixed when it is inserted"),
        "f-plus-one-equivocate": (
            "safety",
            "fails on purpose, here by `write-sets` too: a charge depends on its block",
        ),
        "forged-root": ("inconclusive", "its adversary skips the clean-up of the GC lane, which the queue has not"),
        "free-timers": ("inconclusive", "its timers never expire; entries do, in the blackout (Q-38)"),
        "free-timers-stop-the-chain": (
            "liveness",
            "fails on purpose, here by `undisturbed-views`: blocks are full, not endless",
        ),
        "governance-before-the-fire": ("inconclusive", "entries are not bounded by the lane, and none is over its cap"),
        "governance-mid-storm": ("inconclusive", "extensions are refused; " + _DEPOSITED),
        "lone-torn-nullify": ("inconclusive", _TOO_LATE),
        "lossy": ("inconclusive", _TOO_LATE),
        "mailbox-mix": ("inconclusive", "nothing goes insolvent: deposits are paid in advance (F-4)"),
        "outage-storm": ("inconclusive", "16,200 of 20,000 dead: " + _DEPOSITED),
        "payer-drained-by-a-fire": ("inconclusive", "nothing goes insolvent: deposits are paid in advance (F-4)"),
        "resume-in-waves": ("inconclusive", "1,806 of 2,000 dead: " + _DEPOSITED),
        "snapshot-join-during-storm": ("inconclusive", "806 of 1,000 dead, and gone before the joiner is there"),
        "storm-begins": (
            "inconclusive",
            "its faults wait for a clean-up that does not begin: entries expire after 10 s",
        ),
        "storm-under-auction": ("inconclusive", "it promises tips, insolvency and a full lane"),
        "watch-what-a-fire-writes": ("inconclusive", "no entry watches a value"),
    },
    "bias-auction": {
        "activation-reorg": ("inconclusive", _RESERVED),
        "all-roads": ("inconclusive", _RESERVED),
        "feed-agents": ("inconclusive", "25 fires, and it promises 60: its lane has room for two gas limits (Q-46)"),
        "free-timers": ("safety", "it promises that none waits: the auction has a lane, and its timers expire"),
        "free-timers-stop-the-chain": (
            "inconclusive",
            "it fails on purpose, and here does not: the lane bounds a block",
        ),
        "insolvency-storm": ("inconclusive", "1,440 of 1,500 insolvent: solvency is asked at a timer's turn (Q-46)"),
        "payer-drained-by-a-fire": ("inconclusive", "all winners are charged before the first of them runs (Q-46)"),
        "storm-under-auction": ("inconclusive", "it promises tips, which are bids here, and fires of who tips most"),
    },
}
"""By policy the scenarios that load and do not pass, or fail as they expect, at seed 0: the verdict, and why."""

_HEAD: Final = """\
# Scenarios by policy

Which shipped scenarios run under which policy, and why the others do not.
`stampede docs scenarios-by-policy` prints this page by loading each scenario; `make site` has it too.

Every kind of workload has a meaning under every policy, so a shipped scenario runs under another one by `--set
chain.policy=NAME`, unless something in it belongs to another policy. **own** is the scenario's policy; **runs** says it
loads. A letter is the first reason for which loading is refused, with exit 2 and the key:
"""

_PROMISED: Final = """
A scenario that runs may promise what only its own policy does: then it is *inconclusive*, and names the check. At
seed 0 those below do not pass, nor fail as they expect. Of the 96 scenarios of commit bc4717a all others that load do;
`outage-storm` under `bias-auction` was not run to an end. `python -m tests.soak --parts policies` compares."""


def refusal_of(raw: Mapping[str, Any], policy: str) -> str:
    """Return why a scenario's data is refused under a policy; empty if it loads."""
    changed = deepcopy(dict(raw))
    changed.setdefault("chain", {})["policy"] = policy
    try:
        convert_scenario(changed, "")
    except ScenarioError as error:
        return str(error)
    return ""


def letter_of(refusal: str) -> str:
    """Return the letter of a refusal.

    Raises:
        LookupError: It has no letter, and needs a line in `REASONS`.
    """
    for letter, (part, _) in REASONS.items():
        if part in refusal:
            return letter
    raise LookupError(f"no reason for {refusal!r}")


def verdicts() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the name of each shipped scenario, with `own`, `runs` or a letter by policy."""
    for path in scenario_paths():
        raw = read_toml(path)
        own = raw.get("chain", {}).get("policy", "fifo")
        row = {}
        for policy in POLICIES:
            refusal = "" if policy == own else refusal_of(raw, policy)
            row[policy] = "**own**" if policy == own else letter_of(refusal) if refusal else "runs"
        yield path.stem, row


def page() -> Iterator[str]:
    """Yield the lines of the page `scenarios-by-policy`."""
    yield from _HEAD.splitlines()
    yield ""
    yield from (f"- **{letter}**: {reason}." for letter, (_, reason) in REASONS.items())
    rows = dict(verdicts())
    yield from ("", f"| scenario | {' | '.join(POLICIES)} |", "|---|" + "---|" * len(POLICIES))
    yield from (f"| `{name}` | {' | '.join(row.values())} |" for name, row in rows.items())
    loaded = [f"{sum(row[policy] == 'runs' for row in rows.values())} | " for policy in POLICIES]
    yield f"| *run beside its own* | {''.join(loaded)}".rstrip()
    yield from _PROMISED.splitlines()
    for policy, promises in PROMISES.items():
        yield from ("", f"## Under `{policy}`", "", "| scenario | verdict | why |", "|---|---|---|")
        yield from (f"| `{name}` | {verdict} | {why} |" for name, (verdict, why) in promises.items())


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()) + "\n")
