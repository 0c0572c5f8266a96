"""The cold replay: genesis and the finalized blocks, executed again by a fresh process that knows nothing else.

    python -m checker.record.cold_replay DIRECTORY [--values-at HEIGHT ...]
    python -m checker.record.cold_replay --serve

The process has no network, no disk of a validator, no memory of the run, and another hash seed. It reads
genesis.msgpack and blocks.msgpack of a run directory, which need not be finished. From its scenario.json it reads the
names of plug-ins, whose programs and policies the blocks may need. It writes its result to standard output as a msgpack
array. It reads no claimed roots except in the headers, which execution checks by itself.

A sweep replays thousands of runs, and most replays take less time than the start of a process. `ColdReplayWorker`
starts a single process and sends it all directories in turn. This process has another hash seed and shares no object
with the runs, but is not fresh for each run.
"""

import argparse
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from checker.record.plugins import load_plugins, plugins_of_record
from checker.record.program import module_process
from checker.record.request_process import ProcessGoneError, RequestProcess, serve_requests
from checker.record.run_directory import DamagedRecordError, read_blocks, read_genesis
from network.plugin_errors import describe_error
from validators.actors import PROGRAMS
from validators.execution import Engine, Executed, Genesis, InvalidBlockError
from validators.execution.blocks import decode_block
from validators.identity import TransactionVerifier


