"""Genesis: what a chain starts from, and its block 0, which follows from it byte for byte.

The header of block 0 names the SHA-256 of the encoded genesis as its parent, so that every block commits to all of it:
two chains that differ in a limit have no block in common.
"""

import hashlib
from typing import Annotated, Final, final

import msgspec

from scheduler import MAX_U63, MIN_BASEFEE, Eip1559, InvalidInput, LaneConfig, Timebase, TimerConfig
from validators.actors.metering import CALL_CYCLES
from validators.execution.blocks import Bytes20, Uint
from validators.execution.errors import InvalidGenesisError

MIN_BASEFEE_FLOOR: Final = 8
"""Below this a basefee's floor would let no step of an eighth show (Q-3)."""

Positive = Annotated[int, msgspec.Meta(ge=1, le=MAX_U63)]


@final
class GenesisAccount(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Units that an address holds from the start."""

    address: Bytes20
    balance: Uint


@final
class GenesisActor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An actor: where it lives, which program it runs, who owns it, what it holds and has stored."""

    address: Bytes20
    program: str
    owner: Bytes20
    balance: Uint = 0
    storage: tuple[tuple[bytes, bytes], ...] = ()


@final
class Genesis(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that validators must agree on before the first block.

    `validators` are the addresses that tips go to, by index; `slot_ms` is the length of a slot, limits are per block;
    `mailbox_cycles` is what the messages that a block delivers may use.
    `system_deployers` are the senders whose system instructions count. A chain whose policy has the timer lane
    has a `lane_config`, and is `fifo` below `activation_height`.
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
    policy: str = "fifo"
    min_basefee: Positive = MIN_BASEFEE
    cycle_basefee: Positive = MIN_BASEFEE
    cell_basefee: Positive = MIN_BASEFEE
    accounts: tuple[GenesisAccount, ...] = ()
    actors: tuple[GenesisActor, ...] = ()
    system_deployers: tuple[Bytes20, ...] = ()
    activation_height: Uint = 0
    lane_config: LaneConfig | None = None

    def is_in_lane(self, height: int) -> bool:
        """Say whether a block of this height goes by the policy that has the lane, which may begin later."""
        return self.lane_config is not None and height >= self.activation_height

    @property
    def supply(self) -> int:
        """Units that exist at the start; afterwards all balances and the burned total add up to it."""
        return sum(account.balance for account in self.accounts) + sum(actor.balance for actor in self.actors)


def genesis_hash(genesis: Genesis) -> bytes:
    """Return SHA-256 of the encoded genesis: the parent of block 0."""
    return hashlib.sha256(msgspec.msgpack.encode(genesis)).digest()


def check_genesis(genesis: Genesis) -> None:
    """Check what the types do not say.

    Raises:
        InvalidGenesisError: No validators, an address, deployer or storage key named twice, a supply above 63 bits,
            basefees below their minimum, a lane where the policy has none.
    """
    if not genesis.validators:
        raise InvalidGenesisError("a chain needs at least one validator")
    if (genesis.policy == Eip1559.name) != (genesis.lane_config is not None) or genesis.is_in_lane(0):
        raise InvalidGenesisError(
            f"policy {Eip1559.name!r}, a lane configuration and an activation above 0 go together"
        )
    if genesis.lane_config is not None:
        try:
            genesis.lane_config.check_minimum()
        except InvalidInput as error:
            raise InvalidGenesisError(str(error)) from None
    if genesis.supply > MAX_U63:
        raise InvalidGenesisError(f"supply {genesis.supply} exceeds {MAX_U63}")
    lowest = min(genesis.cycle_basefee, genesis.cell_basefee)
    if genesis.min_basefee < MIN_BASEFEE_FLOOR or lowest < genesis.min_basefee:
        raise InvalidGenesisError(
            f"basefees must be at least their minimum {genesis.min_basefee}, and that at least {MIN_BASEFEE_FLOOR}"
        )
    addresses = [account.address for account in genesis.accounts] + [actor.address for actor in genesis.actors]
    _check_distinct("address", addresses)
    _check_distinct("system deployer", list(genesis.system_deployers))
    for actor in genesis.actors:
        _check_distinct(f"storage key of actor {actor.address.hex()}", [key for key, _ in actor.storage])


def _check_distinct(what: str, values: list[bytes]) -> None:
    seen: dict[bytes, None] = {}
    for value in values:
        if value in seen:
            raise InvalidGenesisError(f"{what} {value.hex()} stands there twice")
        seen[value] = None
