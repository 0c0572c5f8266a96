"""The messages that only the longest chain has: one announcement a slot, questions for heads and answers."""

from collections.abc import Iterator
from typing import Final

from checker.checks.rules.engine_traffic import (
    HEADER_BYTES_MAX,
    REQUEST_BYTES_MAX,
    Bound,
    EngineTraffic,
    Lengths,
    MessageAccount,
)

_QUESTION: Final = "HeadRequest"
_SEALED_BYTES_MAX: Final = HEADER_BYTES_MAX + 96
"""A header with its seal."""


def _bounds(account: MessageAccount) -> Iterator[Bound]:
    yield Bound("Announcement", account.fan_out * account.led, "F for each slot that it leads")
    # A round of questions lasts until its timer ends; a start begins one at once.
    rounds = account.times(account.plan.fetch_timeout_us) + account.lives
    yield Bound(_QUESTION, account.fan_out * rounds, "F (T / fetch timeout + L)")
    yield Bound("HeadResponse", account.taken(_QUESTION), "1 for each request that was not refused")


def _lengths(_validators: int, depth: int) -> Lengths:
    proof = (depth + 2) * _SEALED_BYTES_MAX
    messages = {
        "Announcement": _SEALED_BYTES_MAX,
        _QUESTION: REQUEST_BYTES_MAX,
        "HeadResponse": proof + _SEALED_BYTES_MAX,
    }
    return Lengths(messages=messages, seal=96, finality=proof)


LONGEST_CHAIN_TRAFFIC: Final = EngineTraffic(bounds=_bounds, lengths=_lengths, limited=(_QUESTION,))
