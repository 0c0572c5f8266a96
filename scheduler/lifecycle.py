"""The ways of a timer in, and of its owner to change it: admission, extension, cancellation, and the call each makes.

Every function checks first and writes after, so that a refusal leaves the tables as they were, the actor's counter
included. Metering is the caller's: a refused call still pays its fixed price (Q-21).
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from scheduler.bidding import NO_BID, Bid
from scheduler.buckets import new_bucket
from scheduler.errors import (
    AlreadyCollected,
    DuplicateTimer,
    GasLimitTooHigh,
    HandlerTooLong,
    HeightNotInFuture,
    InvalidInput,
    PayloadTooLarge,
    TooManyTimers,
    TtlTooLong,
    Unauthorized,
    UnknownTimer,
)
from scheduler.events import BidLocked, TimerPriorityClampedAtSchedule, TimerScheduled, TransactionScheduled
from scheduler.identifiers import timer_id_of
from scheduler.rules import CallRule, CoveragePoint
from scheduler.tables import TimerTables
from scheduler.types import (
    DEFAULT_HANDLER,
    MAX_HANDLER_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_U63,
    Moment,
    Quote,
    Timer,
    TimerConfig,
)

LAST_RESERVED_ADDRESS: Final = 0x0F
"""Addresses 0x01 up to this one belong to the system and pay for nothing."""

MAX_CONVENTION_BRACKETS: Final = 64
"""A payload with more opening brackets than this is not read as JSON: parsers differ in how deep they can go."""


class ScheduleRequest(msgspec.Struct, frozen=True, gc=False):
    """A request for a timer. None means the default; heights are in the timebase, limits in cycles."""

    actor: bytes
    sender: bytes
    nonce: int
    due: int
    payload: bytes
    handler: str = DEFAULT_HANDLER
    fee_payer: bytes | None = None
    gas_limit: int | None = None
    expires_at: int | None = None
    fees: Bid = NO_BID
    bid: int | None = None
    """Units for the whole fire (D-9); in the lane withdrawn, and ignored until it is refused (A-14)."""
    watched: tuple[bytes, ...] = ()
    """The keys of the state whose change makes it due, `due` being the time at which it has expired (D-11)."""
    pass_signer: bool = True
    """Whether the handler sees a sender; it matters in the queue of scheduled transactions alone (K-37)."""


@dataclass(frozen=True, slots=True)
class SchedulingContext:
    """The tables, the block's moment and configuration, and the policy's word: what calls about timers go by.

    `collected` is true while the timer phase runs: every timer due by then is on its list already. Where the policy
    `has_ttl` not, timers live until they fire: every expiry is the greatest number there is. `quote` freezes the fees
    that a caller states; without it they have no effect.
    """

    tables: TimerTables
    moment: Moment
    config: TimerConfig
    collected: bool = False
    has_ttl: bool = True
    ceiling: int | None = None
    quote: Callable[[Bid], tuple[Quote, int | None]] | None = None

    @property
    def gas_limit_ceiling(self) -> int:
        """The greatest gas limit admitted, which is also the default, in cycles."""
        return self.config.gas_limit_ceiling if self.ceiling is None else self.ceiling


ScheduleEvents = (
    tuple[TimerScheduled]
    | tuple[TimerScheduled, TimerPriorityClampedAtSchedule]
    | tuple[TimerScheduled, BidLocked]
    | tuple[TimerScheduled, TransactionScheduled]
)
"""The events of a timer that was admitted."""

KEY_CELLS: Final = 32
"""Cells of the key of each record that a timer adds to the state."""

WATCH_CELLS: Final = 64
"""Cells of each key that a timer watches."""


class Admission(msgspec.Struct, frozen=True, gc=False):
    """A timer that may come in, what its call pays for its place in the state first, and what tells of it.

    `reached` are the coverage points that count once the call has kept its effects. `bid`, in units, is locked from the
    payer as the timer comes in. `watched` are the keys that it watches. `key` is what the call returns, and what a
    cancellation takes, where it is not the identifier.
    """

    timer: Timer
    index_cells: int
    events: ScheduleEvents
    reached: tuple[CoveragePoint, ...] = ()
    bid: int = 0
    watched: tuple[bytes, ...] = ()
    key: bytes = b""

    @property
    def name(self) -> bytes:
        """The bytes by which its actor knows the timer from now on."""
        return self.key or self.timer.timer_id


class _Convention(msgspec.Struct, frozen=True):
    handler: str = msgspec.field(name="_handler")
    payload: str = msgspec.field(name="_payload")


def schedule(context: SchedulingContext, request: ScheduleRequest) -> ScheduleEvents:
    """Admit a timer, write it, and return the events that tell of it; raises as `admit` does."""
    admission = admit(context, request)
    context.tables.insert(admission.timer)
    return admission.events


def admit(context: SchedulingContext, request: ScheduleRequest) -> Admission:
    """Check a timer that is to come in (C-5, C-11, C-14; A-13 in the lane); nothing is written.

    Raises:
        Rejected: One of the named errors.
    """
    payer, gas_limit, expires_at = _check_request(context, request)
    quote: Quote | None = None
    stated: int | None = None
    if context.quote is not None:
        quote, stated = context.quote(request.fees)
    # After the request's own errors: which error is reported is part of the receipt.
    live = context.tables.live_timers(request.actor)
    if live >= context.config.max_timers_per_actor:
        raise TooManyTimers(live, context.config.max_timers_per_actor)
    # Timers ever made and not live ones: an identifier must not come back when a timer has gone.
    counter = context.tables.scheduled_timers(request.actor)
    timer_id = timer_id_of(request.actor, request.due, request.payload, request.nonce, counter=counter)
    if context.tables.timer(timer_id) is not None:
        raise DuplicateTimer(timer_id)
    timer = Timer(
        timer_id=timer_id,
        actor=request.actor,
        due=request.due,
        sequence=context.tables.next_sequence(request.due),
        payload=request.payload,
        handler=request.handler,
        fee_payer=payer,
        gas_limit=gas_limit,
        gas_limit_is_default=request.gas_limit is None,
        expires_at=expires_at,
        quote=quote,
    )
    cells = index_cells(timer) if context.config.charges_index_cells else 0
    cells += WATCH_CELLS * len(request.watched)
    event = TimerScheduled(timer_id, timer.actor, timer.due, timer.sequence, payer, gas_limit, expires_at)
    is_last = live + 1 == context.config.max_timers_per_actor
    reached = (*_cells_of_terms(context, request, timer), *_cells_of_place(context, timer, is_last=is_last))
    if quote is None or stated is None:
        return Admission(timer, cells, (event,), reached, watched=request.watched)
    assert quote.max_priority_fee_per_cycle is not None, "only what was stated is clamped"
    clamped = TimerPriorityClampedAtSchedule(timer_id, stated, quote.max_priority_fee_per_cycle)
    return Admission(timer, cells, (event, clamped), (*reached, CallRule.TIP_CLAMPED), watched=request.watched)


def _cells_of_terms(context: SchedulingContext, request: ScheduleRequest, timer: Timer) -> Iterator[CoveragePoint]:
    """Yield the coverage points of what a call states for its timer."""
    if timer.fee_payer != timer.actor:
        yield CallRule.PAYER_IS_SENDER
    if timer.gas_limit_is_default:
        yield CallRule.GAS_LIMIT_DEFAULT
    elif timer.gas_limit == context.gas_limit_ceiling:
        yield CallRule.GAS_LIMIT_AT_CEILING
    if request.expires_at is not None:
        if not context.has_ttl:
            yield CallRule.NO_EXPIRY
        elif request.expires_at == context.moment.now + context.config.max_ttl_blocks:
            yield CallRule.EXPIRY_AT_LIMIT
    # One that watches is due only when it has expired.
    if timer.expires_at < timer.due and not request.watched:
        yield CallRule.EXPIRY_BEFORE_DUE


def _cells_of_place(context: SchedulingContext, timer: Timer, *, is_last: bool) -> Iterator[CoveragePoint]:
    """Yield the coverage points of the place that a timer gets."""
    if timer.due == context.moment.now + 1:
        yield CallRule.DUE_NEXT
    if timer.sequence:
        yield CallRule.HEIGHT_SHARED
    if is_last:
        yield CallRule.LAST_PLACE_TAKEN
    if not context.config.charges_index_cells:
        yield CallRule.INDEX_FREE


def index_cells(timer: Timer) -> int:
    """Return the cells of a timer's record but for its payload, of its place, and of the bucket if it is the first."""
    encode = msgspec.msgpack.encode
    records = [encode(msgspec.structs.replace(timer, payload=b"")), encode((timer.timer_id,))]
    # A bucket lives as long as it has a timer, and only the first one of its life has the sequence 0.
    if timer.sequence == 0:
        records.append(encode(new_bucket(is_queued=False)))
    return sum(KEY_CELLS + len(record) for record in records)


