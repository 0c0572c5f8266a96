"""Policies: each decides admission, order, payment and carry-over, and lists the phases of a block."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from scheduler.policies.eip1559 import Eip1559
from scheduler.policies.fifo import Fifo
from scheduler.policies.fifo_free import FifoFree
from scheduler.policies.policy import Policy

POLICIES: Final[Mapping[str, type[Policy]]] = MappingProxyType(
    {Fifo.name: Fifo, FifoFree.name: FifoFree, Eip1559.name: Eip1559}
)
"""Policies by the name that genesis gives them."""

__all__ = ["POLICIES", "Eip1559", "Fifo", "FifoFree", "Policy"]
