"""An implementation for tests of the runner of fixtures: its answer is the sum of a case's numbers.

A case's `do` makes it misbehave instead; its first argument makes it misbehave at `hello`.
"""

import json
import os
import sys
import time


def misbehave(what):
    if what == "hang":
        time.sleep(600)
    elif what == "die":
        os.write(2, b"Error: no such timer\n")
        os._exit(3)
    elif what == "flood":
        while True:
            os.write(1, b"x" * 65_536)
    elif what == "garbage":
        os.write(1, b"what?\n")


def answer(ask):
    if ask["call"] == "hello":
        misbehave(sys.argv[1] if len(sys.argv) > 1 else "")
        return {"name": "adder", "version": "1", "features": []}
    if ask["call"] != "scheduler":
        return {"error": "unknown call"}
    case = ask["case"]
    misbehave(case.get("do", ""))
    if case.get("do") == "refuse":
        return {"error": "no such policy"}
    if case.get("do") == "forget":
        return {"result": 1}
    wrong = 1 if case.get("do") == "wrong" else 0
    return {"answer": {"sum": sum(case["numbers"]) + wrong, "events": [{"of": n + wrong} for n in case["numbers"]]}}


for line in sys.stdin:
    ask = json.loads(line)
    os.write(1, json.dumps({"n": ask["n"], **answer(ask)}).encode() + b"\n")
