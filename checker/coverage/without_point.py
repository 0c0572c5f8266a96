"""The rules of docs/rules.md without a branch of their own, and so without a coverage point, and why.

Each rule has a point or is listed here: a test compares both with the page.
"""

from collections.abc import Mapping
from typing import Final

_CLAIM: Final = "a claim about whole runs, which checks, tests or measurements answer"
_DEFINITION: Final = "a definition without a branch"
_ALWAYS: Final = "holds in every block or call"
_FORMULA: Final = "the arithmetic of a formula, without a branch"
_READING: Final = "chooses between readings of the documents; the chain has the chosen reading"
_NAMES: Final = "settles names"

WITHOUT_POINT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("X-1", "X-8", "A-24", "A-25", "B-11", "D-1", "D-8", "E-4", "E-8", "F-13", "K-22"), _CLAIM),
    **dict.fromkeys(("A-17", "C-1", "C-3", "C-4", "E-5", "F-1"), _DEFINITION),
    **dict.fromkeys(("A-2", "C-9", "K-8", "K-10", "K-33", "Q-5", "Q-6"), _ALWAYS),
    **dict.fromkeys(("Q-10", "Q-23"), _FORMULA),
    **dict.fromkeys(("K-3", "K-6", "K-29"), _READING),
    **dict.fromkeys(("K-26", "K-27", "K-28"), _NAMES),
    "X-3": "holds in every block; the other order is `timers-first` (K-1)",
    "X-7": "holds for every fire; a handler that schedules again is `scheduled-by-fire` (C-13)",
    "A-6": "shares the branches of Q-17, K-11 and Q-15",
    "A-9": "its effect is `fired-deferred` (X-5)",
    "A-10": "shares the window of Q-14 and A-12",
    "B-1": "shares the tiers of A-1",
    "B-2": "its branches are `default-agent-asked` (Q-48) and a refused call",
    "B-3": "shares the branches of Q-48",
    "B-5": "its branches are `lane-full` (X-4) and `budget-overshot` (K-12)",
    "C-5": "its branches are refused calls, and `handler-in-payload` (Q-29)",
    "D-3": "shares the branches of Q-51",
    "D-6": "its effect is `paid-bid` (Q-24)",
    "D-10": "the order of implementation, no rule of a chain",
    "E-1": "an example of A-1",
    "E-2": "an example of A-1 and Q-32",
    "E-9": "names uses, which the workloads have",
    "F-2": "its branches are `price-before-time` (K-24) and `tie-by-hash` (Q-41)",
    "F-4": "shares the branches of F-6, and `deposit-returned` (Q-40)",
    "F-9": "holds for every run that fails, which is `fire-reverted` (Q-21)",
    "K-2": "shares the branches of B-10, A-3 and C-10, by policy",
    "K-7": "shares the branches of A-11",
    "K-9": "shares the branches of Q-12",
    "K-13": "shares the branches of Q-50",
    "K-15": "shares the branches of Q-32",
    "K-16": "profiles, of which a run has one",
    "K-17": "shares the branches of Q-18",
    "K-18": "parameters, of which a run has one set",
    "K-19": "shares the branches of Q-27",
    "K-20": "its branches are `won-without-bid` (D-9) and `paid-bid` (Q-24)",
    "K-21": "a switch; its effect is `priced-by-runner-up` (D-5)",
    "K-23": "shares the branches of Q-22",
    "K-30": "shares the branches of E-7 and Q-34",
    "K-31": "shares the branches of A-22",
    "K-43": "virtual time of a validator, no rule of the state",
    "K-44": "its branch is `bid-ignored` (A-14)",
    "K-40": "its branch is a refused call; the values that an agent reads show in its bid alone",
    "K-35": "its branches are `bid-ignored` (A-14) and a refused call",
    "Q-9": "its effect is `tip-cut-by-fee` (A-5)",
    "Q-25": "its branches are `won-without-bid` (D-9) and a refused call",
    "Q-26": "shares the branches of Q-51",
    "Q-27": "its branch is a refused call that no program can make, as the counter is part of each identifier",
    "Q-33": "a profile, of which a run has one",
    "Q-39": "its effect is `fire-reverted` (Q-21)",
    "Q-43": "its effects are `weight-rose` and `weight-fell` (B-6)",
}
"""The reason by the rule's code."""
