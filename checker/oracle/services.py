"""The programs `oracle-feed` and `liquidation-bot` as docs/programs.md has them."""

from checker.oracle.calls import Call, RevertedError
from checker.oracle.orders import (
    LONGEST_INTERVAL,
    cancel_if_there,
    get_number,
    put_number,
    read_order,
    require_empty,
    require_owner,
    require_timer,
    schedule,
    within,
)
from checker.oracle.records import be8

FEED_ORDER = (within(1, LONGEST_INTERVAL), within(0))
SUBMISSION = (within(0),)

UNITS = within(0, 2**40)
POSITION_ORDER = (UNITS, UNITS)
PRICE_ORDER = (UNITS, within(1, LONGEST_INTERVAL), within(0))
POSITIONS_PER_CHECK = 16
CHECK_CYCLES = 500


def start_feed(call: Call, payload: bytes) -> None:
    """Begin to publish."""
    require_owner(call)
    interval, gas_limit = _feed_order(payload)
    call.put(b"order", payload)
    _schedule_update(call, interval, gas_limit)


def submit(call: Call, payload: bytes) -> None:
    """Keep a value until the next update; extend that timer's expiry, or schedule another."""
    require_owner(call)
    (value,) = read_order(payload, SUBMISSION, (), "Submission")
    interval, gas_limit = _feed_order(call.get(b"order") or b"")
    put_number(call, b"submitted", value)
    pending = call.get(b"next") or b""
    try:
        call.extend(pending, call.now + 5 * interval)
    except RevertedError:
        _schedule_update(call, interval, gas_limit)


def update(call: Call, payload: bytes) -> None:
    """Publish the new values."""
    require_timer(call)
    require_empty(payload)
    submitted = call.get(b"submitted")
    if submitted is not None and call.get(b"value") != submitted:
        call.put(b"value", submitted)
        put_number(call, b"at", call.now)
        call.emit("value", submitted)
    interval, gas_limit = _feed_order(call.get(b"order") or b"")
    _schedule_update(call, interval, gas_limit)


def open_position(call: Call, payload: bytes) -> None:
    """Add a position."""
    collateral, debt = read_order(payload, POSITION_ORDER, (), "PositionOrder")
    index = get_number(call, b"opened")
    call.put(b"p" + be8(index), be8(collateral) + be8(debt))
    put_number(call, b"opened", index + 1)


def set_price(call: Call, payload: bytes) -> None:
    """Take over a price and check soon."""
    require_owner(call)
    _price_order(payload)
    call.put(b"order", payload)
    pending = call.get(b"next")
    if pending is not None:
        cancel_if_there(call, pending)
    _schedule_check(call, 1)


def check_positions(call: Call, payload: bytes) -> None:
    """Check the positions that are due for a check."""
    require_timer(call)
    require_empty(payload)
    price, interval, _ = _price_order(call.get(b"order") or b"")
    opened = get_number(call, b"opened")
    position = get_number(call, b"cursor")
    is_alarming = False
    for _ in range(min(POSITIONS_PER_CHECK, opened)):
        if _check(call, position, price):
            is_alarming = True
        position = (position + 1) % opened
    if opened:
        put_number(call, b"cursor", position)
    _schedule_check(call, 1 if is_alarming else interval)


def _check(call: Call, index: int, price: int) -> bool:
    """Liquidate a position whose debt is above 9/10 of its value; return whether it stays and is above 7/10."""
    record = call.get(b"p" + be8(index))
    if record is None:
        return False
    call.compute(CHECK_CYCLES)
    value = int.from_bytes(record[:8], "big") * price
    debt = int.from_bytes(record[8:], "big")
    if 10 * debt > 9 * value:
        call.delete(b"p" + be8(index))
        call.emit("liquidated", be8(index))
        return False
    return 10 * debt > 7 * value


def _feed_order(payload: bytes) -> list[int]:
    return read_order(payload, FEED_ORDER, (0,), "FeedOrder")


def _price_order(payload: bytes) -> list[int]:
    return read_order(payload, PRICE_ORDER, (0,), "PriceOrder")


def _schedule_update(call: Call, interval: int, gas_limit: int) -> None:
    due = call.now + interval
    timer_id = schedule(call, due, b"", gas_limit=gas_limit or None, expires_at=due + 4 * interval)
    call.put(b"next", timer_id)


def _schedule_check(call: Call, delay: int) -> None:
    _, _, gas_limit = _price_order(call.get(b"order") or b"")
    call.put(b"next", schedule(call, call.now + delay, b"", gas_limit=gas_limit or None))
