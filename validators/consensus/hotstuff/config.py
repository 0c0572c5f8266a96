"""Times of a validator's views, the commit rule, and the views that it keeps."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from network.types import Micros
from validators.consensus.interface import ConfigError

Profile: TypeAlias = Literal["three-chain", "two-chain"]
"""The commit rule: the number of blocks of consecutive views that make the first of them final."""

CHAIN_LENGTH = {"three-chain": 3, "two-chain": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class HotStuffConfig:
    """Local policy, except for the profile, which all validators share; times are virtual microseconds.

    Raises:
        ConfigError: a value is not positive, or the longest wait is below the first.
    """

    profile: Profile
    view_timeout_us: Micros
    """The wait of a view for the certificate of its block; it doubles with each view that is given up."""

    view_timeout_max_us: Micros
    """The longest wait of a view."""

    view_retention: int
    """Kept views below the final view."""

    def __post_init__(self) -> None:
        for name in ("view_timeout_us", "view_retention"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be above 0; got {getattr(self, name)}")
        if self.view_timeout_max_us < self.view_timeout_us:
            raise ConfigError(
                f"view_timeout_max_us must not be below view_timeout_us; got {self.view_timeout_max_us} and "
                f"{self.view_timeout_us}"
            )

    def times_of(self, _view: int) -> None:
        """Return None: a view of HotStuff lasts until it is over."""

    @property
    def chain_length(self) -> int:
        """The number of blocks in a chain that makes its first block final."""
        return CHAIN_LENGTH[self.profile]

    @property
    def is_two_chain(self) -> bool:
        """Whether two blocks of consecutive views make the first final, and nothing is locked."""
        return self.profile == "two-chain"

    def wait_us(self, given_up: int) -> Micros:
        """Return the wait of a view after `given_up` views without progress."""
        # The shift stops where any cap is reached: a node that is cut off for long keeps counting.
        return min(self.view_timeout_us << min(given_up, 32), self.view_timeout_max_us)


def configure(
    *,
    certification_timeout_us: Micros,
    view_retention: int,
    profile: Profile = "three-chain",
    view_timeout_max_us: Micros | None = None,
    **_of_other_engines: Micros,
) -> HotStuffConfig:
    """Return the configuration; the longest wait is four times the first by default."""
    return HotStuffConfig(
        profile=profile,
        view_timeout_us=certification_timeout_us,
        view_timeout_max_us=4 * certification_timeout_us if view_timeout_max_us is None else view_timeout_max_us,
        view_retention=view_retention,
    )
