"""Standard streams that cannot change what a command returns.

A reader may leave before the end (`| head -3`), and a stream may be closed from the start (`>&-`). Python raises at
some later write, rich answers a closed pipe with exit code 1, which means safety here, and a closed stream is None. So
the three descriptors are repaired first. Output without a reader is dropped, and the command goes on to its own exit
code. A standard output without room is an error of the environment. Text never controls the terminal: a character that
is not printable is shown by its code (report/visible.py).
"""

import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TextIO

from checker.record.program import program_name
from cluster.cli.options import EXIT_ENVIRONMENT
from report.visible import VisibleStream

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


_STDOUT: Final = 1
_STDERR: Final = 2


class _Writer(io.FileIO):
    """The bytes of a standard stream; after the first failure all output is dropped."""

    def __init__(self, descriptor: int, name: str) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._name = name
        self._is_dropping = False

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write bytes to the stream; raises OSError if the failure has its own exit code."""
        try:
            return memoryview(data).nbytes if self._is_dropping else super().write(data)
        except OSError as error:
            self._is_dropping = True
            if isinstance(error, BrokenPipeError) or self.fileno() == _STDERR:
                return memoryview(data).nbytes
            error.filename = self._name
            raise


def run_on_standard_streams(main: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Run a command line on streams that are open, and return its exit code."""
    _open_closed_descriptors()
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays open
    sys.stdout = _text(_Writer(_STDOUT, "standard output"), sys.stdout)
    sys.stderr = _text(_Writer(_STDERR, "standard error"), sys.stderr)
    try:
        code = main(arguments)
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    try:
        sys.stdout.flush()
    except OSError as error:
        sys.stderr.write(f"{program_name()}: {error.filename}: {error.strerror}\n")
        return EXIT_ENVIRONMENT
    return code


def _open_closed_descriptors() -> None:
    for descriptor in range(_STDERR + 1):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is this stream's; otherwise the next opened file would take its place.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - as the standard library has it


def _text(raw: _Writer, before: TextIO | None) -> TextIO:
    is_lines = raw.fileno() == _STDERR or raw.isatty()
    encoding = "utf-8" if before is None else before.encoding
    # A character outside the encoding is shown by its code too, so that no arrow or file name prevents a verdict.
    return VisibleStream(io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=is_lines)
