"""Files opened by name: regular, of a stated size, and both known before anything is read."""

import os
import socket
import stat
from pathlib import Path

import pytest

from checker.record.plain_files import UnsuitableFileError, open_descriptor, open_plain, read_plain, resolved

TERABYTE = 1 << 40


def make_pipe(path):
    os.mkfifo(path)


def make_endless(path):
    path.symlink_to("/dev/zero")


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def make_sparse(path):
    path.touch()
    os.truncate(path, TERABYTE)


UNSUITABLE = {
    "a pipe": make_pipe,
    "a device": make_endless,
    "a socket": make_socket,
    "a folder": Path.mkdir,
    "longer than 100 bytes: 1,099,511,627,776": make_sparse,
}
"""By the reason that a reader gives, who makes such a file."""


@pytest.mark.parametrize("reason", UNSUITABLE)
def test_what_is_no_plain_file_of_a_sane_size_is_refused(reason, tmp_path):
    path = tmp_path / "file"
    UNSUITABLE[reason](path)

    with pytest.raises(UnsuitableFileError, match=reason) as refused:
        read_plain(path, 100)

    assert str(refused.value).startswith(f"{path}: ")


def test_a_file_of_the_greatest_size_is_read(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 100)

    assert read_plain(tmp_path / "file", 100) == b"x" * 100
    with pytest.raises(UnsuitableFileError, match="longer than 99 bytes: 100"):
        read_plain(tmp_path / "file", 99)


def test_a_file_that_grows_after_it_was_opened_is_refused(tmp_path, monkeypatch):
    """A file of the kernel's says that it is empty as well."""
    path = tmp_path / "file"
    path.write_bytes(b"x" * 101)
    found = os.stat_result((stat.S_IFREG, *[0] * 9))
    monkeypatch.setattr(os, "fstat", lambda _descriptor: found)
    monkeypatch.setattr(Path, "stat", lambda _path, **_: found)

    with pytest.raises(UnsuitableFileError, match="longer than 100 bytes"):
        read_plain(path, 100)


def test_a_pipe_that_takes_the_place_meanwhile_is_refused(tmp_path, monkeypatch):
    """The open file is asked: the name may stand for another one by then."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(Path, "stat", lambda _path, **_: os.stat_result((stat.S_IFREG, *[0] * 9)))

    with pytest.raises(UnsuitableFileError, match="is a pipe"):
        open_plain(tmp_path / "pipe", None)


def test_a_link_that_takes_the_place_meanwhile_is_not_followed(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    monkeypatch.setattr(Path, "stat", lambda _path, **_: os.stat_result((stat.S_IFREG, *[0] * 9)))

    with pytest.raises(OSError, match="link"):
        read_plain(tmp_path / "link", 100, follows_links=False)


def test_links_are_followed_unless_they_must_not_be(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")

    assert read_plain(tmp_path / "link", 100) == b"content"
    with pytest.raises(UnsuitableFileError, match="is a link"):
        read_plain(tmp_path / "link", 100, follows_links=False)


def test_a_file_that_is_not_there_is_said_or_made(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_plain(tmp_path / "file", 100)

    os.close(open_descriptor(tmp_path / "file", os.O_RDWR | os.O_CREAT, 0))
    assert read_plain(tmp_path / "file", 0) == b""


def test_a_link_that_leads_to_itself_is_its_own_place(tmp_path):
    """Path.resolve raises RuntimeError there up to Python 3.12."""
    loop = tmp_path / "loop"
    loop.symlink_to("loop")

    assert resolved(loop) == loop
    assert resolved(tmp_path / "beside" / ".." / "here") == tmp_path / "here"
