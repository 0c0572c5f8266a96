"""The cold replay: genesis and the finalized blocks, executed again by a fresh process that knows nothing else.

    python -m checker.cold_replay DIRECTORY [--values-at HEIGHT ...]

The process has no network, no disk of a validator and no memory of the run, and another hash seed; it reads
genesis.msgpack and blocks.msgpack of a run directory, which need not be finished, and writes its result to standard
output as one msgpack array. It does not look at roots that anybody claims, except those in the headers, which execution
checks by itself.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final, final

import msgspec

from checker.record import DamagedRecordError, read_blocks, read_genesis
from validators.actors import PROGRAMS
from validators.execution import Engine, Genesis
from validators.execution.blocks import decode_block
from validators.identity import TransactionVerifier

ROOT_DIRECTORY: Final = Path(__file__).resolve().parent.parent
"""Where the process is started, so that the packages are found."""


@final
class ColdReplay(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What a cold replay came to.

    Attributes:
        roots: The state root at each height, genesis first, as far as the replay came.
        values: All values of the state at the heights that were asked for, and at the last one.
        error: Why it came no further; empty when it replayed every block.
    """

    roots: tuple[bytes, ...]
    values: dict[int, dict[bytes, bytes]]
    error: str = ""


class ColdReplayProcessError(Exception):
    """The process gave no result: it was killed or could not start."""

    def __init__(self, returncode: int, message: str) -> None:
        super().__init__(f"the cold replay's process ended with {returncode} and no result: {message}")


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
    finished = subprocess.run(  # noqa: S603 - our own interpreter and module, no shell
        [sys.executable, "-m", "checker.cold_replay", str(directory.resolve()), *heights],
        check=False,
        capture_output=True,
        cwd=ROOT_DIRECTORY,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
    )
    try:
        return msgspec.msgpack.decode(finished.stdout, type=ColdReplay)
    except msgspec.DecodeError:
        lines = finished.stderr.decode(errors="replace").strip().splitlines() or ["nothing on standard error"]
        raise ColdReplayProcessError(finished.returncode, lines[-1]) from None


def replay_directory(directory: Path, values_at: Collection[int] = ()) -> ColdReplay:
    """Replay in this process; whatever goes wrong on the way is told in the result."""
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


def replay_heights(directory: Path) -> Iterator[Engine]:
    """Yield one engine at genesis and again after each recorded block, lowest height first.

    Raises:
        DamagedRecordError: The files cannot be read.
        Exception: What decoding and executing raise, where the chain cannot be replayed.
    """
    engine = Engine(load_genesis(directory), programs=PROGRAMS, verify_transaction=TransactionVerifier())
    yield engine
    for record in read_blocks(directory):
        executed = engine.execute(decode_block(record.block))
        engine.finalize(executed.digest)
        yield engine


def load_genesis(directory: Path) -> Genesis:
    """Return the genesis of a run directory; raises DamagedRecordError."""
    try:
        return msgspec.msgpack.decode(read_genesis(directory), type=Genesis)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise DamagedRecordError(directory, "genesis.msgpack", str(error)) from None


def main(arguments: Sequence[str]) -> int:
    """Replay a directory and write the result to standard output."""
    parser = argparse.ArgumentParser(prog="python -m checker.cold_replay")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--values-at", type=int, action="append", default=[], metavar="HEIGHT")
    options = parser.parse_args(arguments)
    sys.stdout.buffer.write(msgspec.msgpack.encode(replay_directory(options.directory, options.values_at)))
    return 0


def _explain(error: Exception, height: int) -> str:
    if isinstance(error, DamagedRecordError):
        return str(error)
    return f"height {height}: {type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
