"""The metered host API: every operation that is open to a program.

A Host exists for the length of a call. Each of its methods charges the meter first and checks the types of the
program's arguments. It acts on the chain only through World, whose writes the caller discards when the program reverts.
"""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

from scheduler import (
    MAX_U63,
    Bid,
    InvalidInput,
    Rejected,
    ScheduleRequest,
    TimerWatches,
)
from validators.actors import metering
from validators.actors.metering import Meter
from validators.actors.world import Emitted, Frame, SendRequest, World

ADDRESS_BYTES = 20
"""Length of an address."""


class Revert(Exception):  # noqa: N818 - named as receipts name it
    """A program, or the host on its behalf, gives up: the call's writes are discarded, and its gas is paid."""


_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def _noting(
    method: Callable[Concatenate["Host", _Given], _Result],
) -> Callable[Concatenate["Host", _Given], _Result]:
    """Report each refusal of a method to the world, because a program may catch it and continue."""
    name: str = getattr(method, "__name__", "")

    def noted(self: "Host", /, *arguments: _Given.args, **named: _Given.kwargs) -> _Result:
        try:
            return method(self, *arguments, **named)
        except (Rejected, Revert) as error:
            self.note_refusal(name, error)
            raise

    update_wrapper(noted, method)
    return noted


class Host:
    """The host API of a call. Heights and expiries are in the chain's timebase, amounts in units."""

    __slots__ = ("_frame", "_meter", "_sent", "_world", "events", "has_overstepped")

    def __init__(self, world: World, frame: Frame, meter: Meter) -> None:
        self._world = world
        self._frame = frame
        self._meter = meter
        self._sent = 0
        self.events: list[msgspec.Struct] = []
        self.has_overstepped = False
        """Whether a read-only call tried to change anything: it fails even if the program continues."""

    @property
    def actor(self) -> bytes:
        """The address of the actor that runs."""
        return self._frame.actor

    @property
    def sender(self) -> bytes:
        """The transaction's sender; the actor that sent the message; the actor itself when a timer calls.

        Empty where the caller is a queue entry that was inserted without `pass_signer` (K-37).
        """
        return self._frame.sender

    @property
    def owner(self) -> bytes:
        """The address that owns the actor."""
        return self._world.owner(self._frame.actor)

    @property
    def height(self) -> int:
        """The block's height."""
        return self._world.moment.height

    @property
    def now(self) -> int:
        """The present in the chain's timebase, with which due heights and expiries are compared."""
        return self._world.moment.now

    @property
    def default_agent(self) -> bytes | None:
        """The agent to name for a timer without its own agent; None where a timer needs none."""
        return self._world.default_agent

    @_noting
    def compute(self, cycles: int) -> None:
        """Charge for the program's own computation."""
        self._meter.use(_amount("cycles", cycles))

    def balance(self, address: bytes | None = None) -> int:
        """Return the balance of an address, the actor's own by default."""
        self._meter.use(metering.BALANCE_CYCLES)
        return self._world.balance(self._frame.actor if address is None else _address("address", address))

    @_noting
    def get(self, key: bytes, actor: bytes | None = None) -> bytes | None:
        """Return a value of the actor's storage or, in a read-only call, of another actor's storage (K-40).

        Raises:
            Revert: The call is not read-only, and `actor` is another actor.
        """
        self._meter.use(metering.STORAGE_GET_CYCLES)
        owner = self._frame.actor if actor is None else _address("actor", actor)
        if owner == self._frame.actor:
            return self._world.storage_get(owner, _bytes("key", key))
        if not self._frame.is_read_only:
            raise Revert("own storage only")
        value = self._world.storage_get(owner, _bytes("key", key))
        self._meter.use(0, len(value or b"") * metering.FOREIGN_BYTE_CELLS)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        """Store a value in the actor's storage."""
        self._require_writable()
        stored = len(_bytes("key", key)) + len(_bytes("value", value))
        self._meter.use(metering.STORAGE_PUT_CYCLES, stored * metering.STORAGE_BYTE_CELLS)
        self._world.storage_put(self._frame.actor, key, value)

    def delete(self, key: bytes) -> None:
        """Delete a value of the actor's storage."""
        self._require_writable()
        self._meter.use(metering.STORAGE_DELETE_CYCLES)
        self._world.storage_delete(self._frame.actor, _bytes("key", key))

    @_noting
    def transfer(self, to: bytes, amount: int) -> None:
        """Move units from the actor to an address.

        Raises:
            Revert: The actor has less.
            Rejected: ReservedAddress.
        """
        self._require_writable()
        self._meter.use(metering.TRANSFER_CYCLES)
        available = self._world.balance(self._frame.actor)
        if available < _amount("amount", amount):
            raise Revert(f"transfer of {amount} exceeds balance {available}")
        self._world.move(self._frame.actor, _address("to", to), amount)

    def emit(self, topic: str, data: bytes = b"") -> None:
        """Emit an event defined by the program."""
        self._require_writable()
        size = len(_text("topic", topic)) + len(_bytes("data", data))
        self._meter.use(metering.EMIT_CYCLES, size * metering.EMIT_BYTE_CELLS)
        self.events.append(Emitted(self._frame.actor, topic, data))

    @_noting
    def schedule_timer(  # noqa: PLR0917 - the signature of the specification
        self,
        height: int,
        payload: bytes,
        fee_payer: bytes | None = None,
        gas_limit: int | None = None,
        expires_at: int | None = None,
        max_fee_per_cycle: int | None = None,
        max_priority_fee_per_cycle: int | None = None,
        *,
        priority_tier_hint: str | None = None,
        gba: bytes | None = None,
        bid: int | None = None,
        pass_signer: bool = True,
    ) -> bytes:
        """Schedule a call of this actor; None means the protocol's default. Return its timer_id (A-13, A-14, A-18).

        Fees are in units per cycle and matter in the timer lane; `gba` is an agent that bids when the timer is due. In
        the queue of scheduled transactions the result is the entry's key, and without `pass_signer` the handler sees no
        sender (K-37).

        Raises:
            Rejected: One of the named errors of the scheduler. It reverts the call unless the program catches it.
        """
        self._charge_for_timer(payload)
        bid_for = _fees_of(max_fee_per_cycle, max_priority_fee_per_cycle, priority_tier_hint, gba)
        request = self._request(
            height, payload, fee_payer=fee_payer, gas_limit=gas_limit, expires_at=expires_at, fees=bid_for, bid=bid
        )
        return self._schedule(msgspec.structs.replace(request, pass_signer=_flag("pass_signer", pass_signer)))

    @_noting
    def watch_timer(
        self,
        watched: Sequence[tuple[bytes, bytes | None]],
        payload: bytes,
        *,
        fee_payer: bytes | None = None,
        gas_limit: int | None = None,
        expires_at: int | None = None,
        max_fee_per_cycle: int | None = None,
        max_priority_fee_per_cycle: int | None = None,
        priority_tier_hint: str | None = None,
        gba: bytes | None = None,
        bid: int | None = None,
    ) -> bytes:
        """Schedule a call of this actor for the next change of any watched value. Return its timer_id (D-11).

        `watched` are pairs: an address and None for its balance, or an actor and a key of its storage.

        Raises:
            Rejected: One of the named errors of the scheduler. It reverts the call unless the program catches it.
        """
        self._charge_for_timer(payload)
        latest = self._world.moment.now + self._world.config.max_ttl_blocks if expires_at is None else expires_at
        bid_for = _fees_of(max_fee_per_cycle, max_priority_fee_per_cycle, priority_tier_hint, gba)
        # Without a change it becomes due when it has expired, so that the clean-up finds it.
        due = _amount("expires_at", latest) + 1
        request = self._request(
            due, payload, fee_payer=fee_payer, gas_limit=gas_limit, expires_at=expires_at, fees=bid_for, bid=bid
        )
        keys = self._world.watched_keys(self._frame.actor, [_watchable(pair) for pair in watched])
        timer_id = self._schedule(msgspec.structs.replace(request, watched=keys))
        self.events.append(TimerWatches(timer_id, keys))
        return timer_id

    def _charge_for_timer(self, payload: bytes) -> None:
        self._require_writable()
        cells = len(_bytes("payload", payload)) * metering.PAYLOAD_BYTE_CELLS
        self._meter.use(self._world.config.schedule_cycles, cells)

    def _request(
        self,
        height: int,
        payload: bytes,
        *,
        fee_payer: bytes | None,
        gas_limit: int | None,
        expires_at: int | None,
        fees: Bid,
        bid: int | None,
    ) -> ScheduleRequest:
        return ScheduleRequest(
            actor=self._frame.actor,
            # A message has no transaction sender, so only the actor itself can pay (C-14).
            sender=self._frame.actor if self._frame.is_message else self._frame.sender,
            nonce=self._frame.nonce,
            due=_amount("height", height),
            payload=payload,
            fee_payer=None if fee_payer is None else _address("fee_payer", fee_payer),
            gas_limit=None if gas_limit is None else _amount("gas_limit", gas_limit),
            expires_at=None if expires_at is None else _amount("expires_at", expires_at),
            fees=fees,
            bid=None if bid is None else _amount("bid", bid),
        )

    def _schedule(self, request: ScheduleRequest) -> bytes:
        """Have a timer admitted and written; return the bytes by which the actor knows it."""
        self._meter.use(self._world.cycles_to_admit(request))
        admission = self._world.admit_timer(request)
        self._meter.use(0, admission.index_cells)
        self._world.enter_timer(admission)
        self.events.extend(admission.events)
        return admission.name

    @_noting
    def extend_timer(self, timer_id: bytes, new_expires_at: int) -> int:
        """Move the expiry of a timer of the actor; return the new expiry, clamped.

        Raises:
            Rejected: One of the named errors of the scheduler.
        """
        self._require_writable()
        self._meter.use(self._world.config.extend_cycles)
        expires_at = _amount("expires_at", new_expires_at)
        event = self._world.extend_timer(self._frame.actor, _bytes("timer_id", timer_id), expires_at)
        self.events.append(event)
        return event.expires_at

    @_noting
    def cancel_timer(self, timer_id: bytes) -> None:
        """Cancel a timer of the actor, named by the bytes that scheduling it returned.

        Raises:
            Rejected: One of the named errors of the scheduler.
        """
        self._require_writable()
        self._meter.use(self._world.config.cancel_cycles)
        self.events.append(self._world.cancel_timer(self._frame.actor, _bytes("timer_id", timer_id)))

    @_noting
    def send(self, actor: bytes, handler: str, payload: bytes, cycles: int) -> int:
        """Have `handler(payload)` of an actor called from the mailbox; return the message's sequence.

        The message gets `cycles`, and as many cells, out of this call's own limits: they count as used by the call.

        Raises:
            Rejected: One of the named errors. It reverts the call unless the program catches it.
        """
        self._require_writable()
        self._meter.use(metering.SEND_CYCLES, len(_bytes("payload", payload)) * metering.PAYLOAD_BYTE_CELLS)
        request = SendRequest(
            self._frame,
            _address("actor", actor),
            _known_text("handler", handler),
            payload,
            _amount("cycles", cycles),
            self._sent,
        )
        self._world.check_message(request)
        self._meter.use(cycles, cycles)
        event = self._world.send(request)
        self._sent += 1
        self.events.append(event)
        return event.sequence

    def note_refusal(self, what: str, error: Exception) -> None:
        """Report a refusal to the world."""
        self._world.refused(what, error)

    def _require_writable(self) -> None:
        if self._frame.is_read_only:
            self.has_overstepped = True
            raise Revert("read-only")


