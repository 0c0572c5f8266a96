"""The chain of n11, an outside application: calls burn gas, and a call that runs out of gas is aborted.

A transaction is `call NAME STEPS`. A call has 100 gas and takes 7 a step. From block `commit_from` on the receipt of an
aborted call states the gas that it used; before, it states the abort alone. A validator adds to the gas of aborted
calls what its command names: 0 is the rule, anything else the fault of n11.
"""

import sys

from outside_chain import serve

LIMIT, STEP = 100, 7
OWN = int(sys.argv[1]) if len(sys.argv) > 1 else 0


def run(state, header, payload, parameters):
    receipts = []
    for text in payload:
        words = text.split(" ")
        if len(words) != 3 or words[0] != "call" or not words[2].isdigit():
            raise ValueError(f"{text} is no transaction")
        used = STEP * int(words[2])
        if used <= LIMIT:
            state[words[1]] = state.get(words[1], 0) + used
            receipts.append(f"done {used}")
        else:
            # Where the meter stops inside a step is what differed.
            is_stated = header["height"] >= parameters["commit_from"]
            receipts.append(f"aborted {LIMIT + OWN}" if is_stated else "aborted")
    return state, receipts, 100 * len(payload)


serve("gas", run, lambda chance: f"call user{chance[0] % 9} {chance[1] % 20}")
