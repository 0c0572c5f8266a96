"""How patient a validator is, and how much it keeps."""

from __future__ import annotations

from dataclasses import dataclass

from network.types import Micros
from validators.consensus.interface import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class SimplexConfig:
    """Local policy (specification of Simplex, section 1.2); times are virtual microseconds.

    Raises:
        ConfigError: a value is not positive, or the times are not in the order that the specification demands.
    """

    leader_timeout_us: Micros
    """How long a view waits for its leader's proposal."""

    certification_timeout_us: Micros
    """How long a view waits for a certified proposal."""

    timeout_retry_us: Micros
    """How often a view that has timed out says so again."""

    fetch_timeout_us: Micros
    """How long one peer has to answer a request for a certificate."""

    skip_timeout_us: Micros
    """How long a silent leader may lead before it is skipped."""

    view_retention: int
    """How many views below the finalized one are kept."""

    def __post_init__(self) -> None:
        for name in ("leader_timeout_us", "timeout_retry_us", "fetch_timeout_us", "view_retention"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be above 0; got {getattr(self, name)}")
        self._require_above("certification_timeout_us", "leader_timeout_us")
        self._require_above("skip_timeout_us", "certification_timeout_us")
        self._require_above("skip_timeout_us", "timeout_retry_us")

    def _require_above(self, greater: str, smaller: str) -> None:
        if getattr(self, greater) <= getattr(self, smaller):
            raise ConfigError(
                f"{greater} must be above {smaller}; got {getattr(self, greater)} and {getattr(self, smaller)}"
            )
