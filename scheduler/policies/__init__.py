"""Policies: each decides admission, order, payment and carry-over in a file of its own, and is listed here once."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from scheduler.policies.aptos import Aptos
from scheduler.policies.bias_auction import BiasAuction
from scheduler.policies.eip1559 import Eip1559
from scheduler.policies.fifo import Fifo
from scheduler.policies.fifo_free import FifoFree
from scheduler.policies.gba_auction import GbaAuction
from scheduler.policies.policy import BlockContext, Carry, Guarantees, Policy, PolicyInBlock, Refusal
from scheduler.policies.validity import problem_of
from scheduler.tables import AgentCall, StateTable

PLUG_IN_TAGS: Final = range(0x80, 0x100)
"""The tags of tables that a policy of another package may have."""

_policies: dict[str, type[Policy]] = {
    policy.name: policy for policy in (Fifo, FifoFree, Eip1559, GbaAuction, BiasAuction, Aptos)
}

POLICIES: Final[Mapping[str, type[Policy]]] = MappingProxyType(_policies)
"""Policies by the name that genesis gives them."""


def register_policy(policy: type[Policy]) -> None:
    """Add a policy of another package; adding the same one again changes nothing.

    A policy that derives from another one has its tables as well.

    Raises:
        ValueError: Another policy has its name or the tag of one of its tables, or a tag is not a plug-in's.
    """
    if _policies.get(policy.name) is policy:
        return
    if policy.name in _policies:
        raise ValueError(f"there is a policy {policy.name!r} already")
    taken = {table.code: other.name for other in _policies.values() for table in tables_of(other)}
    inherited = [table for base in _policies.values() if issubclass(policy, base) for table in tables_of(base)]
    for table in tables_of(policy):
        if table in inherited:
            continue
        if table.code not in PLUG_IN_TAGS:
            raise ValueError(f"table {table.name!r} has the tag {table.code:#x}; plug-ins have 0x80 to 0xff")
        if table.code in taken:
            raise ValueError(f"table {table.name!r} has the tag {table.code:#x} of policy {taken[table.code]!r}")
    _policies[policy.name] = policy


def tables_of(policy: type[Policy]) -> tuple[StateTable[Any], ...]:
    """Return all tables of a policy, that of its parameters included."""
    own = (policy.config_table, policy.option_table)
    return (*(table for table in own if table is not None), *policy.tables)


__all__ = [
    "POLICIES",
    "AgentCall",
    "Aptos",
    "BlockContext",
    "Carry",
    "Eip1559",
    "Fifo",
    "FifoFree",
    "GbaAuction",
    "Guarantees",
    "Policy",
    "PolicyInBlock",
    "Refusal",
    "problem_of",
    "register_policy",
    "tables_of",
]
