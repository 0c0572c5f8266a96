"""The messages that only HotStuff has: one vote a view to one validator, and timeouts to all."""

from collections.abc import Iterator
from typing import Final

from checker.checks.rules.engine_traffic import (
    HEADER_BYTES_MAX,
    VOTE_BYTES_MAX,
    Bound,
    EngineTraffic,
    Lengths,
    MessageAccount,
    certificate_bytes,
)

_VIEW_BYTES: Final = 9
"""The view of a signer's highest certificate, in a timeout certificate."""

_HEADERS: Final = 3
"""The longest chain of headers that shows a block final."""


def _bounds(account: MessageAccount) -> Iterator[Bound]:
    views, lives = account.views, account.lives
    yield Bound("BlockVote", views + lives, "V + L")
    # The first wait is the shortest: each one that is over has the timeout sent again.
    waits = account.times(account.plan.certification_timeout_us)
    count = account.fan_out * (views + lives + waits)
    yield Bound("ViewTimeout", count, "F (V + L + T / certification timeout)")


def _lengths(validators: int, _depth: int) -> Lengths:
    certificate = certificate_bytes(validators)
    both = 2 * certificate + _VIEW_BYTES * validators
    messages = {"BlockVote": VOTE_BYTES_MAX, "ViewTimeout": VOTE_BYTES_MAX + both}
    return Lengths(messages=messages, seal=VOTE_BYTES_MAX + both, finality=_HEADERS * HEADER_BYTES_MAX + certificate)


HOTSTUFF_TRAFFIC: Final = EngineTraffic(bounds=_bounds, lengths=_lengths)
