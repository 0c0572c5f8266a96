"""A process that answers many requests, because most answers take less time than the start of a process.

Both ends send frames, be4(length) || bytes, on standard input and output. The process ends with its parent, because
its input closes then.
"""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Final, Self

from checker.record.program import module_process


class ProcessGoneError(Exception):
    """The process gave no answer: it was killed or could not start."""

    def __init__(self, module: str, returncode: int) -> None:
        super().__init__(f"the process of {module} ended with {returncode} and no answer")
        self.returncode = returncode


class RequestProcess:
    """One of the project's modules in a process with a hash seed of its own; a context manager."""

    def __init__(self, module: str, arguments: Sequence[str], *, hash_seed: int) -> None:
        self.hash_seed: Final = hash_seed
        self._module = module
        self._process = subprocess.Popen(
            **module_process(module, arguments, hash_seed=hash_seed),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, request: bytes) -> bytes:
        """Return the answer to a request.

        Raises:
            ProcessGoneError: The process is gone.
        """
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None, "the process was started with a pipe to it"
        assert answers is not None, "the process was started with a pipe from it"
        try:
            _write_frame(requests, request)
            return next(_read_frames(answers))
        except (OSError, ValueError, StopIteration):
            self.close()
            raise ProcessGoneError(self._module, self._process.returncode) from None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None, "the process was started with pipes"
            # Closing flushes what a process that is gone never took.
            with suppress(OSError):
                pipe.close()


def serve_requests(requests: IO[bytes], answers: IO[bytes], answer: Callable[[bytes], bytes]) -> None:
    """Answer requests until the input ends: the other end of `RequestProcess`."""
    for request in _read_frames(requests):
        _write_frame(answers, answer(request))


def _write_frame(stream: IO[bytes], payload: bytes) -> None:
    stream.write(len(payload).to_bytes(4, "big") + payload)
    stream.flush()


def _read_frames(stream: IO[bytes]) -> Iterator[bytes]:
    while len(head := stream.read(4)) == 4:
        yield stream.read(int.from_bytes(head, "big"))
