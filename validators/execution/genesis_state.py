"""The state and the header that a genesis leads to."""

from collections.abc import Iterator

import msgspec

from scheduler import POLICIES
from validators.actors import Programs
from validators.execution.blocks import VERSION, Header
from validators.execution.errors import InvalidGenesisError
from validators.execution.genesis import Genesis, Policies, check_genesis, genesis_hash, own_parameters
from validators.execution.schema import (
    BURNED,
    CALENDAR,
    FEE_MARKET,
    TIMER_CONFIG,
    Account,
    ActorRecord,
    Burned,
    FeeMarket,
    account_key,
    actor_key,
)
from validators.execution.view import StateCodec, View
from validators.execution.world import put_storage
from validators.state import Database, mmr_root


def build_genesis_state(genesis: Genesis, programs: Programs, policies: Policies = POLICIES) -> tuple[Database, Header]:
    """Return a database that holds genesis, applied as one batch, and the header of block 0.

    Raises:
        InvalidGenesisError: The genesis contradicts itself or names a program that is not there.
    """
    check_genesis(genesis, policies)
    for actor in genesis.actors:
        if actor.program not in programs:
            raise InvalidGenesisError(f"unknown program {actor.program!r}, expected one of {', '.join(programs)}")
    database = Database()
    batch = database.batch()
    view = View(batch, StateCodec())
    for key, record in _records(genesis, policies):
        view.set(key, record)
    for actor in genesis.actors:
        for storage_key, value in actor.storage:
            put_storage(view, actor.address, storage_key, value)
    view.flush()
    batch.merkleize()
    database.apply(batch)
    return database, _header(genesis, database.canonical_root)


def _records(genesis: Genesis, policies: Policies) -> Iterator[tuple[bytes, msgspec.Struct]]:
    balances = [(account.address, account.balance) for account in genesis.accounts]
    balances += [(actor.address, actor.balance) for actor in genesis.actors]
    for address, balance in balances:
        if balance:
            yield account_key(address), Account(balance, 0)
    for actor in genesis.actors:
        yield actor_key(actor.address), ActorRecord(actor.program, actor.owner)
    yield FEE_MARKET.key(), FeeMarket(genesis.cycle_basefee, genesis.cell_basefee)
    yield BURNED.key(), Burned(0)
    yield TIMER_CONFIG.key(), genesis.timer_config
    yield CALENDAR.key(), genesis.calendar
    for entry in genesis.policies:
        for table, own in own_parameters(entry, policies):
            yield table.key(), own


def _header(genesis: Genesis, state_root: bytes) -> Header:
    return Header(
        version=VERSION,
        height=0,
        consensus_epoch=0,
        view=0,
        parent=genesis_hash(genesis),
        proposer=0,
        slot=genesis.timestamp_ms // genesis.slot_ms,
        timestamp_ms=genesis.timestamp_ms,
        state_root=state_root,
        tx_root=mmr_root(()),
        receipts_root=mmr_root(()),
    )