def move_expiry(context: SchedulingContext, timer: Timer, new_expires_at: int) -> int:
    """Give a live timer another expiry, clamped, and return that; whose right it is has been checked.

    Raises:
        InvalidInput: The new expiry is not in the future, or the timer has expired.
    """
    now = context.moment.now
    if new_expires_at <= now:
        raise InvalidInput("expires_at", f"{new_expires_at} is not above the current {now}")
    if is_expired(timer, now):
        raise InvalidInput("timer", f"expired at {timer.expires_at}")
    expires_at = min(new_expires_at, now + context.config.max_ttl_blocks) if context.has_ttl else MAX_U63
    context.tables.replace(msgspec.structs.replace(timer, expires_at=expires_at))
    return expires_at


def cells_of_extension(context: SchedulingContext, timer: Timer, *, asked: int, given: int) -> Iterator[CoveragePoint]:
    """Yield the coverage points of a timer, as it was, whose expiry was moved."""
    if not context.has_ttl:
        yield CallRule.EXTENDED_FOR_NOTHING
        return
    yield CallRule.SHORTENED if given < timer.expires_at else CallRule.EXTENDED
    if given < asked:
        yield CallRule.EXTENSION_CLAMPED
    if timer.due <= context.moment.parent_now:
        yield CallRule.EXTENDED_OVERDUE


