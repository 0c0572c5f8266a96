"""The events of timers, one record each, in the order of the block.

Each timer leaves with exactly one of TimerFired, TimerExpired, TimerCancelledInsufficientFunds, TimerCancelled and
TimerCancelledForDelay, or TimerCancelledByGovernance for a live timer. Under `aptos` there are also
TransactionCancelled, and TransactionFailed for an entry that did not run, beside TimerFired.
Records are msgpack arrays that begin with their tag; tags 0 to 31 and 64 to 95 belong to this module
(docs/events.md).
"""

import enum

import msgspec


class DeferralReason(enum.StrEnum):
    """Why a live timer did not fire in a block."""

    LANE_FULL = "lane_full"
    """Its gas limit, or that of a timer before it, did not fit what was left of the lane."""
    OVER_CAP = "over_cap"
    """Its gas limit exceeds the whole lane or the auction's cap, which came after it was scheduled (Q-18, Q-30)."""
    BELOW_BASEFEE = "below_basefee"
    """Its greatest fee is below the lane's price (Q-8), or below the basefee and its tip (B-4)."""
    FUNDS = "funds"
    """Its payer cannot cover what its agent bid (B-10)."""
    AGENT_FAILED = "agent_failed"
    """Its agent is missing, failed, used up its cycles, or answered what is no bid (Q-48)."""
    NOT_ASKED = "not_asked"
    """The block asked as many agents as it may, and not its own (Q-48)."""
    BLOCK_CAP = "block_cap"
    """As many timers won as one block may fire (D-4)."""
    ACTOR_CAP = "actor_cap"
    """Its actor won as often as one actor may in a block (D-4)."""

    # Last of all, whatever other policies add: the order is that of DeferredSummary.
    READY_LIMIT = "ready_limit"
    """The block takes as many entries from the queue as it may, and not this one (F-5)."""
    UNAVAILABLE = "unavailable"
    """The service of scheduled transactions is not active (F-12)."""


class FailureCode(enum.StrEnum):
    """Why a scheduled transaction did not run, or came to nothing (CancelledTxnCode)."""

    SHUTDOWN = "Shutdown"
    EXPIRED = "Expired"
    AUTH_EXPIRED = "AuthExpired"
    FAILED = "Failed"
    """It ran, and its function aborted; TimerFired stands before it."""


