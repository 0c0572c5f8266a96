"""The parameters, profiles and tables of the policy `aptos` (docs/state.md, scheduled transactions)."""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec

from scheduler.bias_records import SLOT_ROW, SLOT_ROWS
from scheduler.errors import InvalidInput
from scheduler.tables import StateTable
from scheduler.types import MAX_U63, Parameters, means

DEPOSITS: Final = bytes(19) + b"\x0b"
"""The address of the account that holds all deposits."""

REMOVAL_SLOTS_MAX: Final = 1_024
"""The greatest number of removal slots: a restart asks for each of them whether it is filled."""


_PROFILES: Final[Mapping[str, Mapping[str, Any]]] = {
    "aip": {},
    "early": {
        "position": "before",
        "charge": "maximum",
        "expiry": "counted",
        "time_unit_ms": 100,
        "ready_limit": 1_000,
        "min_gas": 0,
        "max_size_bytes": 10_240,
        "shutdown_batch": 2_000,
        "removal_slots": 1_024,
    },
    "latest": {
        "position": "before",
        "charge": "maximum",
        "expiry": "at_run",
        "cancel_lead_ms": 10_000,
        "authorization": "token",
        "base_gas": 100,
    },
}
"""The values in which each profile differs from the AIP's text."""


class AptosConfig(Parameters, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The parameters of the queue and the switches between its profiles, read once per block.

    `profile` rules nothing: it says where the values come from that a scenario does not state. Times are in
    milliseconds, amounts of gas in cycles, prices in units per cycle.
    """

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(_PROFILES)

    profile: Annotated[Literal["aip", "early", "latest"], means("Where the values come from that are not stated.")] = (
        "aip"
    )
    position: Annotated[
        Literal["price", "before"],
        means("Entries run before the transactions of a block (`before`), or among them by price (`price`)."),
    ] = "price"
    charge: Annotated[
        Literal["second_price", "maximum"],
        means("An entry pays its own price (`maximum`), or the others' highest if that is less (`second_price`)."),
    ] = "second_price"
    expiry: Annotated[
        Literal["own_limit", "counted", "at_run"],
        means(
            "Expired entries leave under a limit of their own (`own_limit`), within `ready_limit` (`counted`), "
            "or at their turn (`at_run`)."
        ),
    ] = "own_limit"
    time_unit_ms: Annotated[int, means("The unit in which ages of entries are counted.")] = 1
    ready_limit: Annotated[int, means("Entries that run in a block.")] = 100
    expiry_ms: Annotated[int, means("The age at which an entry expires; 0: never.")] = 10_000
    expire_limit: Annotated[int, means("With `expiry` `own_limit`: expired entries that leave in a block.")] = 200
    cancel_lead_ms: Annotated[
        int, means("An entry can be cancelled up to this long before its time; 0: until it runs.")
    ] = 0
    authorization: Annotated[
        Literal["none", "token"], means("With `token` an entry has a token with its sender's authorization number.")
    ] = "none"
    token_reschedules: Annotated[bool, means("Whether an entry that runs may insert another one by its token.")] = True
    token_lifetime_ms: Annotated[int, means("How long a token is valid; 0: for ever.")] = 0
    min_gas: Annotated[int, means("The least gas amount of an entry.")] = 100
    min_price: Annotated[int, means("The least gas price of an entry.")] = 100
    base_gas: Annotated[int, means("Gas that each run costs besides what it uses.")] = 0
    max_size_bytes: Annotated[int, means("Encoded entries of this length and above are refused.")] = 1_048_576
    shutdown_batch: Annotated[int, means("Entries that one step of a shutdown removes.")] = 200
    removal_slots: Annotated[int, means("Slots that collect the keys of entries to be removed in the next block.")] = (
        100
    )
    counts_ids: Annotated[bool, means("Whether a counter makes the identifiers of equal entries differ.")] = True
    ready_order: Annotated[
        Literal["key", "price"],
        means("The order of entries that are due: time first (`key`), or price first (`price`)."),
    ] = "key"
    expiry_by: Annotated[Literal["time", "blocks"], means("Whether `expiry_ms` or `expiry_blocks` counts.")] = "time"
    expiry_blocks: Annotated[int, means("The age in blocks at which an entry expires; 0: never.")] = 100

    _above_zero: ClassVar[tuple[str, ...]] = (
        *("time_unit_ms", "ready_limit", "expire_limit", "min_price", "max_size_bytes", "shutdown_batch"),
        "removal_slots",
    )

    def __post_init__(self) -> None:
        """Refuse what no chain can run on.

        Raises:
            InvalidInput: A number is out of its range.
        """
        for name in self.__struct_fields__:
            value = getattr(self, name)
            lowest = int(name in self._above_zero)
            if isinstance(value, int) and not lowest <= value <= MAX_U63:
                raise InvalidInput(name, f"{value} must be within {lowest}..2^63-1")
        if self.removal_slots > REMOVAL_SLOTS_MAX:
            raise InvalidInput("removal_slots", f"{self.removal_slots} must be at most {REMOVAL_SLOTS_MAX}")
        if self.base_gas > self.min_gas:
            raise InvalidInput("base_gas", f"{self.base_gas} must be at most min_gas, which is {self.min_gas}")
        if self.expiry == "at_run" and self.expiry_by == "blocks":
            raise InvalidInput("expiry_by", "blocks needs expiry apart or counted: by at_run each entry has its own")

    @classmethod
    def key_of(cls, field: str) -> str:
        """Return the key by which governance knows a field."""
        return "system:aptos:" + field


class Token(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A ScheduledTxnAuthToken: what a sender's authorization of an entry is worth, and until when."""

    allow_rescheduling: bool
    expiration_ms: int
    authorization_num: int


class QueueEntry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """An entry's key in the schedule map, and what its body has beyond a timer.

    `pass_signer` is whether its handler sees a sender.
    """

    key: bytes
    expiry_delta_ms: int
    token: Token | None
    pass_signer: bool


class RemovalSlot(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The keys of one slot that the next prologue removes (F-7)."""

    keys: tuple[bytes, ...]


class ServiceState(enum.IntEnum):
    """The states of the service (ModuleStatus)."""

    ACTIVE = 0
    PAUSED = 1
    SHUTDOWN_IN_PROGRESS = 2
    SHUTDOWN_COMPLETE = 3


class ServiceStatus(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The status of the service; no record means Active."""

    status: ServiceState


class AuthorizationNumber(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A sender's current authorization number, from 1."""

    number: int


APTOS_CONFIG: Final = StateTable(0x2C, "queue configuration", AptosConfig)
QUEUE_ENTRY: Final = StateTable(0x2D, "queue entry", QueueEntry)
REMOVAL_SLOT: Final = StateTable(0x2E, "removal slot", RemovalSlot)
SERVICE_STATUS: Final = StateTable(0x2F, "service status", ServiceStatus)
AUTHORIZATION: Final = StateTable(0x30, "authorization number", AuthorizationNumber)

APTOS_TABLES: Final = (QUEUE_ENTRY, REMOVAL_SLOT, SERVICE_STATUS, AUTHORIZATION, SLOT_ROWS, SLOT_ROW)
"""The tables that blocks of the policy write; slot rows where the expiry counts blocks."""


def slot_key(slot: int) -> bytes:
    """Return the state's key of a removal slot."""
    return REMOVAL_SLOT.key(slot.to_bytes(8, "big"))
