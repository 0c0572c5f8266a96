"""The data of a fault sequence, and faults that many of them have."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from faults.kinds.drawing import Plain


class FaultSequence(NamedTuple):
    """Faults by name, and what else of the scenario is not as drawn, by section."""

    faults: dict[str, Plain]
    settings: Mapping[str, Plain] = MappingProxyType({})


def crash(node: int, at_ms: int, down_ms: int) -> Plain:
    """Return a loss of power."""
    return {"kind": "crash", "validator": node, "at_ms": at_ms, "restart_ms": at_ms + down_ms}


def away(node: int, validators: int) -> Plain:
    """Return a partition, without its times, of one validator from all others."""
    return {"kind": "partition", "groups": [[node], [other for other in range(validators) if other != node]]}


def drop(kinds: list[str], senders: Sequence[int] = (), to: Sequence[int] = ()) -> Plain:
    """Return a loss of messages, without its times."""
    return {"kind": "rule", "action": "drop", "kinds": kinds, "from": list(senders), "to": list(to)}
