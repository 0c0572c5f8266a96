"""A process of an application, which is a life of a replica: launch, single requests, limits, death.

A call ends with an answer or with `ApplicationLostError`: the process has hung, died, broken a frame, answered another
request, or grown beyond its limits. Then it is killed with its whole process group. Nothing is read ahead: a second
answer shows at the next call as an answer to another request, whenever its bytes came.
"""

import os
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from checker.record.errors import ReportedError
from cluster.outside.frames import FRAMINGS, FrameError, Framing, Value, shown
from cluster.outside.system.measures import count_group, processor_seconds, resident_bytes
from cluster.outside.system.sandbox import WRAPPERS, end_namespace, main_process, sandboxed

CALL_TIMEOUT_MS: Final = 10_000
"""Time for an answer, by the wall clock, unless a scenario says otherwise."""

RESIDENT_BYTES_MAX: Final = 2 * 1024**3
"""Most memory that the main process of an application may hold."""

PROCESSES_MAX: Final = 64
"""Most processes in the group of an application."""

STDERR_BYTES_KEPT: Final = 512 * 1024
"""Bytes that are kept of the beginning and of the end of standard error, each."""

_CALLS_BETWEEN_LOOKS: Final = 16
"""Calls between two readings of a process' memory: each costs about as much as a call."""

_LOOKS_BETWEEN_COUNTS: Final = 16
"""Memory readings between two counts of the processes of a group, which read the whole of /proc."""

_KILLED_IN_SANDBOX: Final = 128
"""The sandbox's exit status for a signal that killed its command: this number plus the signal."""

_READ_BYTES: Final = 256 * 1024


class LaunchError(ReportedError):
    """A command that cannot be started, which is bad input."""


class ApplicationLostError(Exception):
    """The application gave no usable answer.

    Attributes:
        request: The number of the request in this life, from 1 on.
        call: Its name.
        reason: A sentence on the found and the expected behaviour.
    """

    def __init__(self, request: int, call: str, reason: str) -> None:
        super().__init__(f"request {request}, `{call}`: {reason}")
        self.request = request
        self.call = call
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The way to start an application.

    Attributes:
        command: Program and arguments; never given to a shell.
        folder: The working directory.
        framing: The form of the frames.
        call_timeout_ms: Time for each answer, by the wall clock.
        hash_seed: The seed of the hashes of a Python process.
        timezone: The time zone.
    """

    command: tuple[str, ...]
    folder: Path
    framing: Framing = FRAMINGS["json"]
    call_timeout_ms: int = CALL_TIMEOUT_MS
    hash_seed: int = 0
    timezone: str = "UTC"

    def environment(self, directory: Path) -> dict[str, str]:
        """Return all variables of the process: variables that differ between machines would show in its answers."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": str(self.hash_seed),
            "TZ": self.timezone,
        }


