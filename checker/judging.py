"""The judging process: while a run goes on, it replays the final blocks cold and has the oracle execute them.

    python -m checker.judging FILE_DESCRIPTOR

It has no network, no disk of a validator, no memory of the run, and another hash seed. The run appends frames to a file
without a name that both processes have open, and tells the file's length on a pipe. A length that the pipe does not
take is told with a later frame, so a run never waits for its judge before its end. The process ends with its parent,
because its input closes then.

A block is judged once no honest replica can execute another block beside it: all of them have finalized its height. A
replica that has lost its disk can do so all the same. The oracle then begins anew when the run is over.
"""

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from io import BytesIO
from tempfile import TemporaryFile
from typing import IO, Any, Final, TypeAlias

import msgpack  # type: ignore[import-untyped]  # it ships no type information
import msgspec

from checker.oracle.branches import OracleBranch
from checker.oracle.consensus import calls
from checker.oracle.consensus.compare import Comparison
from checker.oracle.consensus.registry import JudgedLife, compare_lives
from checker.oracle.replay import judge_oracle
from checker.record.branches import BlocksByParent
from checker.record.cold_replay import ColdReplay, ColdReplayProcessError, ReplayedChain
from checker.record.final_blocks import FinalBlock, oracle_block
from checker.record.plugins import load_plugins
from checker.record.program import module_process
from checker.record.streams import BranchRecord
from checker.results import CheckResult

LENGTH_BYTES: Final = 8
"""A length on the pipe, big-endian; a pipe takes as few bytes at once or not at all."""

HEAD_BYTES: Final = 4
"""The length before each frame, big-endian."""


