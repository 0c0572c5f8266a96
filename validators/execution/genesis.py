"""Genesis: the parameters and first state of a chain, and its block 0, which follows from it byte for byte.

The header of block 0 names the SHA-256 of the encoded genesis as its parent, so that every block commits to all of it:
two chains that differ in a limit have no block in common.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import msgspec

from scheduler import (
    MAX_U63,
    MIN_BASEFEE,
    CalendarProfile,
    InvalidInput,
    Parameters,
    Policy,
    Refusal,
    StateTable,
    Timebase,
    TimerConfig,
    decode_parameters,
)
from validators.actors.metering import CALL_CYCLES
from validators.execution.blocks import Bytes20, Uint
from validators.execution.errors import InvalidGenesisError

_PAIR: Final = b"\x92"
"""The first byte of an array of two."""

MIN_BASEFEE_FLOOR: Final = 8
"""Below this floor a basefee would not change by a step of an eighth (Q-3)."""

Positive = Annotated[int, msgspec.Meta(ge=1, le=MAX_U63)]

Policies = Mapping[str, Callable[[], Policy]]
"""Policies by name."""


class GenesisAccount(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Units that an address holds from the start."""

    address: Bytes20
    balance: Uint


class GenesisActor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An actor: its address, program, owner, balance and storage."""

    address: Bytes20
    program: str
    owner: Bytes20
    balance: Uint = 0
    storage: tuple[tuple[bytes, bytes], ...] = ()


class PolicyEntry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A policy, and the height from which it applies; `config` are its encoded parameters, or empty."""

    height: Positive
    policy: str
    config: bytes = b""


