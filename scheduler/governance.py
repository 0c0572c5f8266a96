"""What the validator set may do to timers: the system instructions 48, 49 and 50 (A-20, C-14).

They are transactions of a system deployer, so they stand in the order of the block's transactions and vanish with a
revert like any other. A new configuration is written at once and read by the next block: a block reads its own once, at
its start.
"""

from collections.abc import Collection

import msgspec

from scheduler.errors import InvalidInput, Unauthorized, UnknownTimer
from scheduler.events import TimerCancelledByGovernance, TimerExtendedByGovernance
from scheduler.lifecycle import Desk, move_expiry
from scheduler.types import TimerConfig


def require_deployer(sender: bytes, system_deployers: Collection[bytes]) -> None:
    """Check that a system instruction comes from one who may give it.

    Raises:
        Unauthorized: The sender is no system deployer.
    """
    if sender not in system_deployers:
        raise Unauthorized(sender, "is no system deployer")


def cancel_by_governance(desk: Desk, timer_id: bytes) -> TimerCancelledByGovernance:
    """Remove a timer whoever owns it; when it is gone already nothing happens, and the event says so."""
    timer = desk.tables.timer(timer_id)
    if timer is not None:
        desk.tables.remove(timer)
    return TimerCancelledByGovernance(timer_id, was_live=timer is not None)


def extend_by_governance(desk: Desk, timer_id: bytes, new_expires_at: int) -> TimerExtendedByGovernance:
    """Move the expiry of a timer whoever owns it, under the same rules as for its owner.

    Raises:
        UnknownTimer: There is no such timer.
        InvalidInput: The new expiry is not in the future, or the timer has expired.
    """
    timer = desk.tables.timer(timer_id)
    if timer is None:
        raise UnknownTimer(timer_id)
    return TimerExtendedByGovernance(timer_id, move_expiry(desk, timer, new_expires_at))


def decode_timer_config(encoded: bytes) -> TimerConfig:
    """Return the configuration that a system instruction carries: the very bytes that the state is to hold.

    Raises:
        InvalidInput: It is no configuration, not its one encoding, or one that no chain can run on.
    """
    try:
        config = msgspec.msgpack.decode(encoded, type=TimerConfig)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidInput("config", str(error)) from None
    if msgspec.msgpack.encode(config) != encoded:
        raise InvalidInput("config", "not the canonical encoding")
    return config
