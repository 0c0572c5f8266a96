"""The policy oracle of `gba-auction`: the older CIP-1, in which an agent bids for each timer that is due."""

from collections.abc import Sequence
from typing import Any, ClassVar

from checker.oracle.auction import DEFAULT_AGENT, AuctionPhase
from checker.oracle.auction_records import CONFIG, AuctionConfig, auction_config_of, auction_key_of
from checker.oracle.calls import Present
from checker.oracle.contents import Contents, Quote, Table
from checker.oracle.phases import PHASES
from checker.oracle.policies.policy import BlockStart, PolicyInBlock, PolicyOracle
from checker.oracle.quotes import Fees, Quoted
from checker.oracle.records import MalformedError, read
from checker.oracle.timers import TimerPhase

TIMERS_FIRST = ("promotion", "timers", "transactions", *PHASES[3:])


class GbaAuctionInBlock(PolicyInBlock):
    """One block of the policy."""

    default_agent: ClassVar[bytes | None] = DEFAULT_AGENT

    def __init__(self, start: BlockStart) -> None:
        super().__init__(start)
        self.config: AuctionConfig = start.contents.own(CONFIG).rows[None]
        self.epoch_length = start.contents.calendar.rows[None].epoch_length

    def phases(self) -> Sequence[str]:
        """Return the phases: the timers stand before or after the transactions."""
        return TIMERS_FIRST if self.config.timer_phase == "before" else PHASES

    def early_error(self, fees: Fees, fee_payer: bytes | None, _height: int) -> str:
        """Return the error of a call that names no agent or a payer: the owner pays."""
        if fees.gba is None:
            return "AgentRequired"
        return "" if fee_payer is None else "InvalidInput"

    def quote(self, fees: Fees) -> Quoted:
        """Return the quote of a new timer: its agent alone."""
        return Quoted(Quote(None, None, fees.gba))

    def timer_phase(self, present: Present, parent_now: int, proposer: bytes) -> TimerPhase:
        """Return the auction of the block."""
        return AuctionPhase(
            self.start.contents,
            present,
            parent_now,
            self.start.basefees,
            proposer,
            config=self.config,
            epoch_length=self.epoch_length,
        )


class GbaAuctionOracle(PolicyOracle):
    """The auction of agents' bids."""

    name: ClassVar[str] = "gba-auction"
    follows: ClassVar[tuple[str, ...]] = ("fifo", "fifo-free", "eip1559")

    def open(self, start: BlockStart) -> PolicyInBlock:
        """Return the policy in a block."""
        return GbaAuctionInBlock(start)

    def read_config(self, encoded: bytes) -> AuctionConfig:
        """Return the auction configuration; raises MalformedError."""
        config = auction_config_of(read(encoded, "the auction configuration"))
        if config is None:
            raise MalformedError("the auction configuration of genesis breaks a rule of its fields")
        return config

    def config_table(self, contents: Contents) -> Table[None, Any]:
        """Return the table of the auction configuration."""
        return contents.own(CONFIG)

    def config_of(self, fields: Sequence[Any]) -> AuctionConfig | None:
        """Return the auction configuration of these fields, None if a field breaks its rule."""
        return auction_config_of(fields)

    def key_of(self, name: str) -> str:
        """Return the key by which governance knows a field."""
        return auction_key_of(name)
