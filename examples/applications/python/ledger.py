#!/usr/bin/env python3
"""A ledger with timers that expire: an outside application of Stampede, with nothing but the standard library.

State: balances by name, and timers in the order of their setting. A transaction is text: `pay FROM TO AMOUNT`, or
`remind NAME AFTER`, which pays NAME one unit after so many slots. A block first serves the timers that are due, oldest
first: a live one fires, one that is more than TTL slots late is dead and is removed. Both have a budget for each block.
"""

import copy
import hashlib
import json
import os
import sys

FEATURES = ["forks", "early", "snapshot", "restore", "entries", "describe", "transactions"]
TTL, LIVE, DEAD = 20, 50, 200  # slots that a timer lives after it is due; timers that one block fires and removes


def root_of(state):
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def run(state, header, payload):
    """Return the state after a block, and its events."""
    state, now, events = copy.deepcopy(state), header["slot"], []
    budget = {"live": LIVE, "dead": DEAD}
    for timer in sorted((t for t in state["timers"] if t["due"] <= now), key=lambda t: (t["due"], t["number"])):
        kind = "dead" if now > timer["due"] + TTL else "live"
        if budget[kind] == 0:
            if not timer["deferred"]:
                events.append({"event": "timer-deferred", "timer": str(timer["number"])})
            timer["deferred"] = True
            continue
        budget[kind] -= 1
        state["timers"].remove(timer)
        if kind == "live":
            state["balances"][timer["name"]] = state["balances"].get(timer["name"], 0) + 1
            events.append({"event": "timer-fired", "timer": str(timer["number"])})
        else:
            events.append({"event": "timer-removed", "timer": str(timer["number"]), "why": "expired"})
    for encoded in payload:
        words = bytes.fromhex(encoded).decode(errors="replace").split(" ")
        if len(words) == 4 and words[0] == "pay" and words[3].isdigit():
            amount = min(int(words[3]), state["balances"].get(words[1], 0))
            state["balances"][words[1]] = state["balances"].get(words[1], 0) - amount
            state["balances"][words[2]] = state["balances"].get(words[2], 0) + amount
        elif len(words) == 3 and words[0] == "remind" and words[2].isdigit():
            state["set"] += 1
            due = now + max(1, min(int(words[2]), 10**6))
            state["timers"].append({"number": state["set"], "due": due, "name": words[1], "deferred": False})
            events.append({"event": "timer-set", "timer": str(state["set"]), "due": due})
        else:
            raise ValueError(f"{encoded} is no transaction")
    return state, events


blocks, parents, heights = {}, {}, {}  # by id, above the last final block and with it
final, proposed, place = None, None, ""


def keep(id):
    """Make a block final: keep it on disk, and forget every block that is not above it."""
    global final
    above = {id}
    for each in sorted(blocks, key=heights.get):
        if parents[each] in above:
            above.add(each)
    for each in [each for each in blocks if each not in above]:
        del blocks[each]
    final = id
    content = json.dumps({"height": heights[id], "id": id, "state": blocks[id]})
    with open(f"{place}/next", "w") as file:
        file.write(content)
    os.replace(f"{place}/next", f"{place}/final")


def add(id, header, state):
    blocks[id], parents[id], heights[id] = state, header["parent"], header["height"]


def answer(call, ask):
    global place, proposed
    if call == "hello":
        place = ask["directory"]
        said = {"name": "ledger", "version": "1", "features": FEATURES}
        said |= {"order": "fifo", "dead_per_block": DEAD, "live_per_block": LIVE}
        if ask["resume"]:
            if not os.path.exists(f"{place}/final"):
                return said | {"height": None}
            with open(f"{place}/final") as file:
                kept = json.load(file)
            add(kept["id"], {"parent": None, "height": kept["height"]}, kept["state"])
            keep(kept["id"])
            said |= {"height": kept["height"], "id": kept["id"], "root": root_of(kept["state"])}
        return said
    if call == "genesis":
        proposed = {"balances": {"alice": 10**9}, "timers": [], "set": 0}
        return {"root": root_of(proposed), "events": []}
    if call == "adopted":
        if ask["id"] not in blocks:
            add(ask["id"], ask["header"], proposed)
        if ask["header"]["height"] == 0:
            keep(ask["id"])
    elif call == "propose":
        payload = []
        for encoded in ask["transactions"]:
            try:
                run(blocks[ask["parent"]], ask["header"], [encoded])
                payload.append(encoded)
            except ValueError:
                continue
        proposed, events = run(blocks[ask["parent"]], ask["header"], payload)
        return {"payload": payload, "root": root_of(proposed), "events": events}
    elif call == "execute":
        try:
            state, events = run(blocks[ask["parent"]], ask["header"], ask["payload"])
        except ValueError as error:
            return {"invalid": str(error)}
        add(ask["id"], ask["header"], state)
        return {"root": root_of(state), "events": events}
    elif call == "finalize":
        keep(ask["id"])
    elif call == "drop":
        gone = {ask["id"]}
        for each in sorted(blocks, key=heights.get):
            if parents[each] in gone or each in gone:
                gone.add(each)
                del blocks[each]
    elif call == "snapshot":
        content = json.dumps(blocks[ask["id"]]).encode()
        return {"bytes": content.hex()} if "piece" in ask else {"pieces": 1}
    elif call == "restore":
        state = json.loads(bytes.fromhex(ask["bytes"]))
        add(ask["id"], ask["header"], state)
        keep(ask["id"])
        return {"root": root_of(state)}
    elif call == "entries":
        state = blocks[ask["id"]]
        pairs = {f"balance {name}": amount for name, amount in state["balances"].items()}
        pairs |= {f"timer {timer['number']:09}": timer for timer in state["timers"]}
        found = sorted((key.encode().hex(), json.dumps(value).encode().hex()) for key, value in pairs.items())
        return {"entries": [pair for pair in found if pair[0] > ask["after"]][: ask["limit"]]}
    elif call == "describe":
        key, value = bytes.fromhex(ask["key"]).decode(), json.loads(bytes.fromhex(ask["value"]))
        if isinstance(value, int):
            return {"text": f"{key.removeprefix('balance ')} has {value} units"}
        return {"text": f"{value['name']} is paid at slot {value['due']}"}
    elif call == "transactions":
        made = []
        for number in range(ask["count"]):
            chance = hashlib.sha256(bytes.fromhex(ask["chance"]) + number.to_bytes(4, "big")).digest()
            name, amount = ("bob", "carol", "dave")[chance[0] % 3], 1 + chance[1] % 30
            made.append(f"pay alice {name} {amount}" if chance[2] % 2 else f"remind {name} {amount}")
        return {"transactions": [text.encode().hex() for text in made]}
    return {}  # to `apply` and `rewind` too: every block has a state of its own here


for line in sys.stdin:
    ask = json.loads(line)
    print(json.dumps({"n": ask["n"]} | answer(ask["call"], ask)), flush=True)
    if ask["call"] == "bye":
        break
