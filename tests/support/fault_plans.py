"""Fault plans in one line."""

import msgspec

from faults import Fault

SPAN = {"start_ms": 1, "stop_ms": 5}


RULE = {"kind": "rule", "action": "hold", "start_ms": 10, "stop_ms": 50}


def plan_of(**faults):
    return msgspec.convert(faults, dict[str, Fault])