class ColdReplay(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """The result of a cold replay.

    Attributes:
        roots: The state root at each height, genesis first, as far as the replay came.
        values: All values of the state at the requested heights, and at the last height.
        error: The reason why it stopped early; empty when it replayed every block.
    """

    roots: tuple[bytes, ...]
    values: dict[int, dict[bytes, bytes]]
    error: str = ""


class ColdReplayProcessError(Exception):
    """The process gave no result: it was killed or could not start."""

    def __init__(self, returncode: int, message: str) -> None:
        super().__init__(f"the cold replay's process ended with {returncode} and no result: {message}")


class ColdReplayer(Protocol):
    """Replays a run directory in another process: `run_cold_replay` in a fresh process, or a worker's `run`."""

    def __call__(self, directory: Path, hash_seed: int, values_at: Collection[int] = ()) -> ColdReplay:
        """Return the result of the replay."""


class ReplayRequest(msgspec.Struct, frozen=True, array_like=True):
    """A directory to replay, and the heights at which all values are wanted."""

    directory: str
    values_at: tuple[int, ...]


class ColdReplayWorker(RequestProcess):
    """One process that replays one run directory after another; a context manager.

    Args:
        hash_seed: PYTHONHASHSEED of the process.
    """

    def __init__(self, hash_seed: int) -> None:
        super().__init__("checker.record.cold_replay", ["--serve"], hash_seed=hash_seed)

    def run(self, directory: Path, hash_seed: int, values_at: Collection[int] = ()) -> ColdReplay:
        """Replay a run directory, finished or not; see `run_cold_replay`.

        Raises:
            ColdReplayProcessError: The process is gone.
        """
        assert hash_seed == self.hash_seed, f"this worker's hash seed is {self.hash_seed}"
        request = ReplayRequest(str(directory.resolve()), tuple(sorted(values_at)))
        try:
            return msgspec.msgpack.decode(self.ask(msgspec.msgpack.encode(request)), type=ColdReplay)
        except ProcessGoneError as error:
            raise ColdReplayProcessError(error.returncode, "the replay worker is gone") from None


def answer_request(encoded: bytes) -> bytes:
    """Return the encoded replay of an encoded request: the other end of `ColdReplayWorker`."""
    request = msgspec.msgpack.decode(encoded, type=ReplayRequest)
    return msgspec.msgpack.encode(replay_directory(Path(request.directory), request.values_at))


def run_cold_replay(directory: Path, hash_seed: int, values_at: Collection[int] = ()) -> ColdReplay:
    """Replay a run directory, finished or not, in a fresh process of this Python.

    Args:
        directory: Holds genesis.msgpack and blocks.msgpack.
        hash_seed: PYTHONHASHSEED of the process.
        values_at: Heights, besides the last, at which all values are wanted.

    Raises:
        ColdReplayProcessError: There is no result. An invalid block is a result.
    """
    heights = [f"--values-at={height}" for height in sorted(values_at)]
    arguments = [str(directory.resolve()), *heights]
    process = module_process("checker.record.cold_replay", arguments, hash_seed=hash_seed)
    finished = subprocess.run(**process, check=False, capture_output=True)
    try:
        return msgspec.msgpack.decode(finished.stdout, type=ColdReplay)
    except msgspec.DecodeError:
        lines = finished.stderr.decode(errors="replace").strip().splitlines() or ["nothing on standard error"]
        raise ColdReplayProcessError(finished.returncode, lines[-1]) from None


def replay_directory(directory: Path, values_at: Collection[int] = ()) -> ColdReplay:
    """Replay in this process; any error on the way is part of the result."""
    roots: list[bytes] = []
    values: dict[int, dict[bytes, bytes]] = {}
    try:
        for engine in replay_heights(directory):
            roots.append(engine.database.canonical_root)
            if engine.finalized.height in values_at:
                values[engine.finalized.height] = dict(engine.database.items())
    except Exception as error:  # noqa: BLE001 - a replay that breaks is a finding about the chain, whatever broke it
        return ColdReplay(roots=tuple(roots), values=values, error=_explain(error, len(roots)))
    values.setdefault(engine.finalized.height, dict(engine.database.items()))
    return ColdReplay(roots=tuple(roots), values=values)


class ReplayedChain:
    """A cold replay that is given one block after another; any error on the way is part of its result.

    Args:
        genesis: The encoded genesis.
    """

    def __init__(self, genesis: bytes) -> None:
        self._roots: list[bytes] = []
        self._values: dict[int, dict[bytes, bytes]] = {}
        self._error = ""
        self._engine: Engine
        with self._noting_errors():
            decoded = msgspec.msgpack.decode(genesis, type=Genesis)
            self._engine = Engine(decoded, programs=PROGRAMS, verify_transaction=TransactionVerifier())
            self._roots.append(self._engine.database.canonical_root)

    def add(self, block: bytes, values_at: Collection[int] = ()) -> None:
        """Execute and finalize the encoded block of the next height; do nothing after an error."""
        if self._error:
            return
        with self._noting_errors():
            executed = self._engine.execute(decode_block(block))
            self._engine.finalize(executed.digest)
            self._roots.append(self._engine.database.canonical_root)
            self.keep_values(values_at)

    def keep_values(self, values_at: Collection[int]) -> None:
        """Keep all values of the present state, if its height is among these."""
        if not self._error and self._engine.finalized.height in values_at:
            self._values[self._engine.finalized.height] = dict(self._engine.database.items())

    def lacks(self, values_at: Iterable[int]) -> bool:
        """Whether the replay has passed one of these heights without keeping its values."""
        return any(height < len(self._roots) and height not in self._values for height in values_at)

    def result(self) -> ColdReplay:
        """Return the result so far, with the values of the last height unless an error ended the replay."""
        if not self._error:
            self.keep_values([self._engine.finalized.height])
        return ColdReplay(roots=tuple(self._roots), values=self._values, error=self._error)

    @contextmanager
    def _noting_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a replay that breaks is a finding about the chain, whatever broke it
            self._error = _explain(error, len(self._roots))


def replay_heights(directory: Path) -> Iterator[Engine]:
    """Yield one engine at genesis and again after each recorded block, lowest height first.

    Raises:
        DamagedRecordError: The files cannot be read.
        Exception: Errors of decoding and executing, where the chain cannot be replayed.
    """
    engine = open_engine(directory)
    yield engine
    for _ in replay_blocks(directory, engine):
        yield engine


def open_engine(directory: Path) -> Engine:
    """Return an engine at the genesis of a run directory; raises what `replay_heights` raises."""
    load_plugins(plugins_of_record(directory))
    return Engine(load_genesis(directory), programs=PROGRAMS, verify_transaction=TransactionVerifier())


def replay_blocks(directory: Path, engine: Engine) -> Iterator[Executed]:
    """Execute and finalize the recorded blocks, lowest height first, and yield each; raises as `replay_heights`."""
    for record in read_blocks(directory):
        executed = engine.execute(decode_block(record.block))
        engine.finalize(executed.digest)
        yield executed


def load_genesis(directory: Path) -> Genesis:
    """Return the genesis of a run directory; raises DamagedRecordError."""
    try:
        return msgspec.msgpack.decode(read_genesis(directory), type=Genesis)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise DamagedRecordError(directory, "genesis.msgpack", str(error)) from None


def main(arguments: Sequence[str]) -> int:
    """Replay a directory, or with `--serve` one after another, and write the result to standard output."""
    parser = argparse.ArgumentParser(prog="python -m checker.record.cold_replay")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("directory", type=Path, nargs="?")
    what.add_argument("--serve", action="store_true")
    parser.add_argument("--values-at", type=int, action="append", default=[], metavar="HEIGHT")
    options = parser.parse_args(arguments)
    if options.serve:
        serve_requests(sys.stdin.buffer, sys.stdout.buffer, answer_request)
        return 0
    sys.stdout.buffer.write(msgspec.msgpack.encode(replay_directory(options.directory, options.values_at)))
    return 0


def _explain(error: Exception, height: int) -> str:
    if isinstance(error, DamagedRecordError):
        return str(error)
    named = str(error) if isinstance(error, InvalidBlockError) else f"{type(error).__name__}: {error}"
    return f"height {height}: {describe_error(error) or named}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
