"""Blocks by id, the last final block on disk, and the frames: the part that all applications of incidents use.

An application gives `serve` two functions. `run(state, header, payload, parameters)` returns the state after a block,
its receipts as text, and the microseconds that executing it takes; it raises ValueError for what is no transaction.
`make(chance)` returns a transaction as text, drawn from 32 bytes.
"""

import hashlib
import json
import os
import sys

blocks, heights = {}, {}  # states and heights by block
proposed, parameters, place = None, {}, ""


def root_of(state):
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def keep(id):
    """Keep a final block on disk."""
    content = json.dumps({"id": id, "height": heights[id], "root": root_of(blocks[id]), "state": blocks[id]})
    with open(f"{place}/next", "w") as file:
        file.write(content)
    os.replace(f"{place}/next", f"{place}/final")


def greet(name, ask):
    """Return the answer to `hello`, with the block that an earlier life has kept."""
    global parameters, place
    parameters, place = ask["parameters"], ask["directory"]
    said = {"name": name, "version": "1", "features": ["forks", "transactions"]}
    if not ask["resume"]:
        return said
    if not os.path.exists(f"{place}/final"):
        return said | {"height": None}
    with open(f"{place}/final") as file:
        kept = json.load(file)
    blocks[kept["id"]], heights[kept["id"]] = kept.pop("state"), kept["height"]
    return said | kept


def answered(run, ask, payload):
    """Run a block on its parent; return the state and the answer."""
    texts = [bytes.fromhex(each).decode(errors="replace") for each in payload]
    state, receipts, cost_us = run(json.loads(json.dumps(blocks[ask["parent"]])), ask["header"], texts, parameters)
    said = {"root": root_of(state), "events": [], "receipts": [text.encode().hex() for text in receipts]}
    return state, said | {"cost_us": cost_us}


def answer(name, run, make, ask):
    global proposed
    call = ask["call"]
    if call == "hello":
        return greet(name, ask)
    if call == "genesis":
        proposed = {}
        return {"root": root_of(proposed), "events": []}
    if call == "adopted":
        if ask["id"] not in blocks:
            blocks[ask["id"]], heights[ask["id"]] = proposed, ask["header"]["height"]
        if not heights[ask["id"]]:
            keep(ask["id"])
    elif call == "propose":
        proposed, said = answered(run, ask, ask["transactions"])
        return said | {"payload": ask["transactions"]}
    elif call == "execute":
        try:
            state, said = answered(run, ask, ask["payload"])
        except ValueError as error:
            return {"invalid": str(error)}
        blocks[ask["id"]], heights[ask["id"]] = state, ask["header"]["height"]
        return said
    elif call == "finalize":
        keep(ask["id"])
    elif call == "transactions":
        draws = [bytes.fromhex(ask["chance"]) + number.to_bytes(4, "big") for number in range(ask["count"])]
        return {"transactions": [make(hashlib.sha256(each).digest()).encode().hex() for each in draws]}
    return {}


def serve(name, run, make):
    for line in sys.stdin:
        ask = json.loads(line)
        print(json.dumps({"n": ask["n"]} | answer(name, run, make, ask)), flush=True)
        if ask["call"] == "bye":
            break
