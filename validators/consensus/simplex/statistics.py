"""Figures of one life of a validator's consensus."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """What the state machine counts as it goes."""

    certificates_assembled: int = 0
    certificates_received: int = 0
    timeouts: int = 0
    retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimplexStatistics:
    """A snapshot; everything but the views and `rounds_kept` is counted since `start`."""

    view: int
    finalized_view: int
    rounds_kept: int
    votes_cast: int
    certificates_assembled: int
    certificates_received: int
    timeouts: int
    retries: int
    fetches: int
