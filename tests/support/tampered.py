"""Records that were changed and sealed anew: sizes and hashes of the manifest fit what it lists."""

import hashlib
import io
import json
import shutil

import msgpack

from checker.record.manifest import MANIFEST
from checker.record.run_directory import EVENTS


def seal(directory):
    """Write size and SHA-256 of each file into the manifest, and the run's digest."""
    manifest = json.loads((directory / MANIFEST).read_text())
    for name in manifest["files"]:
        content = (directory / name).read_bytes()
        manifest["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["digest"] = manifest["files"][EVENTS]["sha256"]
    (directory / MANIFEST).write_text(json.dumps(manifest))


def records_of(directory, name):
    """Return the records of a stream."""
    content = (directory / name).read_bytes()
    return list(msgpack.Unpacker(io.BytesIO(content), raw=False, max_buffer_size=len(content)))


def tampered(run, place, name, change):
    """Copy a run, let `change` return the new content of a file from its records or its JSON, and seal it."""
    shutil.copytree(run, place, ignore=shutil.ignore_patterns("*.html"))
    if name.endswith(".json"):
        (place / name).write_text(json.dumps(change(json.loads((place / name).read_text()))))
    else:
        (place / name).write_bytes(b"".join(map(msgpack.packb, change(records_of(place, name)))))
    seal(place)
    return place
