"""Bids in escrow: locked when a timer comes in, and given back when it leaves, whatever policy holds then (Q-25, Q-54).

Invariant: the balance of the escrow's account is the sum of all bids, each beside a timer that waits at its place.
"""

from dataclasses import dataclass
from typing import Final

import msgspec

from scheduler.tables import Ledger, StateTable, StateTables
from scheduler.types import Timer

ESCROW_ADDRESS: Final = bytes(19) + b"\x0d"
"""The account of all bids. It is reserved: genesis and transfers refuse it, so that only bids move it."""


class LockedBid(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The bid of a timer, in units."""

    timer_id: bytes
    bid: int


BID: Final = StateTable(0x21, "bid", LockedBid)


def bid_key(timer: Timer) -> bytes:
    """Return the key of a timer's bid: that of its place, which costs no hash."""
    return BID.key(timer.due.to_bytes(8, "big") + timer.sequence.to_bytes(8, "big"))


@dataclass(frozen=True, slots=True)
class Escrow:
    """The escrow of one block."""

    state: StateTables
    ledger: Ledger

    def lock(self, timer: Timer, bid: int) -> None:
        """Take a bid from a payer that has it."""
        if bid:
            self.ledger.charge(timer.fee_payer, bid)
            self.ledger.credit(ESCROW_ADDRESS, bid)
            self.state.set(bid_key(timer), LockedBid(timer.timer_id, bid))

    def bid(self, timer: Timer) -> int:
        """Return the bid of a timer, 0 where it has none."""
        locked = self.state.get(BID, bid_key(timer))
        return 0 if locked is None else locked.bid

    def withdraw(self, timer: Timer) -> int:
        """Remove a bid's entry and return the bid, which the account holds until it is paid out."""
        bid = self.bid(timer)
        if bid:
            self.state.set(bid_key(timer), None)
        return bid

    def pay(self, address: bytes, amount: int) -> None:
        """Pay units of a bid that was withdrawn."""
        self.ledger.charge(ESCROW_ADDRESS, amount)
        self.ledger.credit(address, amount)

    def move(self, timer: Timer, moved: Timer) -> None:
        """Let the bid of a timer that got another place follow it there."""
        bid = self.withdraw(timer)
        if bid:
            self.state.set(bid_key(moved), LockedBid(moved.timer_id, bid))

    def give_back(self, timer: Timer) -> None:
        """Return a timer's whole bid to its payer."""
        self.pay(timer.fee_payer, self.withdraw(timer))
