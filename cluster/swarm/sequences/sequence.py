"""The data of a fault sequence, and faults that many of them have."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from faults.kinds.drawing import FAULTS_FROM_MS, Plain
from network.draw import Draw
from validators.messages import BlockResponse


class FaultSequence(NamedTuple):
    """Faults by name, and the settings that go with them, by section."""

    faults: dict[str, Plain]
    settings: Mapping[str, Plain] = MappingProxyType({})


def crash(node: int, at_ms: int, down_ms: int) -> Plain:
    """Return a loss of power."""
    return {"kind": "crash", "validator": node, "at_ms": at_ms, "restart_ms": at_ms + down_ms}


def away(node: int, validators: int) -> Plain:
    """Return a partition, without its times, of one validator from all other validators."""
    return {"kind": "partition", "groups": [[node], [other for other in range(validators) if other != node]]}


def drop(kinds: list[str], senders: Sequence[int] = (), to: Sequence[int] = ()) -> Plain:
    """Return a loss of messages, without its times."""
    return {"kind": "rule", "action": "drop", "kinds": kinds, "from": list(senders), "to": list(to)}


def asked_alone(node: int, asking: int, validators: int, start_ms: int) -> Plain:
    """Return a loss of block answers from peers other than `node`, long enough to ask each of them in turn."""
    others = [other for other in range(validators) if other not in {node, asking}]
    lost = drop([BlockResponse.traced_name], others, [asking])
    return {**lost, "start_ms": start_ms, "stop_ms": start_ms + 1_100 * validators}


def applied_early(draw: Draw, name: str, validators: int) -> dict[str, Plain]:
    """Return settings, in some seeds, with which all validators apply blocks before they are final.

    Their disks are slow, so that a block is applied for a while before it is final. A validator that serves a snapshot
    then has to rewind the block.
    """
    if not draw.chance(f"{name}.is_early", 50):
        return {}
    early = {str(node): {"apply": "certified"} for node in range(validators)}
    return {"validators": early, "costs": {"sync_us": draw.one_of(f"{name}.early_sync_us", (60_000, 150_000))}}


def crash_as_it_leaves(draw: Draw, name: str, node: int, by_ms: int) -> Plain:
    """Return a loss of power as a validator gives up its view: its disk has the message, no peer does."""
    anchor: Plain = {"event": "timeout", "of": node, "from_ms": FAULTS_FROM_MS, "by_ms": by_ms}
    return {
        "kind": "crash-at-boundary",
        "validator": node,
        "boundary": "after-sync",
        "restart_after_ms": draw.between(f"{name}.down_ms", 50, 400),
        "start_ms": 0,
        "stop_ms": 2_000,
        "anchor": anchor,
    }


def renamed(sequence: FaultSequence, prefix: str) -> FaultSequence:
    """Return a sequence under other names, so that one plan can have two of its kind."""
    return FaultSequence({f"{prefix}-{name}": fault for name, fault in sequence.faults.items()}, sequence.settings)
