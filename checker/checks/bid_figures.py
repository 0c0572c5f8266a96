"""Figures of the bias auction (D-8): the waits of fires, the payments of bids, and their variances; no check."""

from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.tables import ACCOUNT, BIAS_BOOKS, read_amount, read_fields
from scheduler import BidLocked, TimerFired, TimerTriggered
from scheduler.bias import waits_at_most

POLICY: Final = "bias-auction"
_BOOKS_KEY: Final = bytes((BIAS_BOOKS,)).ljust(32, b"\0")
_MILLION: Final = 1_000_000


class Spread:
    """The variance of a share in millionths, in whole numbers."""

    def __init__(self) -> None:
        self._count = self._sum = self._squares = 0

    def add(self, share: int) -> None:
        """Take a share in."""
        self._count += 1
        self._sum += share
        self._squares += share * share

    @property
    def variance(self) -> int:
        """The variance, in millionths of 1; 0 without a share."""
        if not self._count:
            return 0
        return (self._squares * self._count - self._sum**2) // (self._count**2 * _MILLION)


class BidFigures:
    """Waits and payments of the auction's fires, from receipts and the heights of blocks.

    Args:
        run: The run, with its rules and the balances of genesis.
    """

    def __init__(self, run: RunContext) -> None:
        self._rules = run.rules
        self._genesis_values = run.genesis_values
        self._first_height = next((entry.height for entry in run.rules.policies if entry.policy == POLICY), 0)
        self._nows: list[int] = []
        self._bids: dict[bytes, int] = {}
        self._triggered: dict[bytes, int] = {}
        """The height of the block in which a change triggered a timer, by the timer."""
        self._paid = self._between = self._worst_wait = self._lambda_min = 0
        self._utility, self._efficiency = Spread(), Spread()

    def settle(self, block: SettledBlock) -> None:
        """Take a block in."""
        self._nows.append(block.now)
        if not self._first_height:
            return
        books = read_fields(block.changes.get(_BOOKS_KEY) or b"\x90") or []
        if books and isinstance(books[0], int):
            self._lambda_min = min(self._lambda_min or books[0], books[0])
        for event in block.events():
            if isinstance(event, BidLocked):
                self._bids[event.timer_id] = event.bid
            elif isinstance(event, TimerTriggered):
                self._triggered[event.timer_id] = len(self._nows)
            elif isinstance(event, TimerFired) and self._rules.policy(block.height) == POLICY:
                self._fire(event)

    def figures(self) -> Mapping[str, int]:
        """Return the figures by name; none where no policy of the chain is the auction.

        `n_max` is the greatest number of blocks that a bid can wait, for the greatest balance of genesis and the least
        lambda. `utility_variance` is over the shares of their bids that fires kept. `efficiency_variance` is over the
        cycles that fires used for each unit of bid and block of wait. Both are in millionths.
        """
        if not self._first_height:
            return {}
        accounts = (value for key, value in self._genesis_values.items() if key[0] == ACCOUNT)
        tokens = max((read_amount(value) or 0 for value in accounts), default=0)
        return {
            "worst_wait": self._worst_wait,
            "n_max": waits_at_most(tokens, self._lambda_min or 1),
            "paid": self._paid,
            "between": self._between,
            "utility_variance": self._utility.variance,
            "efficiency_variance": self._efficiency.variance,
        }

    def _fire(self, fire: TimerFired) -> None:
        bid = self._bids.pop(fire.timer_id, 0)
        served = bisect_left(self._nows, fire.due) + 1
        # A slot may have earlier blocks than the block that triggers the timer (K-45).
        first = max(self._triggered.pop(fire.timer_id, served), self._first_height)
        waited = len(self._nows) - first
        self._worst_wait = max(self._worst_wait, waited)
        self._paid += fire.tip
        self._between += 0 < fire.tip < bid
        if bid:
            self._utility.add((bid - fire.tip) * _MILLION // bid)
            self._efficiency.add(fire.used_cycles * _MILLION // ((1 + waited) * bid))
