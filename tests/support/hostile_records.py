"""Run directories that somebody has changed, with a manifest that says that all is as it was written."""

import hashlib

import msgpack
import msgspec

from checker.record.manifest import MANIFEST, REPORT

HOSTILE = "\x1b[2J\x1b[31mred\u202eleft\u200b\x9b\x7f\r\n::error::forged\ttail\U000e0041"
"""Text that clears a screen, colours it, turns the direction of reading, has no width, and begins a line."""


def seal(directory):
    """Write size and SHA-256 of every file into the manifest, and the digest of the events."""
    plain = msgspec.json.decode((directory / MANIFEST).read_bytes())
    files = sorted(path for path in directory.iterdir() if path.name not in {MANIFEST, REPORT} and path.is_file())
    contents = {path.name: path.read_bytes() for path in files}
    plain["files"] = {
        name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in contents.items()
    }
    plain["digest"] = hashlib.sha256(contents.get("events.msgpack", b"")).hexdigest()
    (directory / MANIFEST).write_bytes(msgspec.json.encode(plain))


def records_of(path):
    """Return the records of a stream."""
    unpacker = msgpack.Unpacker(strict_map_key=False)
    unpacker.feed(path.read_bytes())
    return list(unpacker)


def write_records(path, records):
    """Write a stream; texts may hold lone surrogates."""
    path.write_bytes(b"".join(msgpack.packb(record, unicode_errors="surrogatepass") for record in records))


def with_text(value, text):
    """Return plain data with a text behind each of its texts that no number, word or digest stands for."""
    if isinstance(value, dict):
        return {key: with_text(inner, text) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [with_text(inner, text) for inner in value]
    return f"{value}{text}" if isinstance(value, str) else value


def change_document(path, change):
    """Replace the JSON of a file by what a function makes of it."""
    path.write_bytes(msgspec.json.encode(change(msgspec.json.decode(path.read_bytes()))))
