"""The length of a slot, the depth of finality, and the times of an engine that follows the longest chain."""

from dataclasses import dataclass

from network.types import MILLISECOND_US, Micros
from validators.consensus.interface import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestChainConfig:
    """The rules that all validators share, and local policy; times are virtual microseconds.

    Raises:
        ConfigError: A value is not positive, or a slot is no whole number of milliseconds.
    """

    slot_us: Micros
    """The length of a slot, by the wall clock."""

    finality_depth: int
    """The number of blocks on a block that make it final."""

    fetch_timeout_us: Micros
    """The time that peers have to name their heads."""

    view_retention: int
    """Slots below the final block that the journal keeps."""

    lottery_key: int | None = None
    """The key of the lottery that names the leaders, None where validators take turns."""

    empty_slot_share_ppm: int = 0
    """Slots without a leader in a million slots of the lottery."""

    def __post_init__(self) -> None:
        for name in ("slot_us", "finality_depth", "fetch_timeout_us", "view_retention"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be above 0; got {getattr(self, name)}")
        if self.slot_us % MILLISECOND_US:
            raise ConfigError(f"slot_us must be whole milliseconds; got {self.slot_us}")

    def times_of(self, view: int) -> range:
        """Return the times of a slot, in milliseconds: a block of the slot has one of these times."""
        slot_ms = self.slot_us // MILLISECOND_US
        return range(view * slot_ms, (view + 1) * slot_ms)


def configure(
    *,
    slot_us: Micros,
    finality_depth: int,
    fetch_timeout_us: Micros,
    view_retention: int,
    lottery_key: int | None = None,
    empty_slot_share_ppm: int = 0,
    **_of_other_engines: object,
) -> LongestChainConfig:
    """Return the configuration for these times; times of other engines are not used."""
    return LongestChainConfig(
        slot_us=slot_us,
        finality_depth=finality_depth,
        fetch_timeout_us=fetch_timeout_us,
        view_retention=view_retention,
        lottery_key=lottery_key,
        empty_slot_share_ppm=empty_slot_share_ppm,
    )
