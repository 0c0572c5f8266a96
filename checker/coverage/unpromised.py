"""The reasons for which cells are promised by none, neither by the swarm nor by a scenario."""

from collections.abc import Mapping
from typing import Final

_ONE_FORM_OF_SEALS: Final = (
    "one form in nineteen of `forge-seal`, which at most 3 in 1,000 drawn runs come to; a test makes a run of each form"
)

REASONS: Final[Mapping[str, str]] = {
    "place-freed": "few drawn runs cancel and schedule at the limit in one transaction; a unit test does, and seed 120",
    "limit-above-lane": "no drawn run was seen to state such a limit before an activation; a unit test does",
    "bias-saturated": "an exponent of 80 takes waits that no run has time for; a unit test has one",
    "room-taken": "transactions of drawn workloads leave room for entries; a unit test has some that do not",
    **dict.fromkeys(
        (
            *("seal-of-impossible-view", "seal-of-other-timeout", "seal-vote-forged", "seal-bitmap-length"),
            *("seal-bitmap-stray", "seal-quorum-missing", "seal-signatures-miscounted", "seal-signatures-forged"),
        ),
        _ONE_FORM_OF_SEALS,
    ),
}
"""The reason by the label of a cell that a test reaches all the same."""
