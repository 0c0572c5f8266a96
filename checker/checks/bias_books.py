"""The bias auction's accounts: escrow, payments, waits and the windows of lambda, from receipts alone (D-5 to D-9).

Whether the right timers won is the oracle's to say. Here the fires are taken as they are: every bid that was locked
has to be in escrow until its timer leaves, a payment has to lie within bid and reserve, and a window has to say of the
waits of its fires what the heights of the blocks say (docs/state.md, the bias auction). Under other policies the
escrow is held to the same.
"""

from bisect import bisect_left
from collections.abc import Mapping

import msgspec

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult
from checker.tables import ACCOUNT, BIAS_CONFIG, BIAS_WINDOW, BID, read_amount, read_fields
from scheduler import (
    MAX_U63,
    BiasWindowClosed,
    BidLocked,
    InvalidInput,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TimerExpired,
    TimerFired,
    TimerTriggered,
)
from scheduler.bias import waits_at_most
from scheduler.bias_records import BIAS_BOOKS, BiasConfig

_ESCROW_KEY = bytes((ACCOUNT,)) + bytes(19) + b"\x0d" + bytes(11)
_EXITS = (
    *(TimerCancelled, TimerCancelledByGovernance, TimerCancelledForDelay),
    *(TimerCancelledInsufficientFunds, TimerExpired, TimerFired),
)
_MILLION = 1_000_000


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


class BiasAccounts(Check):
    """Every bid is in escrow until its timer leaves, and fires pay and wait as bids and heights say."""

    name = "bias-books"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._first_height = run.rules.first_with(BIAS_BOOKS)
        self._bids: dict[bytes, int] = {}
        self._locked = 0
        self._nows: list[int] = []
        self._paid = self._returned = self._between = self._worst_wait = self._windows = 0
        self._waits: list[int] = []
        self._triggered: dict[bytes, int] = {}
        """Of timers that a change triggered, the height of that block."""
        self._lambda_min = 0
        self._utility, self._efficiency = Spread(), Spread()

    def not_asked(self) -> str:
        """Return a reason where the chain has no bias auction."""
        return "" if self._first_height else "no policy of the chain is bias-auction"

    def settle(self, block: SettledBlock) -> None:
        """Check one block."""
        self._nows.append(block.now)
        if not self._first_height:
            return
        config = _config_of(block.before)
        is_own = self.run.rules.keeps(BIAS_BOOKS, block.height)
        for event in block.events():
            if isinstance(event, BidLocked):
                self._bids[event.timer_id] = event.bid
                self._locked += event.bid
            elif isinstance(event, TimerTriggered):
                self._triggered[event.timer_id] = len(self._nows)
            elif isinstance(event, _EXITS):
                self._leave(block, event, config if is_own else None)
        self._judge_escrow(block)
        if is_own and config is not None:
            self._lambda_min = min(self._lambda_min or config.bias_lambda, config.bias_lambda)
            self._judge_window(block, config)

    def finish(self) -> CheckResult:
        """Return the result, with N_max beside the worst wait."""
        accounts = (value for key, value in self.run.genesis_values.items() if key[0] == ACCOUNT)
        tokens = max((read_amount(value) or 0 for value in accounts), default=0)
        n_max = waits_at_most(tokens, self._lambda_min or 1)
        return self.tally.result(
            f"{self._paid:,} units of bids paid and {self._returned:,} returned, {self._between:,} payments between "
            f"reserve and bid; {self._windows:,} windows closed; the longest wait of a fire was {self._worst_wait:,} "
            f"blocks, N_max is {n_max:,}",
            worst_wait=self._worst_wait,
            n_max=n_max,
            paid=self._paid,
            returned=self._returned,
            between=self._between,
            windows=self._windows,
            utility_variance=self._utility.variance,
            efficiency_variance=self._efficiency.variance,
        )

    def _leave(self, block: SettledBlock, event: msgspec.Struct, config: BiasConfig | None) -> None:
        """Take a timer that left out of the bids, and look at what it paid and how long it waited."""
        bid = self._bids.pop(event.timer_id, 0)  # type: ignore[attr-defined] # every exit names its timer
        self._locked -= bid
        paid = 0
        if isinstance(event, TimerFired) and config is not None:
            paid = event.tip
            least = bid if config.payment == "first-price" else min(bid, config.reserve)
            text = "timer {} paid {} of a bid of {}, at least {}"
            self.require(least <= paid <= bid, block, text, event.timer_id[:6].hex(), paid, bid, least)
            self._between += least < paid < bid
            self._wait(event, bid)
        self._paid += paid
        self._returned += bid - paid

    def _wait(self, fire: TimerFired, bid: int) -> None:
        """Count how many blocks a timer waited that fires in the last block of the list."""
        served = bisect_left(self._nows, fire.due) + 1
        # A slot may have earlier blocks than the block that triggers the timer (K-45).
        first = max(self._triggered.pop(fire.timer_id, served), self._first_height)
        waited = len(self._nows) - first
        self._waits.append(waited)
        self._worst_wait = max(self._worst_wait, waited)
        if bid:
            self._utility.add((bid - fire.tip) * _MILLION // bid)
            self._efficiency.add(fire.used_cycles * _MILLION // ((1 + waited) * bid))

    def _judge_escrow(self, block: SettledBlock) -> None:
        """Compare the account, the bids in the state and those that receipts tell of."""
        account = block.changes.get(_ESCROW_KEY, block.before.get(_ESCROW_KEY))
        balance = read_amount(account)
        self.require(balance == self._locked, block, "the escrow holds {}, bids are {}", balance, self._locked)
        for key, value in block.changes.items():
            if key[0] == BID and value is not None:
                fields = read_fields(value) or [b"", 0]
                known = self._bids.get(fields[0]) if isinstance(fields[0], bytes) else None
                self.require(known == fields[1], block, "a bid of {} is in the state, {} was locked", fields[1], known)

    def _judge_window(self, block: SettledBlock, config: BiasConfig) -> None:
        """Compare a window that closes with the waits of its fires."""
        closed = [event for event in block.events() if isinstance(event, BiasWindowClosed)]
        if not config.lambda_window_blocks:
            self._waits = []
        for event in closed:
            key = bytes((BIAS_WINDOW,)) + event.window.to_bytes(8, "big") + bytes(23)
            fields = read_fields(block.changes.get(key) or b"\x90") or []
            expected = [len(self._waits), min(sum(self._waits), MAX_U63)]
            text = "a window counts {}, fires make it {}"
            self.require(fields[2:4] == expected, block, text, fields[2:4], expected)
            worst = max(self._waits, default=0)
            text = "a window's worst wait is {}, a fire waited {}"
            self.require(event.worst_wait >= worst, block, text, event.worst_wait, worst)
            steps = (event.lambda_, event.lambda_ * 7 // 8, event.lambda_ * 9 // 8)
            bounded = [min(max(step, config.lambda_min), config.lambda_max) for step in steps]
            self.require(event.next_lambda in bounded, block, "lambda went to {}, not {}", event.next_lambda, bounded)
            self._lambda_min = min(self._lambda_min, event.next_lambda)
            self._windows += 1
            self._waits = []


def _config_of(before: Mapping[bytes, bytes]) -> BiasConfig | None:
    """Return the configuration that a block goes by; None where it cannot be read."""
    try:
        return msgspec.msgpack.decode(before[bytes((BIAS_CONFIG,)).ljust(32, b"\0")], type=BiasConfig)
    except (KeyError, msgspec.MsgspecError, InvalidInput):
        return None
