"""Finished run directories."""

import hashlib

import msgspec

DIGEST, ROOT = bytes(range(32)), bytes(32)


LOG = [[0, -1, "healed"], [5, 2, "vote", "notarize", 3, DIGEST], [9, 0, "certificate", "x", 3, b"", [0, 1, 2]]]


def encode(events):
    return b"".join(msgspec.msgpack.encode(event) for event in events)


def finished(writer, plan=b"{}\n", verdict="passed", log=None):
    log = encode(LOG) if log is None else log
    writer.write_scenario(plan)
    writer.write_genesis(b"genesis")
    writer.add_block(height=1, digest=DIGEST, root=ROOT, block=b"one")
    writer.add_block(height=2, digest=DIGEST, root=ROOT, block=b"two")
    writer.add_root(node=3, height=1, digest=DIGEST, root=ROOT)
    writer.add_events(log)
    writer.write_verdict({"verdict": verdict, "checks": []})
    return writer.finish(scenario="calm", seed=7, digest=hashlib.sha256(log).digest(), verdict=verdict)
