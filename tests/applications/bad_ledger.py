"""The Python ledger of the examples with one bug in it, by its name: `python3 bad_ledger.py NAME LEDGER`."""

import sys
from pathlib import Path

HEIGHT_5 = '    if call == "execute" and ask["header"]["height"] == 5:\n        '
ANSWER = "def answer(call, ask):\n    global place, proposed\n"
FORWARD = """    if call == "hello":
        FEATURES[:] = [name for name in FEATURES if name not in ("forks", "early")]
        if ask["resume"] and os.path.exists(ask["directory"] + "/final"):
            GROWN.append(json.load(open(ask["directory"] + "/final"))["id"])
    tip = GROWN[-1] if GROWN else None
    if call in ("execute", "propose") and ask["parent"] != tip or call == "finalize" and ask["id"] != tip:
        raise SystemExit(f"{call} is not asked of the tip {tip}")
    if call in ("execute", "adopted", "restore"):
        GROWN.append(ask["id"])
"""
LIE = """        lie = ask["header"]["height"] == 7
        return {"root": "00" * 32 if lie else root_of(state), "events": events}
    elif call == "finalize\""""
FINALIZE = '    elif call == "finalize":'
REWIND = """    elif call == "rewind":
        blocks[ask["to"]]["set"] = max(state["set"] for state in blocks.values())
"""
FIRST_OF_HEIGHT = """        ask["parent"] = next(each for each in blocks if heights[each] == heights[ask["parent"]])
        try:
            state, events = run(blocks[ask"""
ADDED = '        add(ask["id"], ask["header"], state)\n        return {"root"'
LOOP = '    print(json.dumps({"n": ask["n"]} | answer(ask["call"], ask)), flush=True)\n'

BUGS = {
    "lies": (
        '        return {"root": root_of(state), "events": events}\n    elif call == "finalize"',
        LIE,
    ),
    "hash-order": (
        "hashlib.sha256(json.dumps(state, sort_keys=True).encode())",
        'hashlib.sha256(repr(set(state["balances"]) | set("abcdefgh")).encode())',
    ),
    "clock": (
        '"number": state["set"], "due": due',
        '"at": __import__("time").time_ns(), "number": state["set"], "due": due',
    ),
    "time-zone": (
        '"number": state["set"], "due": due',
        '"at": __import__("time").localtime(now).tm_hour, "number": state["set"], "due": due',
    ),
    "no-rollback": ("copy.deepcopy(state), header", "state, header"),
    "forgets": (
        '    with open(f"{place}/next", "w") as file:\n',
        '    if heights[id] % 2:\n        return\n    with open(f"{place}/next", "w") as file:\n',
    ),
    "hangs": (ANSWER, ANSWER + HEIGHT_5 + "__import__('time').sleep(600)\n"),
    "dies": (ANSWER, ANSWER + HEIGHT_5 + "print('out of luck', file=sys.stderr); os._exit(3)\n"),
    "floods": (ANSWER, ANSWER + HEIGHT_5 + "[print('x' * 2**20, end='') for _ in range(64)]\n"),
    "banner": ("for line in sys.stdin:\n", 'print("welcome to the ledger", flush=True)\nfor line in sys.stdin:\n'),
    "twice": (LOOP, LOOP + LOOP),
    "grows": (ANSWER, ANSWER + "    GROWN.append(bytes(range(256)) * 2**15)\n"),
    "error": (ANSWER, ANSWER + HEIGHT_5 + 'return {"error": "it does not like height 5"}\n'),
    "short-root": ("sort_keys=True).encode()).hexdigest()", "sort_keys=True).encode()).hexdigest()[:62]"),
    "fires-early": ('if t["due"] <= now)', 'if t["due"] <= now + 1)'),
    "loses-timers": ('            events.append({"event": "timer-fired", "timer": str(timer["number"])})\n', ""),
    "keeps-counter": (FINALIZE, REWIND + FINALIZE),
    "one-a-height": ("        try:\n            state, events = run(blocks[ask", FIRST_OF_HEIGHT),
    "second-answer": (ADDED, '        events += [{"event": "again"}] * (ask["id"] in blocks)\n' + ADDED),
    "drops-all": (
        "                gone.add(each)\n                del blocks[each]",
        "                gone.add(each)\n        blocks.clear()",
    ),
}

NODE = '        place = ask["directory"]\n'
FEW = ("TTL, LIVE, DEAD = 20, 50, 200", "TTL, LIVE, DEAD = 20, 1, 200")
BUILDS = (NODE, NODE + '        GROWN.append(ask["node"])\n')
RESUMED = '"id": kept["id"], "root": root_of(kept["state"])}\n'
DEFERRED = '            timer["deferred"] = True\n'
VERSION = (*BUILDS, "(words[2], 0) + amount", "(words[2], 0) + amount - (GROWN[0] == 2 and amount > 20)")

SILENT = {
    "skips-phase": (*BUILDS, *FEW, DEFERRED, DEFERRED + "            if GROWN[0] == 2:\n                break\n"),
    "fan-out": (*BUILDS, '(t["due"], t["number"])', '(t["due"], t["number"] * (-1 if GROWN[0] == 2 else 1))'),
    "stale-resume": (RESUMED, RESUMED + '            kept["state"]["set"] += 1\n'),
    "late-path": (
        *BUILDS,
        *FEW,
        '(timer["name"], 0) + 1',
        '(timer["name"], 0) + 1 + (timer["deferred"] and GROWN[0] == 2)',
    ),
    "silent-version": VERSION,
    "no-entries": (*VERSION, '"restore", "entries", "describe"', '"restore"'),
}
"""Silent differences: replica 2 stands for another build, or only a restarted replica differs.

The script of `application check` finds `stale-resume` alone, because it asks a single build.
"""

SOUND = {
    "forward": (ANSWER, ANSWER + FORWARD),
    "bare": ('"early", "snapshot", "restore", "entries", "describe", "transactions"', ""),
}
"""No bug: a ledger that can only go forward, and ends where it is asked for more; one without most features."""


def main() -> None:
    name, ledger = sys.argv[1:]
    source = Path(ledger).read_text()
    words = (BUGS | SILENT | SOUND)[name]
    for old, new in zip(words[::2], words[1::2], strict=True):
        assert source.count(old) >= 1, f"the ledger has no {old!r} any more"
        source = source.replace(old, new)
    exec(compile(source, ledger, "exec"), {"__name__": "__main__", "GROWN": []})


if __name__ == "__main__":
    main()