def _bytes(field: str, value: object) -> bytes:
    if type(value) is not bytes:
        raise InvalidInput(field, f"{type(value).__name__} where bytes belong")
    return value


def _address(field: str, value: object) -> bytes:
    address = _bytes(field, value)
    if len(address) != ADDRESS_BYTES:
        raise InvalidInput(field, f"{len(address)} bytes where an address has {ADDRESS_BYTES}")
    return address


def _amount(field: str, value: object) -> int:
    # type() and not isinstance(): bool is an int to Python but would be another msgpack type in a record.
    if type(value) is not int or not 0 <= value <= MAX_U63:
        raise InvalidInput(field, f"{value!r} is not a number within 0..{MAX_U63}")
    return value


def _flag(field: str, value: object) -> bool:
    if type(value) is not bool:
        raise InvalidInput(field, f"{type(value).__name__} where a bool belongs")
    return value


def _fees_of(fee: int | None, tip: int | None, hint: str | None, gba: bytes | None) -> Bid:
    return Bid(
        None if fee is None else _amount("max_fee_per_cycle", fee),
        None if tip is None else _amount("max_priority_fee_per_cycle", tip),
        None if hint is None else _known_text("priority_tier_hint", hint),
        None if gba is None else _address("gba", gba),
    )


def _watchable(pair: tuple[bytes, bytes | None]) -> tuple[bytes, bytes | None]:
    address, key = pair
    return _address("watched", address), None if key is None else _bytes("watched", key)


def _text(field: str, value: object) -> bytes:
    if type(value) is not str:
        raise InvalidInput(field, f"{type(value).__name__} where text belongs")
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(field, "not encodable as UTF-8") from None


def _known_text(field: str, value: str) -> str:
    _text(field, value)
    return value
