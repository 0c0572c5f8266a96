"""Transactions and a state: whether a transaction could still be included, by its sender's nonce and units."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from checker.oracle.records import MalformedError, Transaction, address_of, read_transaction
from checker.tables import ACCOUNT, FEE_MARKET_KEY, read_fields
from validators.mempool.pool import Pooled

BYTES_MAX: Final = 1024 * 1024
"""A longer transaction may be too long for a mempool."""


class _Account(NamedTuple):
    """An account of a state."""

    nonce: int
    balance: int


class _Basefees(NamedTuple):
    """The fees that a block burns for each unit of work and of space."""

    cycle: int
    cell: int


def account_of(state: Mapping[bytes, bytes | None], address: bytes) -> _Account:
    """Return the account of an address, which is empty where the state has none."""
    balance, nonce = _numbers(state.get(account_key(address)))
    return _Account(nonce, balance)


def account_key(address: bytes) -> bytes:
    """Return the key of an account in the state."""
    return (bytes((ACCOUNT,)) + address).ljust(32, b"\0")


def basefees_of(state: Mapping[bytes, bytes]) -> _Basefees:
    """Return the base fees of a state."""
    return _Basefees(*_numbers(state.get(FEE_MARKET_KEY)))


def charge_of(transaction: Transaction) -> int:
    """Return the units that a transaction is charged before it runs."""
    cycles = transaction.cycles_limit * transaction.max_fee_per_cycle
    return cycles + transaction.cells_limit * transaction.max_fee_per_cell


def is_useful(encoded: bytes, pool: Iterable[Pooled], state: Mapping[bytes, bytes]) -> bool:
    """Return whether a mempool has to take a transaction.

    It is signed and not too long, and its nonce is neither spent in the state nor taken in the mempool.
    """
    try:
        transaction = read_transaction(encoded)
    except MalformedError:
        return False
    sender, nonce = transaction.public_key, transaction.nonce
    is_taken = any((each.transaction.public_key, each.transaction.nonce) == (sender, nonce) for each in pool)
    if is_taken or len(encoded) > BYTES_MAX or nonce < account_of(state, address_of(sender)).nonce:
        return False
    from checker.oracle import blocks as oracle  # noqa: PLC0415 - a start has no use for it

    return oracle.is_signed(transaction)


def _numbers(value: bytes | None) -> tuple[int, int]:
    """Return the two numbers of a record, zeros where it is absent or holds anything else."""
    fields = None if value is None else read_fields(value)
    if fields is None or len(fields) != 2:
        return 0, 0
    one, other = fields
    return (one, other) if isinstance(one, int) and isinstance(other, int) else (0, 0)
