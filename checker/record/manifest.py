"""The manifest of a run directory: its run, the code that wrote it, and size and SHA-256 of all that it rests on."""

import hashlib
import os
from pathlib import Path
from typing import IO, Annotated, Final

import msgspec

from checker.record.fingerprint import UNKNOWN, Code, PluginCode
from checker.record.plain_files import open_plain
from checker.record.streams import DamagedRecordError, read_document

FORMAT: Final = 2
"""Version of the layout."""

FORMATS_READ: Final = (1, 2)
"""Formats that a reader accepts; a record of format 1 does not name the code that wrote it."""

KIND: Final = "stampede-run"
"""Marks a directory as a run directory of this project."""

MANIFEST: Final = "manifest.json"
SCENARIO: Final = "scenario.json"
REOPENED: Final = "reopened.json"
"""The file that names the data directory that a run went on with, if any."""

REPORT: Final = "report.html"
"""The page for a person: a view of the other files that can be made again, hence in no manifest."""

MANIFEST_BYTES_MAX: Final = 1024 * 1024
"""Greatest size of a manifest."""

_CHUNK_BYTES: Final = 1 << 20

FileName = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9._-]*\Z", max_length=64)]
Hexadecimal = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Fingerprint = Annotated[str, msgspec.Meta(pattern=rf"^([0-9a-f]{{64}}|{UNKNOWN})\Z")]
Version = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z.+-]{1,80}\Z")]


class FileEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Size in bytes and SHA-256 of one file."""

    size: Annotated[int, msgspec.Meta(ge=0)]
    sha256: Hexadecimal


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The description of a run directory: `digest` is the run's, `code` that of the code that wrote it."""

    kind: str
    format: int
    scenario: str
    seed: Annotated[int, msgspec.Meta(ge=0)]
    digest: Hexadecimal
    verdict: str
    python: Version
    fingerprint: Fingerprint = UNKNOWN
    commit: Version = UNKNOWN
    plugins: tuple[PluginCode, ...] = ()
    files: dict[FileName, FileEntry]

    @property
    def code(self) -> Code:
        """The code that wrote the directory."""
        return Code(self.fingerprint, self.commit, self.python)


def read_manifest(path: Path) -> Manifest:
    """Return the manifest of a run directory without reading the other files; raises DamagedRecordError."""
    if not path.is_dir():
        raise DamagedRecordError(path, MANIFEST, "no such run directory")
    try:
        manifest = msgspec.json.decode(read_document(path, MANIFEST, MANIFEST_BYTES_MAX), type=Manifest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise DamagedRecordError(path, MANIFEST, str(error)) from None
    if manifest.seed >= 1 << 64:
        raise DamagedRecordError(path, MANIFEST, "seed is not below 2^64")
    if manifest.kind != KIND or manifest.format not in FORMATS_READ:
        found, ours = f"{manifest.kind} {manifest.format}", " and ".join(map(str, FORMATS_READ))
        raise DamagedRecordError(path, MANIFEST, f"is a {found}, this program reads {KIND} {ours}")
    return manifest


def describe_file(path: Path) -> FileEntry:
    """Return size and SHA-256 of a file that this program has written; raises OSError."""
    with open_plain(path, None) as opened:
        return FileEntry(os.fstat(opened.fileno()).st_size, hash_file(opened))


def hash_file(opened: IO[bytes]) -> str:
    """Return the SHA-256 of an open file in hexadecimal digits, of as many bytes as it has now; raises OSError."""
    hasher, rest = hashlib.sha256(), os.fstat(opened.fileno()).st_size
    while chunk := opened.read(min(rest, _CHUNK_BYTES)):
        hasher.update(chunk)
        rest -= len(chunk)
    return hasher.hexdigest()
