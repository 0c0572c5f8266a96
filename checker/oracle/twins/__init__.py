"""The oracle's twins of the policies: one file a policy, and the registry.

A twin restates what a policy is from its document alone; it may use all of the oracle and nothing of `scheduler/`. No
other file of the oracle asks for a policy by its name.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from checker.oracle.contents import Contents, Table
from checker.oracle.records import Genesis, MalformedError
from checker.oracle.twins.aptos import AptosTwin
from checker.oracle.twins.bias_auction import BiasAuctionTwin
from checker.oracle.twins.eip1559 import Eip1559Twin
from checker.oracle.twins.fifo import FifoTwin
from checker.oracle.twins.fifo_free import FifoFreeTwin
from checker.oracle.twins.gba_auction import GbaAuctionTwin
from checker.oracle.twins.twin import BlockStart, Twin, TwinInBlock

TWINS: Final[Mapping[str, Twin]] = {
    twin.name: twin
    for twin in (
        FifoTwin(),
        FifoFreeTwin(),
        Eip1559Twin(),
        GbaAuctionTwin(),
        BiasAuctionTwin(),
        AptosTwin(),
    )
}
"""The twins by the names of their policies; a policy without one makes a run inconclusive."""

__all__ = ["TWINS", "BlockStart", "Twin", "TwinInBlock", "configurations", "reserved_addresses"]


def reserved_addresses(genesis: Genesis) -> tuple[bytes, ...]:
    """Return the addresses that nobody may transfer to on a chain with the policies of a genesis."""
    return tuple(address for entry in genesis.policies for address in TWINS[entry.policy].reserved)


TableOf = Callable[[Contents], Table[None, Any] | None]
"""Finds the table of a configuration."""


def configurations(genesis: Genesis) -> list[tuple[TableOf, tuple[Any, ...]]]:
    """Return the configurations of a genesis, each with its table; raises MalformedError."""
    for entry in genesis.policies:
        if entry.policy in TWINS and genesis.timebase not in TWINS[entry.policy].timebases:
            raise MalformedError(f"the policy {entry.policy} does not count in timebase {genesis.timebase}")
    twins = [(TWINS[entry.policy], entry.config) for entry in genesis.policies if entry.policy in TWINS]
    read: list[tuple[TableOf, tuple[Any, ...] | None]] = []
    for twin, encoded in twins:
        read += [(twin.config_table, twin.read_config(encoded)), (twin.option_table, twin.read_option(encoded))]
    return [(table_of, config) for table_of, config in read if config is not None]
