"""Bids in escrow under `bias-auction`: locked at a timer's admission, returned at every exit (docs/state.md)."""

from typing import Final

from checker.oracle.contents import Contents, OwnTable, Timer, plain_key
from checker.oracle.records import be8

ESCROW: Final = bytes(19) + b"\x0d"
"""The account that holds all bids."""

BIDS: Final = OwnTable(lambda place: plain_key(0x21, be8(place[0]) + be8(place[1])), lambda _, row: list(row))
"""Identifier and bid of a timer, by its place."""


def lock(contents: Contents, timer: Timer, bid: int) -> None:
    """Take a bid from a timer's payer."""
    contents.credit(timer.fee_payer, -bid)
    contents.credit(ESCROW, bid)
    contents.own(BIDS).put((timer.due, timer.sequence), (timer.timer_id, bid))


def bid_of(contents: Contents, timer: Timer) -> int:
    """Return the bid that a timer has in escrow, 0 without a bid."""
    row = contents.own(BIDS).get((timer.due, timer.sequence))
    return 0 if row is None else int(row[1])


def release(contents: Contents, timer: Timer) -> int:
    """Remove the entry of a timer's bid and return the bid, which the escrow still holds."""
    bid = bid_of(contents, timer)
    if bid:
        contents.own(BIDS).put((timer.due, timer.sequence), None)
    return bid


def give_back(contents: Contents, timer: Timer) -> None:
    """Return a timer's whole bid to its payer."""
    bid = release(contents, timer)
    if bid:
        contents.credit(ESCROW, -bid)
        contents.credit(timer.fee_payer, bid)