class OpeningFrame(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """The first frame: the chain, and what is asked of it.

    Attributes:
        genesis: The encoded genesis.
        plugins: The plug-ins whose programs and policies the blocks may need.
        has_oracle: Whether the oracle is asked.
    """

    genesis: bytes
    plugins: tuple[str, ...]
    has_oracle: bool


class ExecutedFrame(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """A block that a validator executed, whether or not it becomes final."""

    record: BranchRecord


class FinalFrame(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """The final block of the next height."""

    block: FinalBlock


class SettledFrame(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """All honest replicas have finalized this height."""

    height: int


class EngineLife(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """A life of a replica's engine: its number among the replica's lives, its arguments, its calls as in a record."""

    number: int
    me: int
    public_keys: tuple[bytes, ...]
    is_observer: bool
    genesis: bytes
    config: dict[str, Any]
    calls: bytes


class EnginesFrame(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """The run is over, and all lives of its consensus engines have been told."""

    engine: str


class ClosingFrame(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """The last frame: the run is over, and all values at these heights are wanted."""

    values_at: tuple[int, ...]


Frame: TypeAlias = OpeningFrame | ExecutedFrame | FinalFrame | SettledFrame | EngineLife | EnginesFrame | ClosingFrame


class JudgedRun(msgspec.Struct, frozen=True, array_like=True):
    """The cold replay, and where they were asked the oracle's result and the comparisons of the engines."""

    cold: ColdReplay
    oracle: CheckResult | None
    consensus: tuple[Comparison, ...] | None


class JudgingProcess:
    """The run's end of the judging process; a run that ends early closes it.

    Args:
        opening: The chain.
        hash_seed: PYTHONHASHSEED of the process.

    Raises:
        OSError: There is no room for the file, or the process cannot be started.
    """

    def __init__(self, opening: OpeningFrame, hash_seed: int) -> None:
        self._file: Final[IO[bytes]] = TemporaryFile()  # noqa: SIM115 - it stays open until the process is closed
        self._length = 0
        self._is_refused = False
        descriptor = self._file.fileno()
        self._process = subprocess.Popen(
            **module_process("checker.judging", [str(descriptor)], hash_seed=hash_seed),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(descriptor,),
            bufsize=0,
        )
        self._lengths = _descriptor_of(self._process.stdin)
        os.set_blocking(self._lengths, False)
        self.send(opening)

    def send(self, frame: Frame) -> None:
        """Append a frame. A process that is gone or behind does not hinder the run, and neither does a full disk."""
        if self._is_refused:
            return
        encoded = msgspec.msgpack.encode(frame)
        try:
            self._file.write(len(encoded).to_bytes(HEAD_BYTES, "big"))
            self._file.write(encoded)
            self._length += HEAD_BYTES + len(encoded)
            if isinstance(frame, OpeningFrame | SettledFrame | EnginesFrame | ClosingFrame):
                self._file.flush()
                with suppress(BlockingIOError, BrokenPipeError):
                    os.write(self._lengths, self._length.to_bytes(LENGTH_BYTES, "big"))
        except OSError:
            self._is_refused = True

    def result(self, values_at: Collection[int]) -> JudgedRun | None:
        """Return the result, and end the process; None where its file did not take every frame.

        Args:
            values_at: Heights, besides the last, at which all values are wanted.

        Raises:
            ColdReplayProcessError: The process was killed or could not start. An invalid block is a result.
        """
        os.set_blocking(self._lengths, True)
        self.send(ClosingFrame(tuple(sorted(values_at))))
        if self._is_refused:
            self.close()
            return None
        answer, error = self._process.communicate()
        self.close()
        try:
            return msgspec.msgpack.decode(answer, type=JudgedRun)
        except msgspec.DecodeError:
            lines = error.decode(errors="replace").strip().splitlines() or ["nothing on standard error"]
            raise ColdReplayProcessError(self._process.returncode, lines[-1]) from None

    def close(self) -> None:
        """End the process, whatever it is about."""
        self._process.kill()
        self._process.wait()
        # Closing writes what a full disk has not taken.
        with suppress(OSError):
            self._file.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


def _descriptor_of(pipe: IO[bytes] | None) -> int:
    assert pipe is not None, "the process was started with a pipe to it"
    return pipe.fileno()


class _Judge:
    """The frames of a run, judged as they come."""

    def __init__(self, descriptor: int, lengths: IO[bytes]) -> None:
        self._descriptor = descriptor
        self._lengths = lengths
        self._executed = BlocksByParent()
        self._asked: dict[bytes, None] = {}
        self._is_late = False
        self._chain: ReplayedChain
        self._values_at: tuple[int, ...] = ()
        self._lives: list[int] = []
        """The places of the engines' lives: one at a time is in memory."""
        self._consensus: tuple[Comparison, ...] | None = None
        self._decode = msgspec.msgpack.Decoder(Frame).decode

    def judge(self) -> JudgedRun:
        """Return the result, once the run is over."""
        frames = self._told()
        _, opening = next(frames)
        assert isinstance(opening, OpeningFrame), f"the first frame opens the chain; got {opening!r}"
        load_plugins(opening.plugins)
        self._chain = ReplayedChain(opening.genesis)
        blocks = self._replayed(frames)
        oracle = None
        if opening.has_oracle:
            oracle = judge_oracle(opening.genesis, map(oracle_block, blocks), self._executed_on)
        # The oracle stops at the first difference, the replay goes on.
        deque(blocks, maxlen=0)
        if opening.has_oracle and self._is_late:
            oracle = judge_oracle(opening.genesis, map(oracle_block, self._final_again()), self._executed.on)
        if self._chain.lacks(self._values_at):
            self._chain = ReplayedChain(opening.genesis)
            for block in self._final_again():
                self._chain.add(block.encoded, self._values_at)
        return JudgedRun(self._chain.result(), oracle, self._consensus)

    def _replayed(self, frames: Iterator[tuple[int, Frame]]) -> Iterator[FinalBlock]:
        """Yield the final blocks that are settled, each replayed before; wait for the run."""
        pending: deque[FinalBlock] = deque()
        settled = 0
        for place, frame in frames:
            match frame:
                case ExecutedFrame(record):
                    self._is_late = self._is_late or record.parent in self._asked
                    self._executed.add(record, partial(self._block_at, place))
                case FinalFrame(block):
                    pending.append(block)
                case SettledFrame(height):
                    settled = height
                case EngineLife():
                    self._lives.append(place)
                case EnginesFrame(engine):
                    self._consensus = tuple(compare_lives(engine, map(self._life_at, self._lives)))
                case ClosingFrame(values_at):
                    self._values_at = values_at
                    self._chain.keep_values(values_at)
                    settled = pending[-1].height if pending else settled
            while pending and pending[0].height <= settled:
                block = pending.popleft()
                self._chain.add(block.encoded, self._values_at)
                yield block

    def _executed_on(self, parent: bytes) -> Iterator[OracleBranch]:
        self._asked[parent] = None
        return self._executed.on(parent)

    def _block_at(self, place: int) -> bytes:
        _, frame = next(self._read(place))
        assert isinstance(frame, ExecutedFrame), f"no executed block stands at {place}"
        return frame.record.block

    def _life_at(self, place: int) -> JudgedLife:
        _, life = next(self._read(place))
        assert isinstance(life, EngineLife), f"no life of an engine stands at {place}"
        arguments = calls.Life(life.me, life.public_keys, life.is_observer, life.genesis, life.config)
        return JudgedLife(life.number, arguments, _timed(life.calls))

    def _told(self) -> Iterator[tuple[int, Frame]]:
        """Yield each frame with its place, as the run tells of them; wait for the run, and end with a run that died."""
        place = 0
        while len(told := self._lengths.read(LENGTH_BYTES)) == LENGTH_BYTES:
            for start, frame in self._read(place, int.from_bytes(told, "big")):
                yield start, frame
                if isinstance(frame, ClosingFrame):
                    return
            place = max(place, int.from_bytes(told, "big"))
        sys.exit(1)

    def _read(self, place: int, end: int = sys.maxsize) -> Iterator[tuple[int, Frame]]:
        """Yield the frames from a place on, each with its place."""
        while place < end and (head := os.pread(self._descriptor, HEAD_BYTES, place)):
            length = int.from_bytes(head, "big")
            yield place, self._decode(os.pread(self._descriptor, length, place + HEAD_BYTES))
            place += HEAD_BYTES + length

    def _final_again(self) -> Iterator[FinalBlock]:
        """Yield every final block once more, from the first on."""
        return (frame.block for _, frame in self._read(0) if isinstance(frame, FinalFrame))


def _timed(encoded: bytes) -> Iterator[tuple[int, calls.Call]]:
    for at_us, _, name, _, _, *fields in msgpack.Unpacker(BytesIO(encoded), max_buffer_size=0):
        yield at_us, calls.untagged([name, *fields])


def main(descriptor: int) -> int:
    """Judge the run that writes to an open file, and write the result to standard output."""
    # A person's interrupt goes to both processes, and the run decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    judged = _Judge(descriptor, sys.stdin.buffer).judge()
    sys.stdout.buffer.write(msgspec.msgpack.encode(judged))
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
