"""The policy oracles: a file for each policy, and the registry.

A policy oracle restates a policy from its document alone. It may use the whole oracle and no module of `scheduler/`.
No other file of the oracle depends on the name of a policy.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from checker.oracle.contents import Contents, Table
from checker.oracle.policies.aptos import AptosOracle
from checker.oracle.policies.bias_auction import BiasAuctionOracle
from checker.oracle.policies.eip1559 import Eip1559Oracle
from checker.oracle.policies.fifo import FifoOracle
from checker.oracle.policies.fifo_free import FifoFreeOracle
from checker.oracle.policies.gba_auction import GbaAuctionOracle
from checker.oracle.policies.policy import BlockStart, PolicyInBlock, PolicyOracle
from checker.oracle.records import Genesis, MalformedError

POLICY_ORACLES: Final[Mapping[str, PolicyOracle]] = {
    policy.name: policy
    for policy in (
        FifoOracle(),
        FifoFreeOracle(),
        Eip1559Oracle(),
        GbaAuctionOracle(),
        BiasAuctionOracle(),
        AptosOracle(),
    )
}
"""The policy oracles by the names of their policies; a policy without an oracle makes a run inconclusive."""

__all__ = ["POLICY_ORACLES", "BlockStart", "PolicyInBlock", "PolicyOracle", "configurations", "reserved_addresses"]


def reserved_addresses(genesis: Genesis) -> tuple[bytes, ...]:
    """Return the addresses to which no transfer may go on a chain with the policies of a genesis."""
    return tuple(address for entry in genesis.policies for address in POLICY_ORACLES[entry.policy].reserved)


TableOf = Callable[[Contents], Table[None, Any] | None]
"""Finds the table of a configuration."""


def configurations(genesis: Genesis) -> list[tuple[TableOf, tuple[Any, ...]]]:
    """Return the configurations of a genesis, each with its table; raises MalformedError."""
    for entry in genesis.policies:
        if entry.policy in POLICY_ORACLES and genesis.timebase not in POLICY_ORACLES[entry.policy].timebases:
            raise MalformedError(f"the policy {entry.policy} does not count in timebase {genesis.timebase}")
    policies = [
        (POLICY_ORACLES[entry.policy], entry.config) for entry in genesis.policies if entry.policy in POLICY_ORACLES
    ]
    read: list[tuple[TableOf, tuple[Any, ...] | None]] = []
    for policy, encoded in policies:
        read += [(policy.config_table, policy.read_config(encoded)), (policy.option_table, policy.read_option(encoded))]
    return [(table_of, config) for table_of, config in read if config is not None]
