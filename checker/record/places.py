"""The places of run directories in a shared folder, into which any number of processes write at the same time.

Invariants: a run is replaced only by a run of the same plan, seed, code and, if it went on with a data directory, the
same opening. Any other run stays. Runs are moved to their places singly, under a lock of their parent directory. A
process locks the directory that it writes. The next writer removes the files of a dead process, and no other files.
"""

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from checker.record.errors import ReportedError
from checker.record.host import make_folder, naming
from checker.record.locks import held, holds_on, is_held
from checker.record.manifest import REOPENED, SCENARIO, Manifest, read_manifest
from checker.record.plain_files import UnsuitableFileError, open_plain
from checker.record.streams import DamagedRecordError

LOCK: Final = ".stampede.lock"
"""The lock file of a folder of runs, present while a run is moved."""

_MARK: Final = ".stampede-"
_UNFINISHED: Final = ".unfinished"
_RETIRED: Final = ".retired"

SUFFIX_DIGITS: Final = (6, 64)
"""Digits of plan and code added to a name that another run has: a few, or all if the longer name is taken too."""


class RecordExistsError(DamagedRecordError):
    """The place of a run directory is taken, but not by a run directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "run directory", "exists and holds no run; give another path or remove it")


class ForeignFileError(ReportedError):
    """A file that is not of the kind that would be written in its place."""


class OwnFile(NamedTuple):
    """A kind of file that this program writes: the first bytes of each, and the name of the kind in a sentence."""

    beginning: bytes
    name: str


@contextmanager
def work_directory(parent: Path, name: str) -> Iterator[Path]:
    """Make a directory to write in beside its final place, and remove it if it is still there; raises OSError."""
    make_folder(parent)
    path, hold = None, None
    try:
        with held(parent / LOCK, parent, waits=True):
            _clear_litter(parent)
            path = Path(tempfile.mkdtemp(prefix=f"{_MARK}{name}.", suffix=_UNFINISHED, dir=parent))
            hold = holds_on(path)
        yield path
    finally:
        # An interrupt may come before the lock is held.
        if path is not None:
            shutil.rmtree(path, ignore_errors=True)
        if hold is not None:
            os.close(hold)


@contextmanager
def scratch_directory(name: str) -> Iterator[Path]:
    """Make a temporary directory, and remove the directories of killed processes; raises OSError."""
    place = Path(tempfile.gettempdir(), f"stampede-{os.getuid()}")
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    # Any user may make a directory of that name there.
    if place.lstat().st_uid != os.getuid():
        raise PermissionError(errno.EACCES, "belongs to another user", str(place))
    with work_directory(place, name) as scratch:
        yield scratch


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in one move, so that readers see the old or the new content; raises OSError with the path."""
    with naming(path), work_directory(path.parent, path.name) as aside:
        (aside / path.name).write_bytes(content)
        (aside / path.name).replace(path)


def write_own(path: Path, content: bytes, kind: OwnFile) -> None:
    """Write a file in one move, in the place of a file of its kind or of none.

    Raises:
        ForeignFileError: Something else stands there.
        OSError: The file system refuses; the error has the path.
    """
    refuse_other_file(path, kind)
    write_whole(path, content)


def refuse_other_file(path: Path, kind: OwnFile) -> None:
    """Raise ForeignFileError where a path holds anything but a file of this kind: a link, a folder, another's file."""
    if not os.path.lexists(path):
        return
    try:
        with naming(path), open_plain(path, None, follows_links=False) as opened:
            is_own = opened.read(len(kind.beginning)) == kind.beginning
    except UnsuitableFileError:
        is_own = False
    if not is_own:
        raise ForeignFileError(f"{path} exists and is no {kind.name}; give another path or remove it")


def put_in_place(source: Path, wanted: Path) -> Path:
    """Move a complete run directory to its place and return the place: the wanted name, or a longer name.

    Raises:
        RecordExistsError: Something else than run directories stands in every place.
    """
    manifest = read_manifest(source)
    with held(wanted.parent / LOCK, wanted.parent, waits=True):
        _clear_litter(wanted.parent)
        target = _place_of(manifest, wanted)
        retired = wanted.with_name(f"{_MARK}{target.name}{_RETIRED}")
        # The older run is removed only after the new run has arrived.
        if target.exists():
            target.rename(retired)
        source.rename(target)
        shutil.rmtree(retired, ignore_errors=True)
    return target


def refuse_foreign(path: Path) -> None:
    """Raise RecordExistsError where the path holds anything but a directory with a manifest of this project."""
    _manifest_at(path)


def _place_of(manifest: Manifest, wanted: Path) -> Path:
    """Return the first place that is free or holds a run of the same plan, seed, code and opening."""
    plan, reopened, _, fingerprint = identity = _identity_of(manifest)
    digits = hashlib.sha256(f"{plan}{reopened} {fingerprint}".encode()).hexdigest()
    others = [wanted.with_name(f"{wanted.name}-{digits[:count]}") for count in SUFFIX_DIGITS]
    for place in (wanted, *others):
        # A foreign file in a place is no reason to lose a finished run.
        with suppress(RecordExistsError):
            there = _manifest_at(place)
            if there is None or _identity_of(there) == identity:
                return place
    raise RecordExistsError(others[-1])


def _identity_of(manifest: Manifest) -> tuple[str, str, int, str]:
    """Return the identity of a run: plan, data directory that it went on with, seed and code."""
    plan, reopened = (manifest.files.get(name) for name in (SCENARIO, REOPENED))
    return plan.sha256 if plan else "", reopened.sha256 if reopened else "", manifest.seed, manifest.fingerprint


def _manifest_at(path: Path) -> Manifest | None:
    if not os.path.lexists(path):
        return None
    try:
        return read_manifest(path)
    except (DamagedRecordError, OSError):
        raise RecordExistsError(path) from None


def clear_litter(parent: Path) -> None:
    """Remove only the unfinished directories of dead processes from a folder of runs; raises OSError."""
    if parent.is_dir():
        with held(parent / LOCK, parent, waits=True):
            _clear_litter(parent)


def _clear_litter(parent: Path) -> None:
    """Remove unfinished directories of dead processes, restore runs whose replacement never came; under the lock."""
    for path in sorted(parent.glob(f"{_MARK}*{_UNFINISHED}")):
        if not is_held(path):
            shutil.rmtree(path, ignore_errors=True)
    for path in sorted(parent.glob(f"{_MARK}*{_RETIRED}")):
        if path.is_symlink() or not path.is_dir():
            continue
        place = parent / path.name.removeprefix(_MARK).removesuffix(_RETIRED)
        if os.path.lexists(place):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.rename(place)