class Genesis(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that validators must agree on before the first block.

    `validators` are the addresses that receive tips, by index. `slot_ms` is the length of a slot in milliseconds.
    Limits are per block; `mailbox_cycles` limits the messages that a block delivers. `system_deployers` are the senders
    whose system instructions count. `policies` are in the order of their heights, the first from the first block on.
    `calendar` has the sizes of the calendar queue.
    """

    chain_id: str
    validators: tuple[Bytes20, ...]
    timebase: Timebase = "slot"
    slot_ms: Positive = 1_000
    timestamp_ms: Uint = 0
    block_cycles: Positive = 10_000_000
    block_cells: Positive = 10_000_000
    mailbox_cycles: Annotated[int, msgspec.Meta(ge=CALL_CYCLES, le=MAX_U63)] = 2_000_000
    timer_config: TimerConfig = TimerConfig()
    calendar: CalendarProfile = CalendarProfile()
    policies: tuple[PolicyEntry, ...] = (PolicyEntry(1, "fifo"),)
    min_basefee: Positive = MIN_BASEFEE
    cycle_basefee: Positive = MIN_BASEFEE
    cell_basefee: Positive = MIN_BASEFEE
    accounts: tuple[GenesisAccount, ...] = ()
    actors: tuple[GenesisActor, ...] = ()
    system_deployers: tuple[Bytes20, ...] = ()

    def entry_at(self, height: int) -> PolicyEntry:
        """Return the policy of a block."""
        return next(entry for entry in reversed(self.policies) if entry.height <= height)

    @property
    def activation_height(self) -> int:
        """The height at which the chain changes its policy for the last time; 0 if it never does."""
        return self.policies[-1].height if len(self.policies) > 1 else 0

    @property
    def supply(self) -> int:
        """Units that exist at the start; all balances and the burned total always add up to it."""
        return sum(account.balance for account in self.accounts) + sum(actor.balance for actor in self.actors)


def genesis_hash(genesis: Genesis) -> bytes:
    """Return SHA-256 of the encoded genesis: the parent of block 0."""
    return hashlib.sha256(msgspec.msgpack.encode(genesis)).digest()


def check_genesis(genesis: Genesis, policies: Policies) -> None:
    """Check the rules that the types do not enforce.

    Raises:
        InvalidGenesisError: No validators, an address, deployer or storage key named twice, a reserved address, a
            supply above 63 bits, basefees below their minimum, policies that are unknown or cannot follow each other.
    """
    if not genesis.validators:
        raise InvalidGenesisError("a chain needs at least one validator")
    check_policies(genesis, policies)
    if genesis.supply > MAX_U63:
        raise InvalidGenesisError(f"supply {genesis.supply} exceeds {MAX_U63}")
    lowest = min(genesis.cycle_basefee, genesis.cell_basefee)
    if genesis.min_basefee < MIN_BASEFEE_FLOOR or lowest < genesis.min_basefee:
        raise InvalidGenesisError(
            f"basefees must be at least their minimum {genesis.min_basefee}, and that at least {MIN_BASEFEE_FLOOR}"
        )
    addresses = [account.address for account in genesis.accounts] + [actor.address for actor in genesis.actors]
    _check_distinct("address", addresses)
    for address in reserved_addresses(genesis, policies):
        if address in addresses or address in genesis.validators:
            raise InvalidGenesisError(f"address {address.hex()} is reserved for the deposits of timers")
    _check_distinct("system deployer", list(genesis.system_deployers))
    for actor in genesis.actors:
        _check_distinct(f"storage key of actor {actor.address.hex()}", [key for key, _ in actor.storage])


def reserved_addresses(genesis: Genesis, policies: Policies) -> tuple[bytes, ...]:
    """Return the addresses that hold the deposits of timers on a chain: no account may have units there."""
    found = [policies[entry.policy]().escrow for entry in genesis.policies]
    return tuple(dict.fromkeys(address for address in found if address is not None))


def check_policies(genesis: Genesis, policies: Policies) -> None:
    """Check the list of policies, each against the policy before it.

    Raises:
        InvalidGenesisError: The list is empty, does not begin at height 1 or does not ascend. Or it names a policy that
            is unknown, counts in another timebase, occurs twice or cannot follow the policy before it. Or parameters
            are not the policy's.
    """
    heights = [entry.height for entry in genesis.policies]
    if heights[:1] != [1] or heights != sorted(set(heights)):
        raise InvalidGenesisError(f"heights of policies must begin at 1 and ascend; got {heights}")
    previous: Policy | None = None
    for entry in genesis.policies:
        if entry.policy not in policies:
            raise InvalidGenesisError(f"unknown policy {entry.policy!r}, expected one of {', '.join(policies)}")
        policy = policies[entry.policy]()
        if genesis.timebase not in policy.timebases:
            raise InvalidGenesisError(
                f"policy {entry.policy!r} counts in {policy.timebases[0]}s, not {genesis.timebase}s"
            )
        if previous is not None and isinstance(carry := policy.carry(previous), Refusal):
            raise InvalidGenesisError(f"policy {entry.policy!r} cannot follow {previous.name!r}: {carry.reason}")
        previous = policy
        try:
            own_parameters(entry, policies)
        except InvalidInput as error:
            raise InvalidGenesisError(f"policy {entry.policy!r}: {error}") from None


def own_parameters(entry: PolicyEntry, policies: Policies) -> tuple[tuple[StateTable[Any], Parameters], ...]:
    """Return the first parameters of a policy, each with its table.

    A policy with an option may have two: then `config` is an array of both as bin, the policy's own first.

    Raises:
        InvalidInput: The parameters are not the policy's.
    """
    policy = policies[entry.policy]()
    if policy.config_type is None or policy.config_table is None:
        if entry.config:
            raise InvalidInput("config", "it has no parameters of its own")
        return ()
    if policy.option_table is None or entry.config[:1] != _PAIR:
        return ((policy.config_table, decode_parameters(entry.config, policy.config_type)),)
    try:
        own, option = msgspec.msgpack.decode(entry.config, type=tuple[bytes, bytes])
    except msgspec.MsgspecError as error:
        raise InvalidInput("config", str(error)) from None
    if msgspec.msgpack.encode((own, option)) != entry.config:
        raise InvalidInput("config", "not the canonical encoding")
    return (
        (policy.config_table, decode_parameters(own, policy.config_type)),
        (policy.option_table, decode_parameters(option, policy.option_table.record)),
    )


def _check_distinct(what: str, values: list[bytes]) -> None:
    seen: dict[bytes, None] = {}
    for value in values:
        if value in seen:
            raise InvalidGenesisError(f"{what} {value.hex()} is listed twice")
        seen[value] = None
