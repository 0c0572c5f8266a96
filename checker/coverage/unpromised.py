"""The reasons why neither the swarm nor a scenario promises a point."""

from collections.abc import Mapping
from typing import Final

_ONE_FORM_OF_SEALS: Final = (
    "1 of 19 forms of `forge-seal`, which at most 3 in 1,000 drawn runs reach; a test makes a run of each form"
)

REASONS: Final[Mapping[str, str]] = {
    "place-freed": "few drawn runs cancel and schedule at the limit in one transaction; a unit test does, and seed 120",
    "limit-above-lane": "no known drawn run states this limit before an activation; a unit test does",
    "bias-saturated": "an exponent of 80 takes a longer wait than any run has; a unit test reaches it",
    "room-taken": "transactions of drawn workloads leave room for entries; a unit test fills the block",
    **dict.fromkeys(
        (
            *("seal-of-impossible-view", "seal-of-other-timeout", "seal-vote-forged", "seal-bitmap-length"),
            *("seal-bitmap-stray", "seal-quorum-missing", "seal-signatures-miscounted", "seal-signatures-forged"),
        ),
        _ONE_FORM_OF_SEALS,
    ),
}
"""The reason by the point's label; a test reaches each of these points."""