class TimerScheduled(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """A timer was admitted and now waits at (due, sequence)."""

    timer_id: bytes
    actor: bytes
    due: int
    sequence: int
    fee_payer: bytes
    gas_limit: int
    expires_at: int


class TimerFired(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """A handler ran; `ok` is false when it reverted. Cycles and cells are those paid for; `burned`, `tip`: units."""

    timer_id: bytes
    actor: bytes
    due: int
    ok: bool
    used_cycles: int
    used_cells: int
    burned: int
    tip: int


class TimerDeferred(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """A live timer's first attempt failed; it waits. Later failures appear in DeferredSummary only."""

    timer_id: bytes
    reason: DeferralReason


class TimerExpired(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """The clean-up removed a timer past its time to live; heights are in the chain's timebase."""

    timer_id: bytes
    expires_at: int
    current_height: int


class TimerCancelledInsufficientFunds(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """The clean-up removed a timer whose payer could not cover its greatest possible cost."""

    timer_id: bytes
    fee_payer: bytes
    required: int
    available: int


class TimerCancelled(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """The owner cancelled the timer."""

    timer_id: bytes
    actor: bytes


class DeferredSummary(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """The live timers that each reason held back in this block, in the order of DeferralReason, without zeros."""

    counts: tuple[tuple[DeferralReason, int], ...]


class TimerExtended(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """The owner moved the timer's expiry to `expires_at`, which is already clamped."""

    timer_id: bytes
    expires_at: int


class TimerCancelledByGovernance(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """`timer.cancelled_by_governance`: instruction 48; when the timer was not live any more it changed nothing."""

    timer_id: bytes
    was_live: bool


class TimerConfigUpdated(msgspec.Struct, frozen=True, array_like=True, tag=9):
    """`timer_config.updated`: instruction 49; `config` is the encoded record that holds from the next block on."""

    config: bytes


class TimerExtendedByGovernance(msgspec.Struct, frozen=True, array_like=True, tag=10):
    """`timer.extended_by_governance`: instruction 50; `expires_at` is already clamped."""

    timer_id: bytes
    expires_at: int


class TimerPriorityClampedAtSchedule(msgspec.Struct, frozen=True, array_like=True, tag=11):
    """A tip did not fit between the lane's price and the greatest fee; units per cycle (A-13)."""

    timer_id: bytes
    stated: int
    clamped: int


class GbaFailed(msgspec.Struct, frozen=True, array_like=True, tag=12):
    """`count` timers, `timer_id` the first, have default values in this block although they name an agent (Q-13)."""

    timer_id: bytes
    reason: str
    count: int


class EpochPromoted(msgspec.Struct, frozen=True, array_like=True, tag=13):
    """Epoch maintenance: `heights` heights came from the overflow tree into the epoch queue as `epoch` began."""

    epoch: int
    heights: int


class TimerCancelledForDelay(msgspec.Struct, frozen=True, array_like=True, tag=14):
    """The clean-up removed a live timer passed over `delays` times; `penalty` units of its payer were burned (Q-34)."""

    timer_id: bytes
    fee_payer: bytes
    delays: int
    penalty: int


class BidLocked(msgspec.Struct, frozen=True, array_like=True, tag=15):
    """The bid of a timer went from its payer into escrow, where it stays until the timer leaves; in units (D-9)."""

    timer_id: bytes
    fee_payer: bytes
    bid: int


class BiasWindowClosed(msgspec.Struct, frozen=True, array_like=True, tag=16):
    """A window of the lambda loop closed; lambdas are in millionths, the worst wait in blocks (D-3)."""

    window: int
    worst_wait: int
    lambda_: int
    next_lambda: int


class TimerWatches(msgspec.Struct, frozen=True, array_like=True, tag=17):
    """The timer of the TimerScheduled before it watches these keys of the state (D-11)."""

    timer_id: bytes
    keys: tuple[bytes, ...]


class TimerTriggered(msgspec.Struct, frozen=True, array_like=True, tag=18):
    """A change of `key` triggered a timer: it waits at (due, sequence) now, and watches no more (D-11)."""

    timer_id: bytes
    due: int
    sequence: int
    key: bytes


class TransactionScheduled(msgspec.Struct, frozen=True, array_like=True, tag=64):
    """The timer of the TimerScheduled before it is an entry of the queue; times in milliseconds."""

    block_time_ms: int
    txn_id: bytes
    sender: bytes
    scheduled_time_ms: int
    max_gas_amount: int
    gas_unit_price: int
    auth_required: bool


class TransactionCancelled(msgspec.Struct, frozen=True, array_like=True, tag=65):
    """The sender cancelled its entry and has its deposit back; `key` is the entry's in BCS."""

    txn_id: bytes
    key: bytes
    sender: bytes

    @property
    def timer_id(self) -> bytes:
        """The identifier, as of any timer."""
        return self.txn_id


class TransactionFailed(msgspec.Struct, frozen=True, array_like=True, tag=66):
    """An entry left without a run, its deposit returned; or, with `Failed`, it ran and aborted (F-8, F-9)."""

    txn_id: bytes
    key: bytes
    sender: bytes
    code: FailureCode

    @property
    def timer_id(self) -> bytes:
        """The identifier, as of any timer."""
        return self.txn_id


class ShutdownEvent(msgspec.Struct, frozen=True, array_like=True, tag=67):
    """A shutdown of the service began, or is complete: no entry is left."""

    complete: bool


class AuthorizationRaised(msgspec.Struct, frozen=True, array_like=True, tag=68):
    """The entries of a sender that have an earlier number will not run."""

    sender: bytes
    number: int


class ServiceStatusChanged(msgspec.Struct, frozen=True, array_like=True, tag=69):
    """The service of scheduled transactions has another status: 0 Active, 1 Paused, 2 in shutdown, 3 shut down."""

    status: int


TimerEvent = (
    TimerScheduled
    | TimerFired
    | TimerDeferred
    | TimerExpired
    | TimerCancelledInsufficientFunds
    | TimerCancelled
    | DeferredSummary
    | TimerExtended
    | TimerCancelledByGovernance
    | TimerConfigUpdated
    | TimerExtendedByGovernance
    | TimerPriorityClampedAtSchedule
    | GbaFailed
    | EpochPromoted
    | TimerCancelledForDelay
    | BidLocked
    | BiasWindowClosed
    | TimerWatches
    | TimerTriggered
    | TransactionScheduled
    | TransactionCancelled
    | TransactionFailed
    | ShutdownEvent
    | AuthorizationRaised
    | ServiceStatusChanged
)
"""Every event of this module."""
