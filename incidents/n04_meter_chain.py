"""The chain of n04, an outside application: the meter counts steps, and a step may take a hundred times as long.

A transaction is `call STEPS` or, one in sixty, `provision STEPS`, whose steps are slow. The limit is 1,000 steps. By
the rule a call also ends after `time_max_us`, by a count of time that all validators share (a price for slow steps).
With the argument `steps-only` the meter counts steps alone: the fault of n04.
"""

import sys

from outside_chain import serve

LIMIT, STEP_US, SLOW_US = 1_000, 100, 10_000
STEPS_ONLY = "steps-only" in sys.argv


def run(state, header, payload, parameters):
    receipts, total_us = [], 0
    for text in payload:
        kind, _, steps = text.partition(" ")
        if kind not in ("call", "provision") or not steps.isdigit():
            raise ValueError(f"{text} is no transaction")
        took = min(int(steps), LIMIT) * (SLOW_US if kind == "provision" else STEP_US)
        is_aborted = not STEPS_ONLY and took > parameters["time_max_us"]
        total_us += min(took, parameters["time_max_us"]) if is_aborted else took
        state[kind] = state.get(kind, 0) + (not is_aborted)
        receipts.append("aborted" if is_aborted else f"done {steps}")
    return state, receipts, min(total_us, 60_000_000)


def make(chance):
    return "provision 900" if chance[0] % 60 == 0 else f"call {100 + chance[1]}"


serve("meter", run, make)
