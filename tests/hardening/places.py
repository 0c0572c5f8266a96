"""Things that may stand where a file is expected: each is made at a place, and has a word to name it by."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

HUGE_BYTES = 3 << 30
"""A file of holes, thrice what a command may take."""

CONTROLS = "\x1b[2J\u202e\n::error::forged"


def fifo(place: Path) -> str:
    os.mkfifo(place)
    return place.name


def socket(place: Path) -> str:
    os.mknod(place, stat.S_IFSOCK | 0o600)
    return place.name


def link(place: Path) -> str:
    place.symlink_to("outside/file")
    return place.name


def link_to_a_folder(place: Path) -> str:
    place.symlink_to("outside")
    return place.name


def link_to_nothing(place: Path) -> str:
    place.symlink_to("outside/nothing")
    return place.name


def link_to_itself(place: Path) -> str:
    place.symlink_to(place.name)
    return place.name


def link_to_zeros(place: Path) -> str:
    place.symlink_to("/dev/zero")
    return place.name


def full_device(_place: Path) -> str:
    return "/dev/full"


def zeros(_place: Path) -> str:
    return "/dev/zero"


def folder(place: Path) -> str:
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    return place.name


def empty_folder(place: Path) -> str:
    place.mkdir()
    return place.name


def closed_folder(place: Path) -> str:
    place.mkdir(mode=0)
    return place.name


def closed_file(place: Path) -> str:
    place.write_text("mine")
    place.chmod(0)
    return place.name


def huge(place: Path) -> str:
    with place.open("wb") as opened:
        opened.truncate(HUGE_BYTES)
    return place.name


def empty(place: Path) -> str:
    place.touch()
    return place.name


def binary(place: Path) -> str:
    place.write_bytes(bytes(range(256)) * 64)
    return place.name


def nothing(place: Path) -> str:
    return place.name


def below_a_file(place: Path) -> str:
    place.write_text("mine")
    return f"{place.name}/below"


def no_name(_place: Path) -> str:
    return ""


def long_name(_place: Path) -> str:
    return "x" * 5_000


def foreign_name(place: Path) -> str:
    other = place.with_name(os.fsdecode(b"name\xff"))
    other.touch()
    return other.name


def name_of_controls(place: Path) -> str:
    other = place.with_name(CONTROLS)
    other.touch()
    return other.name


def name_like_an_option(place: Path) -> str:
    place.with_name("--json=1").touch()
    return "--json=1"


PLACES: tuple[Callable[[Path], str], ...] = (
    *(fifo, socket, link, link_to_a_folder, link_to_nothing, link_to_itself, link_to_zeros, full_device, zeros),
    *(folder, empty_folder, closed_folder, closed_file, huge, empty, binary, nothing, below_a_file, no_name),
    *(long_name, foreign_name, name_of_controls, name_like_an_option),
)

INSIDE: tuple[Callable[[Path], str], ...] = (
    *(fifo, socket, link, link_to_nothing, link_to_itself, link_to_zeros, folder, closed_file, huge, empty, binary),
    nothing,
)
"""Things that may stand in the place of a file of a record, of a data directory or of a corpus."""
