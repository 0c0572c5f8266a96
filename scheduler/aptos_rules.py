"""The rules of scheduled transactions as functions of values: checks with their codes, expiry, prices, the epilogue.

docs/scheduled-transactions.md has each in its place.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, NoReturn

from scheduler.aptos_records import AptosConfig, ServiceState, Token
from scheduler.errors import (
    EAUTH_NUM_MISMATCH,
    EAUTH_TOKEN_EXPIRED,
    EAUTH_TOKEN_INSUFFICIENT_DURATION,
    ECANCEL_TOO_LATE,
    EINVALID_PAUSE_ATTEMPT,
    EINVALID_SHUTDOWN_ATTEMPT,
    EINVALID_SHUTDOWN_START,
    EINVALID_SIGNER,
    EINVALID_TIME,
    EINVALID_UNPAUSE_ATTEMPT,
    ELOW_GAS_UNIT_PRICE,
    ESHUTDOWN_IN_PROGRESS,
    ETOO_LOW_GAS_AMOUNT,
    ETXN_TOO_LARGE,
    EUNAVAILABLE,
    InvalidInput,
)

ACTIONS: Final = {
    "pause": (ServiceState.ACTIVE, ServiceState.PAUSED),
    "unpause": (ServiceState.PAUSED, ServiceState.ACTIVE),
    # Not from Paused: the branch's comment allows it, its code does not.
    "start_shutdown": (ServiceState.ACTIVE, ServiceState.SHUTDOWN_IN_PROGRESS),
    "continue_shutdown": (ServiceState.SHUTDOWN_IN_PROGRESS, ServiceState.SHUTDOWN_IN_PROGRESS),
    "re_initialize": (ServiceState.SHUTDOWN_COMPLETE, ServiceState.ACTIVE),
}
"""The actions of governance on the service: the status that each needs, and the one that it leads to."""


class Insertion(NamedTuple):
    """The values that the checks of an insertion look at before its size is known; times in milliseconds.

    `token` is None without authorization; `number` is the sender's current authorization number.
    """

    status: ServiceState
    is_signer: bool
    scheduled_ms: int
    now_ms: int
    price: int
    gas: int
    token: Token | None = None
    number: int = 0


def check_insertion(insertion: Insertion, config: AptosConfig) -> None:
    """Make the checks 1 to 8 of an insertion, in this order.

    Raises:
        Aborted: The first that fails.
    """
    if insertion.status is not ServiceState.ACTIVE:
        raise EUNAVAILABLE(f"the service is {insertion.status.name}")
    if not insertion.is_signer:
        raise EINVALID_SIGNER("the sender pays for its own")
    if insertion.scheduled_ms <= insertion.now_ms:
        raise EINVALID_TIME(f"{insertion.scheduled_ms} ms is not after {insertion.now_ms} ms")
    if insertion.price < config.min_price:
        raise ELOW_GAS_UNIT_PRICE(f"{insertion.price} is below {config.min_price}")
    if insertion.gas < config.min_gas:
        raise ETOO_LOW_GAS_AMOUNT(f"{insertion.gas} is below {config.min_gas}")
    if insertion.token is not None:
        _check_token(insertion.token, insertion)


def _check_token(token: Token, insertion: Insertion) -> None:
    # Two errors with one code, as the latest branch has them.
    if insertion.now_ms > token.expiration_ms:
        raise EAUTH_TOKEN_EXPIRED(f"it expired at {token.expiration_ms} ms")
    if insertion.scheduled_ms > token.expiration_ms:
        raise EAUTH_TOKEN_INSUFFICIENT_DURATION(f"it expires at {token.expiration_ms} ms")
    if token.authorization_num != insertion.number:
        raise EAUTH_NUM_MISMATCH(f"{token.authorization_num} where {insertion.number} is current")


def check_size(size_bytes: int, config: AptosConfig) -> None:
    """Make the check 9 of an insertion; raises Aborted."""
    if size_bytes >= config.max_size_bytes:
        raise ETXN_TOO_LARGE(f"{size_bytes} bytes, fewer than {config.max_size_bytes} are allowed")


def check_lead(scheduled_ms: int, now_ms: int, lead_ms: int) -> None:
    """Refuse a cancellation that comes too late; raises Aborted."""
    if lead_ms and scheduled_ms - now_ms <= lead_ms:
        raise ECANCEL_TOO_LATE(f"{scheduled_ms} ms is not more than {lead_ms} ms after {now_ms} ms")


def status_after(status: ServiceState, action: str) -> ServiceState:
    """Return the status that an action leads to, for `continue_shutdown` while entries are left.

    Raises:
        InvalidInput: There is no such action.
        Aborted: It needs another status.
    """
    if action not in ACTIONS:
        raise InvalidInput("action", f"{action!r} is none of {', '.join(ACTIONS)}")
    needs, leads_to = ACTIONS[action]
    if status is not needs:
        _refuse_action(action, f"the service is {status.name}, which must be {needs.name}")
    return leads_to


def _refuse_action(action: str, why: str) -> NoReturn:
    if action == "pause":
        raise EINVALID_PAUSE_ATTEMPT(why)
    if action == "unpause":
        raise EINVALID_UNPAUSE_ATTEMPT(why)
    if action == "start_shutdown":
        raise EINVALID_SHUTDOWN_START(why)
    if action == "continue_shutdown":
        raise EINVALID_SHUTDOWN_ATTEMPT(why)
    raise ESHUTDOWN_IN_PROGRESS(why)


def is_expired(scheduled_ms: int, delta_ms: int, now_ms: int, unit_ms: int = 1) -> bool:
    """Say whether an entry is past its expiry, strictly (Q-38), in whole units of time; a delta of 0 is never past."""
    return delta_ms > 0 and scheduled_ms < live_from_ms(delta_ms, now_ms, unit_ms)


def live_from_ms(delta_ms: int, now_ms: int, unit_ms: int) -> int:
    """Return the earliest scheduled time that is not expired, for a delta above 0; it may be negative."""
    return (now_ms // unit_ms - delta_ms // unit_ms) * unit_ms


def price_charged(maximum: int, others: int | None, min_price: int) -> int:
    """Return the price of gas: the highest of the other transactions, at most the own (F-6, Q-36)."""
    return min(maximum, min_price if others is None else others)


def highest_others(prices: Sequence[int], places: Sequence[int]) -> list[int | None]:
    """Return for each place in a list of prices the highest price elsewhere, None where there is none."""
    # The two highest decide for all: without its own, a place has the one or the other.
    top = sorted(range(len(prices)), key=prices.__getitem__, reverse=True)[:2]
    return [next((prices[each] for each in top if each != place), None) for place in places]


class Epilogue(NamedTuple):
    """The division of a deposit when a run is over, in units."""

    gas_used: int
    fee: int
    burned: int
    returned: int
    minted: int


def settle_deposit(deposit: int, price: int, gas_used: int, storage_refund: int = 0) -> Epilogue:
    """Return what becomes of a deposit; a refund that is not below the fee returns all of it (Q-40).

    The chain has no refund of storage (Q-53), so it never mints.
    """
    fee = gas_used * price
    assert fee <= deposit, f"gas for {fee} units was used, the deposit is {deposit}"
    burned, minted = max(0, fee - storage_refund), max(0, storage_refund - fee)
    return Epilogue(gas_used, fee, burned, deposit - burned, minted)


def gas_of(cycles: int, cells: int, cycle_basefee: int, cell_basefee: int) -> int:
    """Return units of gas: cells count as cycles at the ratio of the basefees, rounded up (Q-53)."""
    return cycles - -cells * cell_basefee // cycle_basefee
