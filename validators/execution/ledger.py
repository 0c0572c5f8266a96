"""Balances and nonces over the state.

Invariant: all balances plus all units ever burned never change, except between charge and credit of a settlement, when
the difference is on its way.
"""

from typing import Final

from validators.execution.schema import ACCOUNTS, Account, account_key
from validators.execution.view import View

_NO_ACCOUNT: Final = Account(0, 0)


class StateLedger:
    """The scheduler's Ledger for one block; `burned` counts the units burned in it."""

    __slots__ = ("_view", "burned")

    def __init__(self, view: View) -> None:
        self._view = view
        self.burned = 0

    def account(self, address: bytes) -> Account:
        """Return an address' account; zeros if it has no entry."""
        return self._view.get(ACCOUNTS, account_key(address)) or _NO_ACCOUNT

    def balance(self, address: bytes) -> int:
        """Return the balance of an address in units."""
        return self.account(address).balance

    def charge(self, address: bytes, amount: int) -> None:
        """Take units from an address that has them."""
        account = self.account(address)
        assert 0 <= amount <= account.balance, f"{address.hex()} has {account.balance} and is charged {amount}"
        self._put(address, account.balance - amount, account.nonce)

    def credit(self, address: bytes, amount: int) -> None:
        """Give units to an address."""
        assert amount >= 0, f"credit of {amount}"
        account = self.account(address)
        if amount:
            self._put(address, account.balance + amount, account.nonce)

    def burn(self, amount: int) -> None:
        """Count charged units as burned."""
        assert amount >= 0, f"burn of {amount}"
        self.burned += amount

    def count_transaction(self, address: bytes) -> None:
        """Raise the nonce of an address by one."""
        account = self.account(address)
        self._put(address, account.balance, account.nonce + 1)

    def _put(self, address: bytes, balance: int, nonce: int) -> None:
        self._view.set(account_key(address), Account(balance, nonce) if balance or nonce else None)
