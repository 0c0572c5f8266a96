"""Fault plans in one line."""

from faults.kinds.registry import decode_fault

SPAN = {"start_ms": 1, "stop_ms": 5}


RULE = {"kind": "rule", "action": "hold", "start_ms": 10, "stop_ms": 50}


def plan_of(**faults):
    return {name: decode_fault(fault) for name, fault in faults.items()}
