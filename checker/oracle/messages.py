"""The programs `game-loop`, `game-player`, `subscription` and `merchant` as docs/programs.md has them."""

from typing import Any

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

MOST_PLAYERS = 64
ANSWER_CYCLES = 1_000


def _is_address(field: object) -> bool:
    return isinstance(field, bytes) and len(field) == 20


def _is_list_of_players(field: object) -> bool:
    return isinstance(field, list) and len(field) <= MOST_PLAYERS and all(map(_is_address, field))


GAME_ORDER = (within(1, LONGEST_INTERVAL), _is_list_of_players, within(0), within(0))
PLAN_ORDER = (_is_address, within(0), within(1, LONGEST_INTERVAL), within(0))


def start_game(call: Call, payload: bytes) -> None:
    """Begin to tick, or restart."""
    require_owner(call)
    _read_game(payload)
    _cancel_next(call)
    call.put(b"order", payload)
    interval, _, gas_limit, _ = _game_order(call)
    _schedule_next(call, interval, gas_limit)


def move(call: Call, payload: bytes) -> None:
    """Keep a player's answer."""
    _, players, _, _ = _game_order(call)
    if call.sender not in players:
        raise RevertedError("not a player")
    call.put(b"move" + call.sender, payload[:8])
    put_number(call, b"moves", get_number(call, b"moves") + 1)


def tick(call: Call, payload: bytes) -> None:
    """Send each player a tick."""
    require_timer(call)
    require_empty(payload)
    interval, players, gas_limit, cycles = _game_order(call)
    number = get_number(call, b"ticks") + 1
    put_number(call, b"ticks", number)
    for player in players:
        call.send(player, "on_tick", be8(number), cycles)
    _schedule_next(call, interval, gas_limit)


def answer_tick(call: Call, payload: bytes) -> None:
    """Answer the sender of a tick."""
    put_number(call, b"ticks", get_number(call, b"ticks") + 1)
    call.send(call.sender, "move", payload[:8], ANSWER_CYCLES)


def subscribe(call: Call, payload: bytes) -> None:
    """Begin to renew, or restart."""
    require_owner(call)
    *_, gas_limit = _read_plan(payload)
    _cancel_next(call)
    call.put(b"order", payload)
    _schedule_next(call, 1, gas_limit)


def unsubscribe(call: Call, payload: bytes) -> None:
    """End the subscription."""
    require_owner(call)
    require_empty(payload)
    if not _cancel_next(call):
        raise RevertedError("no subscription")
    call.delete(b"next")


def renew(call: Call, payload: bytes) -> None:
    """Pay and notify the merchant, or lapse."""
    require_timer(call)
    require_empty(payload)
    merchant, price, interval, gas_limit = _read_plan(call.get(b"order") or b"")
    if call.balance() < price:
        call.delete(b"next")
        call.emit("lapsed", b"")
        return
    call.transfer(merchant, price)
    number = get_number(call, b"renewals") + 1
    put_number(call, b"renewals", number)
    call.send(merchant, "paid", be8(number), ANSWER_CYCLES)
    _schedule_next(call, interval, gas_limit)


def keep_payment(call: Call, payload: bytes) -> None:
    """Keep a subscriber's notice of payment."""
    call.put(b"paid" + call.sender, payload[:8])
    put_number(call, b"payments", get_number(call, b"payments") + 1)


def _read_game(payload: bytes) -> list[Any]:
    return read_order(payload, GAME_ORDER, (0, 3_000), "GameOrder")


def _game_order(call: Call) -> tuple[int, list[bytes], int, int]:
    interval, players, gas_limit, cycles = _read_game(call.get(b"order") or b"")
    return interval, players, gas_limit, cycles


def _read_plan(payload: bytes) -> list[Any]:
    return read_order(payload, PLAN_ORDER, (0,), "PlanOrder")


def _cancel_next(call: Call) -> bool:
    pending = call.get(b"next")
    if pending is None:
        return False
    cancel_if_there(call, pending)
    return True


def _schedule_next(call: Call, delay: int, gas_limit: int) -> None:
    call.put(b"next", schedule(call, call.now + delay, b"", gas_limit=gas_limit or None))
