"""The policy oracle of `eip1559`: the timer lane with a market of its own."""

from collections.abc import Sequence
from typing import Any, ClassVar

from checker.oracle import watches
from checker.oracle.calls import Present
from checker.oracle.contents import Contents, Market, Table
from checker.oracle.lane import CursorPhase, LanePhase
from checker.oracle.lane_config import LaneConfig, lane_config_of, lane_key_of
from checker.oracle.market import Lane
from checker.oracle.policies.policy import BlockStart, PolicyInBlock, PolicyOracle
from checker.oracle.quotes import Fees, Quoted, is_deprecated, quote_of
from checker.oracle.records import MalformedError, TimerConfig, read
from checker.oracle.timers import TimerPhase


class Eip1559InBlock(PolicyInBlock):
    """A block in the lane; its market is read at the start, and does not exist yet at activation."""

    def __init__(self, start: BlockStart) -> None:
        super().__init__(start)
        config = start.contents.lane_config.rows[None]
        first = config.initial_lane_basefee or start.basefees.cycle
        market = start.contents.market.get(None) or Market(first, 0, 0, start.activated_at, first, 0)
        self.lane = Lane(config, market, start.activated_at, start.basefees.cycle)

    @property
    def watch_limits(self) -> watches.Limits | None:
        """The limits of state triggers, if genesis has switched them on."""
        config = self.start.contents.own(watches.CONFIG).get(None)
        return None if config is None else watches.Limits(*config)

    def ceiling(self, config: TimerConfig) -> int:
        """Return the greatest gas limit, which the auction phase bounds as well."""
        return min(super().ceiling(config), self.lane.config.max_cycles_per_fire_auction_phase)

    def early_error(self, fees: Fees, _fee_payer: bytes | None, height: int) -> str:
        """Return the error of a caller that uses the older form after the time in which it is accepted."""
        return "TimerArgDeprecated" if is_deprecated(fees, self.lane, height) else ""

    def quote(self, fees: Fees) -> Quoted:
        """Return the quote of a new timer, or the error that refuses it."""
        return quote_of(fees, self.lane)

    def timer_phase(self, present: Present, parent_now: int, proposer: bytes) -> TimerPhase:
        """Return the timer phase in the lane."""
        kind = CursorPhase if self.lane.config.classification == "cursor" else LanePhase
        return kind(self.start.contents, present, parent_now, self.start.basefees, proposer, lane=self.lane)


def _parts(encoded: bytes) -> list[bytes]:
    """Return the lane configuration, and the trigger configuration if both stand in an array of bin."""
    fields = read(encoded, "the configuration of eip1559")
    if not isinstance(fields, list) or len(fields) != 2 or not all(isinstance(field, bytes) for field in fields):
        return [encoded]
    return fields


class Eip1559Oracle(PolicyOracle):
    """The timer lane."""

    name: ClassVar[str] = "eip1559"
    follows: ClassVar[tuple[str, ...]] = ("fifo", "fifo-free", "gba-auction", "bias-auction")

    def open(self, start: BlockStart) -> PolicyInBlock:
        """Return the policy in a block."""
        return Eip1559InBlock(start)

    def read_config(self, encoded: bytes) -> LaneConfig:
        """Return the lane configuration; raises MalformedError."""
        config = lane_config_of(read(_parts(encoded)[0], "the lane configuration"))
        if config is None:
            raise MalformedError("the lane configuration of genesis breaks a rule of its fields")
        return config

    def read_option(self, encoded: bytes) -> watches.TriggerConfig | None:
        """Return the trigger configuration, if the switch is on; raises MalformedError."""
        _, *option = _parts(encoded)
        if not option:
            return None
        config = watches.trigger_config_of(read(option[0], "the trigger configuration"))
        if config is None:
            raise MalformedError("the trigger configuration of genesis breaks a rule of its fields")
        return config

    def option_table(self, contents: Contents) -> Table[None, Any]:
        """Return the table of the trigger configuration."""
        return contents.own(watches.CONFIG)

    def option_of(self, fields: Sequence[Any]) -> watches.TriggerConfig | None:
        """Return the trigger configuration of these fields, None if a field breaks its rule."""
        return watches.trigger_config_of(fields)

    def option_key_of(self, name: str) -> str:
        """Return the key by which governance knows a field of the trigger configuration."""
        return f"system:watch:{name}"

    def config_table(self, contents: Contents) -> Table[None, Any]:
        """Return the table of the lane configuration."""
        return contents.lane_config

    def config_of(self, fields: Sequence[Any]) -> LaneConfig | None:
        """Return the lane configuration of these fields, None if a field breaks its rule."""
        return lane_config_of(fields)

    def key_of(self, name: str) -> str:
        """Return the key by which governance knows a field."""
        return lane_key_of(name)
