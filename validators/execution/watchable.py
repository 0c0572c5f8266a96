"""The keys of the state that a timer can watch, and the watchable keys that a block has changed so far (Q-52)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from validators.execution.schema import (
    ACCOUNTS,
    LONG_STORAGE,
    SHORT_STORAGE_KEY_BYTES,
    STORAGE,
    Table,
    account_key,
    long_storage_key,
    storage_key,
)
from validators.execution.view import View


def key_of(watched: tuple[bytes, bytes | None]) -> bytes:
    """Return the key of the state for a watched pair of a call: a balance, or a key of an actor's storage."""
    address, key = watched
    if key is None:
        return account_key(address)
    return storage_key(address, key) if len(key) <= SHORT_STORAGE_KEY_BYTES else long_storage_key(address, key)


def changed_keys(view: View) -> Sequence[bytes]:
    """Return the keys whose value differs from its value at the block's start, ascending."""
    return sorted(key for key in view.written_keys() if key[0] in _WATCHABLE and _has_changed(view, key))


def _has_changed(view: View, key: bytes) -> bool:
    table, value_of = _WATCHABLE[key[0]]
    before, after = view.at_start(table, key), view.get(table, key)
    return (None if before is None else value_of(before)) != (None if after is None else value_of(after))


_WATCHABLE: Final[Mapping[int, tuple[Table[Any], Callable[[Any], object]]]] = {
    # An account without units counts like an absent account, because the balance is watched.
    ACCOUNTS.code: (ACCOUNTS, lambda account: account.balance or None),
    STORAGE.code: (STORAGE, lambda stored: stored.value),
    LONG_STORAGE.code: (LONG_STORAGE, lambda stored: stored.value),
}
