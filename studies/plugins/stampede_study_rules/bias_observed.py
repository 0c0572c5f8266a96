"""The policy `bias-observed`, without oracle: lambda follows the bids that fired (CIP-5, section 9.3).

The document asks for a loop that adjusts lambda "based on observed bidding behavior and congestion", because a bias
that grows too fast makes actors underbid and wait. Once a window, lambda falls by an eighth if more than the share
`low_bid_share` of the window's fires bid no more than the reserve. Otherwise it rises by an eighth if the worst wait
exceeds `target_wait`. `bias-auction` compares the growth of the bias with the parameter `value_decay` instead, which
this policy does not read.
"""

from typing import Annotated, Any, ClassVar, Final

import msgspec

from scheduler.bias_loop import moved
from scheduler.bias_records import BIAS_BOOKS, BiasBooks, BiasConfig
from scheduler.errors import InvalidInput
from scheduler.policies.bias_auction import BiasAuction, BiasAuctionInBlock
from scheduler.policies.policy import BlockContext, PolicyInBlock
from scheduler.tables import StateTable
from scheduler.types import BlockPhase, Parameters, PhaseResult, Ratio, Timer, means


class ObservedConfig(BiasConfig, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The auction's parameters, and the share of low bids above which lambda falls."""

    low_bid_share: Annotated[
        Ratio, means("Share of a window's fires with a bid up to the reserve, above which lambda falls.")
    ] = (1, 2)

    def __post_init__(self) -> None:
        """Refuse a share that is not from 0 to 1; raises InvalidInput."""
        super().__post_init__()
        over, under = self.low_bid_share
        if not 0 <= over <= under or not under:
            raise InvalidInput("low_bid_share", f"{self.low_bid_share} must be from 0 to 1")


class LowBids(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The fires of the open window that bid no more than the reserve."""

    count: int


OBSERVED_CONFIG: Final = StateTable(0xF2, "observed bias configuration", ObservedConfig)
LOW_BIDS: Final = StateTable(0xF3, "low bids", LowBids)


class BiasObserved(BiasAuction):
    """`bias-auction` whose lambda follows the bids that fired; without oracle."""

    name: ClassVar[str] = "bias-observed"
    config_type: ClassVar[type[Parameters] | None] = ObservedConfig
    config_table: ClassVar[StateTable[Any] | None] = OBSERVED_CONFIG
    tables: ClassVar[tuple[StateTable[Any], ...]] = (*BiasAuction.tables, LOW_BIDS)

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""
        return BiasObservedInBlock(block)


class BiasObservedInBlock(BiasAuctionInBlock):
    """One block of the policy."""

    def __init__(self, block: BlockContext) -> None:
        super().__init__(block)
        self.low_bids = (self.state.get(LOW_BIDS, LOW_BIDS.key()) or LowBids(0)).count

    def release(self, timer: Timer) -> None:
        """Look at the bid of a timer that is about to fire."""
        self.low_bids += self.escrow.bid(timer) <= self.own.reserve
        super().release(timer)

    def next_lambda(self, books: BiasBooks, worst: int) -> int:
        """Return the lambda that follows a window with these books and this worst wait."""
        assert isinstance(self.own, ObservedConfig), "genesis writes the configuration"
        over, under = self.own.low_bid_share
        falls = self.low_bids * under > books.fires * over
        return moved(books.lambda_, falls=falls, rises=worst > self.own.target_wait, config=self.own)

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Run the timer phase, and leave the count of low bids to the next block of the window."""
        result = super().run(phase)
        books = self.state.get(BIAS_BOOKS, BIAS_BOOKS.key())
        # A window that closed, or that never closes, has no fires in its books.
        is_open = books is not None and books.fires > 0
        self.state.set(LOW_BIDS.key(), LowBids(self.low_bids if is_open else 0))
        return result