def cell_of_cancellation(context: SchedulingContext, timer: Timer) -> CoveragePoint:
    """Return the coverage point of a timer that its owner cancels."""
    if context.collected:
        return CallRule.CANCELLED_BY_TIMER
    if timer.due > context.moment.now:
        return CallRule.CANCELLED_BEFORE_DUE
    return CallRule.CANCELLED_DEFERRED if timer.due <= context.moment.parent_now else CallRule.CANCELLED_ON_DUE


def is_expired(timer: Timer, now: int) -> bool:
    """Say whether a timer is past its time to live; at `expires_at` itself it is still live."""
    return now > timer.expires_at


def call_of(timer: Timer) -> tuple[str, bytes]:
    """Return the handler and the payload that a timer's fire delivers (C-5, Q-29).

    A payload of a timer with the default handler may be a JSON object with the strings `_handler` and `_payload`, the
    latter canonical base64. It calls that handler with the decoded payload. Any other payload is delivered as it is.
    """
    if timer.handler != DEFAULT_HANDLER:
        return timer.handler, timer.payload
    return resolve_convention(timer.payload) or (DEFAULT_HANDLER, timer.payload)


def resolve_convention(payload: bytes) -> tuple[str, bytes] | None:
    """Return the handler and inner payload that a payload names by the JSON convention, or None if it does not."""
    if not payload.lstrip(b" \t\r\n").startswith(b"{"):
        return None
    if payload.count(b"{") + payload.count(b"[") > MAX_CONVENTION_BRACKETS:
        return None
    try:
        # msgspec skips what it need not read, and would let bytes through there that are no text.
        payload.decode("utf-8")
        named = msgspec.json.decode(payload, type=_Convention)
        text = named.payload.encode("ascii")
        inner = base64.b64decode(text, validate=True)
    except (msgspec.MsgspecError, UnicodeError, binascii.Error):
        return None
    # Encoded again: base64 with stray bits decodes to the same bytes, and only the canonical text counts.
    if base64.b64encode(inner) != text or len(_utf8(named.handler)) > MAX_HANDLER_BYTES:
        return None
    return named.handler, inner


def _check_request(context: SchedulingContext, request: ScheduleRequest) -> tuple[bytes, int, int]:
    """Return (fee payer, gas limit, expiry) with the defaults filled in, or raise the error that applies."""
    now, config = context.moment.now, context.config
    if request.due <= now:
        raise HeightNotInFuture(request.due, now)
    # Records hold 63 bits; a greater height could be written and never be read.
    if request.due > MAX_U63:
        raise InvalidInput("height", f"{request.due} exceeds {MAX_U63}")
    if len(request.payload) > MAX_PAYLOAD_BYTES:
        raise PayloadTooLarge(len(request.payload), MAX_PAYLOAD_BYTES)
    check_handler(request)
    payer = _check_fee_payer(request)
    ceiling = context.gas_limit_ceiling
    gas_limit = ceiling if request.gas_limit is None else request.gas_limit
    if gas_limit > ceiling:
        raise GasLimitTooHigh(gas_limit, ceiling)
    latest = now + config.max_ttl_blocks if context.has_ttl else MAX_U63
    expires_at = latest if request.expires_at is None or not context.has_ttl else request.expires_at
    if expires_at > latest:
        raise TtlTooLong(expires_at, latest)
    if gas_limit < 0 or expires_at < 0:
        raise InvalidInput("gas_limit" if gas_limit < 0 else "expires_at", "negative")
    return payer, gas_limit, expires_at


def check_handler(request: ScheduleRequest) -> None:
    """Refuse a handler's name that is too long, or no text; raises Rejected."""
    handler_bytes = len(_utf8(request.handler))
    if handler_bytes > MAX_HANDLER_BYTES:
        raise HandlerTooLong(handler_bytes, MAX_HANDLER_BYTES)


def _utf8(text: str) -> bytes:
    """Encode a handler's name.

    Raises:
        InvalidInput: The name holds a lone surrogate, which no record can carry.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput("handler", "not encodable as UTF-8") from None


def _check_fee_payer(request: ScheduleRequest) -> bytes:
    payer = request.actor if request.fee_payer is None else request.fee_payer
    if not any(payer):
        raise InvalidInput("fee_payer", "zero")
    if int.from_bytes(payer, "big") <= LAST_RESERVED_ADDRESS:
        raise InvalidInput("fee_payer", "system")
    if payer not in (request.actor, request.sender):
        raise InvalidInput("fee_payer", "third party")
    return payer


def owned_timer(context: SchedulingContext, caller: bytes, timer_id: bytes) -> Timer:
    """Return a live timer that its owner may change now.

    Raises:
        Rejected: UnknownTimer, AlreadyCollected (Q-28) or Unauthorized.
    """
    timer = context.tables.timer(timer_id)
    if timer is None:
        raise UnknownTimer(timer_id)
    if timer.actor != caller:
        raise Unauthorized(caller, f"does not own timer {timer_id.hex()}")
    if context.collected and timer.due <= context.moment.now:
        raise AlreadyCollected(timer_id)
    return timer