def launch_of(text: str, folder: Path, framing: Framing, call_timeout_ms: int = CALL_TIMEOUT_MS) -> Launch:
    """Return the launch of a command line, split as a shell would split it.

    Raises:
        LaunchError: The text is empty or has an open quote, or its program does not exist or cannot be run.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise LaunchError(f"{text!r} is no command: {error}") from None
    return launch_words(words, folder, framing, call_timeout_ms)


def launch_words(words: list[str], folder: Path, framing: Framing, call_timeout_ms: int = CALL_TIMEOUT_MS) -> Launch:
    """Return the launch of a command; raises LaunchError if its program does not exist or cannot be run."""
    if not words:
        raise LaunchError("the command of the application is empty: give a program and its arguments")
    first = words[0]
    place = str(folder / first) if os.sep in first else first
    program = shutil.which(place)
    if program is None:
        where = f"there is no program {place}" if os.sep in first else f"PATH has no program {first!r}"
        raise LaunchError(f"{where}, or it cannot be run")
    return Launch(
        command=(str(Path(program).absolute()), *words[1:]),
        folder=folder.absolute(),
        framing=framing,
        call_timeout_ms=call_timeout_ms,
    )


@dataclass(slots=True)
class KeptOutput:
    """The beginning and the end of a long output."""

    first: bytearray = field(default_factory=bytearray)
    last: bytearray = field(default_factory=bytearray)
    left_out: int = 0

    def add(self, content: bytes) -> None:
        """Add new output."""
        room = STDERR_BYTES_KEPT - len(self.first)
        self.first += content[:room]
        self.last += content[room:] if room < len(content) else b""
        too_many = len(self.last) - STDERR_BYTES_KEPT
        if too_many > 0:
            del self.last[:too_many]
            self.left_out += too_many

    def whole(self) -> bytes:
        """Return all kept output, with a line that gives the number of omitted bytes."""
        gap = f"\n[{self.left_out:,} bytes are left out]\n".encode() if self.left_out else b""
        return bytes(self.first + gap + self.last)

    def tail(self, lines: int = 3) -> str:
        """Return the last lines as text for a message."""
        said = bytes(self.last or self.first)[-8_000:].decode(errors="replace").strip().splitlines()
        # Some runtimes name the error first and end with a trace or with their own name.
        errors = [line.strip() for line in said[:-lines] if "Error" in line]
        return " / ".join([*errors[-1:], *said[-lines:]])


class ApplicationProcess:
    """A process that is alive from the start on until `kill` or `close`, or until it is lost.

    Args:
        launch: The way to start it.
        directory: Its own directory, which is its HOME; with a sandbox the only place where it can write.

    Raises:
        LaunchError: The system refuses to start it.
    """

    def __init__(self, launch: Launch, directory: Path) -> None:
        from cluster.outside.system.guardian import GUARDIAN  # noqa: PLC0415 - its child begins with the first one

        self._guardian = GUARDIAN
        self.launch: Final = launch
        self.requests = 0
        self.stderr: Final = KeptOutput()
        self._buffer = bytearray()
        self._is_over = False
        command = sandboxed(launch.command, launch.folder, directory)
        self._is_wrapped = command != launch.command
        self._main = 0
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command, and no shell
                command,
                cwd=launch.folder,
                env=launch.environment(directory),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                # A group of its own: a kill reaches its children too, and an interrupt from the keyboard does not.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise LaunchError(f"{shlex.join(launch.command)}: it does not start: {error}") from error
        self._guardian.watch(self._process.pid)
        self._stdin, self._stdout, self._stderr = map(
            _not_blocking, (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)

    @property
    def is_alive(self) -> bool:
        """Whether it has not been killed, closed or lost."""
        return not self._is_over

    def call(self, name: str, fields: Mapping[str, Value]) -> dict[str, object]:
        """Send a request and return the whole answer.

        Raises:
            ApplicationLostError: No usable answer came; the process is killed.
            FrameError: The request is too long; nothing was sent.
        """
        answer = self.exchange(name, fields)
        if "error" in answer:
            # A FrameError cuts a long text.
            raise self.lose(name, str(FrameError(f"the application answers with the error {answer['error']!r}")))
        return answer

    def exchange(self, name: str, fields: Mapping[str, Value]) -> dict[str, object]:
        """Send a request and return the whole answer, which may be an `error`; raises as `call` does."""
        number = self.requests + 1
        frame = self.launch.framing.encode({"n": number, "call": name, **fields})
        self.requests = number
        try:
            answer = self._exchange(frame)
            _check_number(answer, number)
            self._look_at_limits()
        except FrameError as error:
            raise self.lose(name, str(error)) from None
        return answer

    def lose(self, name: str, reason: str) -> ApplicationLostError:
        """Kill it, and return the error with the reason why its answer to the last request is unusable."""
        self.kill()
        return ApplicationLostError(self.requests, name, reason)

    def processor_seconds(self) -> float:
        """Return the processor time that it has used so far; 0 if the system does not give it."""
        return processor_seconds(self._main_process())

    def _main_process(self) -> int:
        """Return its own process, which runs below the sandbox's processes."""
        own = self._process.pid
        if self._main in (0, own):
            self._main = main_process(own) if self._is_wrapped else own
        return self._main

    def kill(self) -> None:
        """Kill it with its group, and wait until it is gone."""
        if not self._is_over:
            self._end()

    def close(self) -> None:
        """End its standard input, give it the time of a call to end, and kill the rest of its group."""
        if not self._is_over:
            with suppress(OSError):
                self._stdin.close()
            deadline = time.monotonic() + self.launch.call_timeout_ms / 1_000  # noqa: TID251 - a foreign process
            while self._process.poll() is None and self._drain(deadline):
                pass
            self._end()

    def _end(self) -> None:
        self._is_over = True
        if self._is_wrapped:
            end_namespace(self._process)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._guardian.forget(self._process.pid)
        self._take_stderr()
        self._selector.close()
        for stream in (self._stdin, self._stdout, self._stderr):
            with suppress(OSError):
                stream.close()

    def _exchange(self, frame: bytes) -> dict[str, object]:
        """Write a frame and return the content of the answer's frame."""
        deadline = time.monotonic() + self.launch.call_timeout_ms / 1_000  # noqa: TID251 - a foreign process
        left = memoryview(frame)
        # Most requests fit into the pipe: the selector watches standard input only for a longer request.
        left = self._write(left)
        if left:
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        try:
            while (answer := self.launch.framing.take(self._buffer)) is None:
                left = self._wait(left, deadline)
        finally:
            if self._stdin in self._selector.get_map():
                self._selector.unregister(self._stdin)
        if left:
            raise FrameError(f"an answer came before the request of {len(frame):,} bytes was read")
        return answer

    def _wait(self, left: memoryview, deadline: float) -> memoryview:
        """Wait until bytes can be written or read, and return the bytes that are left to write."""
        seconds = deadline - time.monotonic()  # noqa: TID251 - a foreign process
        ready = self._selector.select(max(seconds, 0))
        if not ready and seconds <= 0:
            came = f"; {len(self._buffer):,} bytes came that are no whole frame" if self._buffer else ""
            raise FrameError(f"no answer came in {self.launch.call_timeout_ms:,} ms{came}{self._with_tail()}")
        for key, _ in ready:
            if key.fileobj is self._stdin:
                left = self._write(left)
                if not left:
                    self._selector.unregister(self._stdin)
            elif key.fileobj is self._stderr:
                self._take_stderr()
            else:
                self._take_stdout()
        return left

    def _write(self, left: memoryview) -> memoryview:
        try:
            return left[self._stdin.write(left) or 0 :]
        except BlockingIOError:
            return left
        except OSError:
            # It reads no more; standard output shows whether an answer came nevertheless.
            return memoryview(b"")

    def _drain(self, deadline: float) -> bool:
        """Discard output for a moment; return False when the deadline is over."""
        seconds = deadline - time.monotonic()  # noqa: TID251 - a foreign process
        for key, _ in self._selector.select(min(max(seconds, 0), 0.02)):
            if key.fileobj is self._stderr:
                self._take_stderr()
            elif _read(self._stdout) == b"":
                self._selector.unregister(self._stdout)
        return seconds > 0

    def _take_stdout(self) -> None:
        content = _read(self._stdout)
        if content == b"":
            raise FrameError(self._describe_death())
        self._buffer += content or b""

    def _take_stderr(self) -> None:
        while content := _read(self._stderr):
            self.stderr.add(content)
        if content == b"" and self._stderr in self._selector.get_map():
            self._selector.unregister(self._stderr)

    def _describe_death(self) -> str:
        """Return how it ended, after its standard output ended."""
        try:
            status = self._process.wait(0.2)
        except subprocess.TimeoutExpired:
            return f"its standard output ended{self._with_tail()}"
        if self._is_wrapped and status - _KILLED_IN_SANDBOX in {*signal.Signals}:
            status = _KILLED_IN_SANDBOX - status
        if status < 0:
            return f"it was killed by {signal.Signals(-status).name}{self._with_tail()}"
        return f"it ended with exit status {status}{self._with_tail()}"

    def _with_tail(self) -> str:
        self._take_stderr()
        tail = self.stderr.tail()
        return f"; standard error ends with {shown(tail.encode())}" if tail else ""

    def _look_at_limits(self) -> None:
        if self.requests % _CALLS_BETWEEN_LOOKS:
            return
        resident = resident_bytes(self._main_process())
        if resident > RESIDENT_BYTES_MAX:
            raise FrameError(f"it holds {resident:,} bytes of memory, at most {RESIDENT_BYTES_MAX:,} are allowed")
        if self.requests % (_CALLS_BETWEEN_LOOKS * _LOOKS_BETWEEN_COUNTS) == 0:
            count = count_group(self._process.pid) - (WRAPPERS if self._is_wrapped else 0)
            if count > PROCESSES_MAX:
                raise FrameError(f"its group has {count} processes, at most {PROCESSES_MAX} are allowed")


def _check_number(answer: Mapping[str, object], number: int) -> None:
    found = answer.get("n")
    # By its type: 1.0 and True equal 1 as well.
    if type(found) is not int or found != number:
        raise FrameError(f"the answer has n = {found!r}, {number} was expected")


def _not_blocking(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "all three were asked for"
    os.set_blocking(stream.fileno(), False)
    return stream


def _read(stream: IO[bytes]) -> bytes | None:
    """Return the received bytes; b"" at the end of a stream, None if nothing has come yet."""
    try:
        return os.read(stream.fileno(), _READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""
