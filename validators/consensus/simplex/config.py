"""Timeouts of a validator, and the views that it keeps."""

from dataclasses import dataclass

from network.types import Micros
from validators.consensus.interface import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class SimplexConfig:
    """Local policy (docs/simplex.md); times are virtual microseconds.

    Raises:
        ConfigError: a value is not positive, or the times are not in the order that the specification demands.
    """

    leader_timeout_us: Micros
    """The wait of a view for its leader's proposal."""

    certification_timeout_us: Micros
    """The wait of a view for a certified proposal."""

    timeout_retry_us: Micros
    """The time after which the nullify of a view that has timed out is sent again."""

    fetch_timeout_us: Micros
    """The time that one peer has to answer a request for a certificate."""

    skip_timeout_us: Micros
    """The time after which a silent leader is skipped."""

    view_retention: int
    """Kept views below the finalized view."""

    def __post_init__(self) -> None:
        for name in ("leader_timeout_us", "timeout_retry_us", "fetch_timeout_us", "view_retention"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be above 0; got {getattr(self, name)}")
        self._require_above("certification_timeout_us", "leader_timeout_us")
        self._require_above("skip_timeout_us", "certification_timeout_us")
        self._require_above("skip_timeout_us", "timeout_retry_us")

    def times_of(self, _view: int) -> None:
        """Return None: a view of Simplex lasts until it is over."""

    def _require_above(self, greater: str, smaller: str) -> None:
        if getattr(self, greater) <= getattr(self, smaller):
            raise ConfigError(
                f"{greater} must be above {smaller}; got {getattr(self, greater)} and {getattr(self, smaller)}"
            )
