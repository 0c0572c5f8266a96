"""Names of the fields of receipts, events and state entries, so that a difference can name the field it is in."""

from collections.abc import Mapping, Sequence
from typing import Final

from checker.oracle.auction_records import AuctionConfig
from checker.oracle.bias_records import BiasBooks, BiasConfig
from checker.oracle.lane_config import TIERS, Calendar, LaneConfig
from checker.oracle.records import TimerConfig
from checker.oracle.watches import TriggerConfig

EVENTS: Final[Mapping[int, tuple[str, tuple[str, ...]]]] = {
    0: ("TimerScheduled", ("timer_id", "actor", "due", "sequence", "fee_payer", "gas_limit", "expires_at")),
    1: ("TimerFired", ("timer_id", "actor", "due", "ok", "used_cycles", "used_cells", "burned", "tip")),
    2: ("TimerDeferred", ("timer_id", "reason")),
    3: ("TimerExpired", ("timer_id", "expires_at", "current_height")),
    4: ("TimerCancelledInsufficientFunds", ("timer_id", "fee_payer", "required", "available")),
    5: ("TimerCancelled", ("timer_id", "actor")),
    6: ("DeferredSummary", ("counts",)),
    7: ("TimerExtended", ("timer_id", "expires_at")),
    8: ("TimerCancelledByGovernance", ("timer_id", "was_live")),
    9: ("TimerConfigUpdated", ("config",)),
    10: ("TimerExtendedByGovernance", ("timer_id", "expires_at")),
    11: ("TimerPriorityClampedAtSchedule", ("timer_id", "stated", "clamped")),
    12: ("GbaFailed", ("timer_id", "reason", "count")),
    13: ("EpochPromoted", ("epoch", "heights")),
    14: ("TimerCancelledForDelay", ("timer_id", "fee_payer", "delays", "penalty")),
    15: ("BidLocked", ("timer_id", "fee_payer", "bid")),
    16: ("BiasWindowClosed", ("window", "worst_wait", "lambda", "next_lambda")),
    17: ("TimerWatches", ("timer_id", "keys")),
    18: ("TimerTriggered", ("timer_id", "due", "sequence", "key")),
    32: ("Emitted", ("actor", "topic", "data")),
    33: ("MessageSent", ("sequence", "sender", "actor", "handler", "cycles")),
    34: ("MessageDelivered", ("sequence", "actor", "ok", "used_cycles", "used_cells")),
    64: (
        "TransactionScheduled",
        (
            *("block_time_ms", "txn_id", "sender", "scheduled_time_ms"),
            *("max_gas_amount", "gas_unit_price", "auth_required"),
        ),
    ),
    65: ("TransactionCancelled", ("txn_id", "key", "sender")),
    66: ("TransactionFailed", ("txn_id", "key", "sender", "code")),
    67: ("ShutdownEvent", ("complete",)),
    68: ("AuthorizationRaised", ("sender", "number")),
    69: ("ServiceStatusChanged", ("status",)),
}
"""Name and fields of each event by its tag, which stands before them."""

TRANSACTION: Final = ("transaction", "status", "error", "cycles", "cells", "burned", "tip", "events")
"""Fields of a transaction's receipt, after its tag."""

TABLES: Final[Mapping[int, tuple[str, tuple[str, ...]]]] = {
    1: ("account", ("balance", "nonce")),
    2: ("actor", ("program", "owner")),
    3: ("storage", ("value",)),
    4: ("long storage", ("actor", "key", "value")),
    5: (
        "timer",
        (
            *("timer_id", "actor", "due", "sequence", "payload", "handler", "fee_payer", "gas_limit"),
            *("gas_limit_is_default", "expires_at", "quote"),
        ),
    ),
    6: ("bucket", ("head", "tail", "count", "queued")),
    7: ("bucket entry", ("timer_id",)),
    8: ("timer counts", ("live", "scheduled")),
    9: ("fee market", ("cycle_basefee", "cell_basefee")),
    10: ("burned", ("total",)),
    11: ("timer configuration", TimerConfig._fields),
    12: ("mailbox", ("head", "tail")),
    13: ("message", ("sender", "actor", "handler", "payload", "cycles", "origin")),
    14: ("lane configuration", tuple(f"tier_{name}" if name in TIERS else name for name in LaneConfig._fields)),
    15: ("lane market", ("basefee", "p50_tip", "used_cycles", "window_start", "activation_basefee", "burned")),
    16: ("fires", ()),
    17: ("recent fires", ("count",)),
    18: ("epoch", ("heights",)),
    19: ("overflow", ("heights", "root")),
    20: ("GC cursor", ("due", "sequence")),
    21: ("calendar profile", Calendar._fields),
    22: ("auction configuration", AuctionConfig._fields),
    23: ("auction books", ("used_cycles", "epoch", "actors", "budget_cycles")),
    24: ("auction actor", ("actor",)),
    25: ("auction tally", ("fires", "succeeded", "tips", "lateness", "cycles", "deferrals")),
    26: ("auction weight", ("epoch", "weight")),
    27: ("auction cursor", ("due", "sequence")),
    28: ("bias configuration", BiasConfig._fields),
    29: ("bias books", ("lambda", *BiasBooks._fields[1:])),
    30: (
        "bias window",
        ("first_height", "last_height", "fires", "waited", "worst_wait", "lambda", "next_lambda"),
    ),
    31: ("slot rows", ("head", "tail")),
    32: ("slot row", ("slot", "height", "first")),
    33: ("bid", ("timer_id", "bid")),
    34: ("watch", ("timer_id", "keys", "sequences")),
    35: ("watched key", ("key", "head", "tail", "count", "hit")),
    36: ("watcher", ("key", "sequence", "timer_id")),
    37: ("watch count", ("watching",)),
    38: ("watch books", ("watching", "head", "tail")),
    39: ("hit", ("key", "next", "end")),
    40: ("trigger configuration", TriggerConfig._fields),
    41: ("free configuration", ("deferred_calls_per_fire_max", "deferred_call_cycles_max")),
    44: (
        "queue configuration",
        (
            *("profile", "position", "charge", "expiry", "time_unit_ms", "ready_limit", "expiry_ms", "expire_limit"),
            *("cancel_lead_ms", "authorization", "token_reschedules", "token_lifetime_ms", "min_gas", "min_price"),
            *("base_gas", "max_size_bytes", "shutdown_batch", "removal_slots", "counts_ids", "ready_order"),
            *("expiry_by", "expiry_blocks"),
        ),
    ),
    45: ("queue entry", ("key", "expiry_delta_ms", "token", "pass_signer")),
    46: ("removal slot", ("keys",)),
    47: ("service status", ("status",)),
    48: ("authorization number", ("number",)),
}
"""Name of each table and of its records' fields, by the first byte of its keys."""


def fields_of_key(key: bytes) -> tuple[str, ...]:
    """Return the names of the fields of the record under a state key; empty if the table is unknown."""
    return TABLES.get(key[0] if key else -1, ("", ()))[1]


def name_values(names: Sequence[str], values: Sequence[str]) -> str:
    """Return the values joined with their names; values beyond the last name stand alone."""
    shown = [f"{name}={value}" for name, value in zip(names, values, strict=False)]
    return "[" + " ".join([*shown, *values[len(names) :]]) + "]"


def first_other(names: Sequence[str], one: object, other: object) -> int | None:
    """Return the index of the first named field in which two records differ, or None if they cannot be compared."""
    if not (isinstance(one, list) and isinstance(other, list) and len(one) == len(other) == len(names)):
        return None
    return next((index for index, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]), None)
