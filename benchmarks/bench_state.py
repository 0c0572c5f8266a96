"""Time per update and delete of the state, roots included, beside the bare hash calls of the same commits.

Each block is a batch: opened, written, merkleized, asked for its canonical root and applied. Its hash calls are
recorded and then hashed by themselves, in the same process and in turns with the blocks. The least of several rounds
counts.

Merkleizing takes most of a large block. Among many keys small blocks look up nodes in dicts larger than the
processor's caches, which the bare hashes do not. Two thirds of a rewind put locations back into the index.

    python -m benchmarks.bench_state [--trie-keys 1000000]

HexaryTrie takes 300 us for each key, so it is built with 10,000 keys unless the option asks for more.
"""

import argparse
import gc
import random  # noqa: TID251 - the load of a benchmark is no part of a run
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeAlias

from trie.hexary import HexaryTrie

from benchmarks.figures import DETAIL, head_line
from validators.state import Database, activity, mmr, tree

Print: TypeAlias = Callable[[str], None]
Writes: TypeAlias = dict[bytes, bytes | None]

_KEYS: Final = (10_000, 100_000, 1_000_000)
_BLOCKS: Final = (100, 1_000, 10_000)
_UPDATES_PER_FIGURE: Final = 10_000
_SETTLING_SHARE: Final = 2
_GENESIS_BATCH: Final = 50_000
_REWOUND_BLOCKS: Final = 10
_TRIE_KEYS: Final = 10_000
_TRIE_BLOCK: Final = 10_000
_DROPS: Final = 200
_ROUNDS_MIN: Final = 4

_RATIO_MAX: Final = 4.0
_GROWTH_MAX: Final = 1.2
_TRIE_GAIN_MIN: Final = 50.0
_REWIND_MS_MAX: Final = 10.0


def run(show: Print = print, trie_keys: int = _TRIE_KEYS) -> None:
    """Print the figures for 10^4, 10^5 and 10^6 keys and blocks of 100, 1,000 and 10,000 updates, and the targets."""
    show("state, ns per update with both roots       ns   hashes   bare ns   ratio   any root   per delete   ratio")
    ratios: dict[int, list[float]] = {block: [] for block in _BLOCKS}
    rewinds: list[float] = []
    update_ns: dict[int, int] = {}
    for count in _KEYS:
        bench, detail = StateBench(count), DETAIL * (count != _KEYS[-1])
        for block in _BLOCKS:
            figures = bench.measure(block)
            ratios[block].append(figures.ratio)
            update_ns[count] = figures.update_ns
            missed = _judge(figures.ratio, _RATIO_MAX, "x")
            show(f"  {count:9,d} keys, blocks of {block:6,d}  {figures.line}{missed}{detail}")
        rewind_ms, line = bench.measure_rewind()
        rewinds.append(rewind_ms)
        show(f"  {count:9,d} keys: {line}{detail}")
        show(f"  {count:9,d} keys: {bench.measure_drop()}; {bench.measure_memory()}{detail}")
        if count == trie_keys:
            show(f"  {_measure_trie(count, update_ns[count])}")
        del bench
        gc.collect()
    growths = [last / first for first, *_, last in ratios.values()]
    for block, growth in zip(ratios, growths, strict=True):
        show(f"  blocks of {block:6,d}: the ratio grows {growth:.2f}x over the keys{_judge(growth, _GROWTH_MAX, 'x')}")
    every = [ratio for each in ratios.values() for ratio in each]
    is_missed = max(every) > _RATIO_MAX or max(growths) > _GROWTH_MAX or max(rewinds) > _REWIND_MS_MAX
    text = f"{min(every):.1f} to {max(every):.1f} times; {max(growths):.2f} times; {max(rewinds):.1f} ms"
    show(head_line("state", text, is_missed=is_missed))


def _judge(figure: float, limit: float, unit: str) -> str:
    """Return a note that a target is missed, or an empty string."""
    return f"   MISSED: at most {limit:g}{unit}" if figure > limit else ""


class Figures(NamedTuple):
    """The result for one block size: ns per update, its ratio to the bare hash calls, and the line to print."""

    update_ns: int
    ratio: float
    line: str


class Recorder:
    """Stands for sha256 in the state's modules and keeps each preimage."""

    def __init__(self) -> None:
        self.preimages: list[bytes] = []

    def __call__(self, preimage: bytes) -> object:
        """Keep the preimage and hash it."""
        self.preimages.append(preimage)
        return sha256(preimage)


@contextmanager
def recording() -> Iterator[list[bytes]]:
    """Record the preimages that the state hashes."""
    recorder = Recorder()
    modules: tuple[Any, ...] = (mmr, tree, activity)
    for module in modules:
        module.sha256 = recorder
    try:
        yield recorder.preimages
    finally:
        for module in modules:
            module.sha256 = sha256


class StateBench:
    """A database of `count` keys, and the load on it."""

    def __init__(self, count: int) -> None:
        self.draws = random.Random(count)
        self.keys = [sha256(number.to_bytes(8, "big")).digest() for number in range(count)]
        self.database = Database(retain=_REWOUND_BLOCKS)
        for start in range(0, count, _GENESIS_BATCH):
            self.commit({key: self.make_value() for key in self.keys[start : start + _GENESIS_BATCH]})
        # A database that was only ever filled has no inactive operations; some time makes it typical.
        for _ in range(max(1, count // _SETTLING_SHARE // 10_000)):
            self.commit(self.make_updates(min(count // 2, 10_000)))
        self.database.prune()
        _ = self.database.canonical_root
        gc.collect()
        gc.freeze()

    def make_value(self) -> bytes:
        """Return 32 bytes that were not used before."""
        return self.draws.randbytes(32)

    def make_updates(self, block: int) -> Writes:
        """Return a block of updates of keys drawn evenly."""
        return {key: self.make_value() for key in self.draws.sample(self.keys, block)}

    def commit(self, writes: Writes, *, canonical: bool = False) -> None:
        """Run one block from the writes to the committed tip."""
        batch = self.database.batch()
        write = batch.write
        for key, value in writes.items():
            write(key, value)
        batch.merkleize()
        if canonical:
            _ = batch.canonical_root
        self.database.apply(batch)

    def measure(self, block: int) -> Figures:
        """Return the figures of one block size."""
        rounds = max(_ROUNDS_MIN, _UPDATES_PER_FIGURE // block)
        blocks = [self.make_updates(block) for _ in range(rounds)]
        update_ns, bare_ns, hashes = self._time_blocks(blocks)
        deletes: list[tuple[int, int, int]] = []
        for _ in range(rounds):
            doomed = self.draws.sample(self.keys, block)
            deletes.append(self._time_blocks([dict.fromkeys(doomed)]))
            self.commit({key: self.make_value() for key in doomed})
        delete_ns, delete_bare_ns = (min(figures[part] for figures in deletes) for part in (0, 1))
        plain_ns = self._time_any_root([self.make_updates(block) for _ in range(rounds)])
        self.database.prune()
        line = (
            f"{update_ns // block:8,d}{hashes / (rounds * block):9.2f}{bare_ns // block:10,d}"
            f"{update_ns / bare_ns:7.2f}x{plain_ns // block:11,d}{delete_ns // block:13,d}"
            f"{delete_ns / delete_bare_ns:7.2f}x"
        )
        return Figures(update_ns // block, update_ns / bare_ns, line)

    def _time_blocks(self, blocks: list[Writes]) -> tuple[int, int, int]:
        """Return the time of a block, that of its bare hash calls, and how many hash calls all blocks make."""
        spent_ns: list[int] = []
        bare_ns: list[int] = []
        hashes = 0
        for writes in blocks:
            # Timed before it is recorded: in the other order it would find its keys in the processor's cache.
            spent_ns.append(_time(partial(self.commit, writes, canonical=True)))
            self.database.rewind(1)
            _ = self.database.canonical_root
            with recording() as preimages:
                self.commit(writes, canonical=True)
            bare_ns.append(_time(partial(hash_all, preimages)))
            hashes += len(preimages)
        return min(spent_ns), min(bare_ns), hashes

    def _time_any_root(self, blocks: list[Writes]) -> int:
        """Return the time of a block on a database that never was asked for its canonical root."""
        store = self.database._store  # noqa: SLF001 - there is no public way back to the state before the request
        store.activity = None
        spent_ns: list[int] = []
        for writes in blocks:
            spent_ns.append(_time(partial(self.commit, writes)))
            self.database.rewind(1)
        _ = self.database.canonical_root
        return min(spent_ns)

    def measure_rewind(self) -> tuple[float, str]:
        """Return the milliseconds that taking back blocks of 1,000 updates takes, best of 3, and the line to print."""
        rewind_ns: list[int] = []
        root_ns: list[int] = []
        for _ in range(3):
            for _ in range(_REWOUND_BLOCKS):
                self.commit(self.make_updates(1_000), canonical=True)
            rewind_ns.append(_time(partial(self.database.rewind, _REWOUND_BLOCKS)))
            root_ns.append(_time(lambda: self.database.canonical_root))
        rewind_ms = min(rewind_ns) / 1e6
        return rewind_ms, (
            f"{_REWOUND_BLOCKS} blocks of 1,000 rewound in {rewind_ms:.1f} ms, canonical root then in "
            f"{min(root_ns) / 1e6:.1f} ms{_judge(rewind_ms, _REWIND_MS_MAX, ' ms')}"
        )

    def measure_drop(self) -> str:
        """Return the time that dropping a batch with its root takes, for a small one and a large one."""
        times: list[str] = []
        for block in (_BLOCKS[0], _BLOCKS[-1]):
            spent_ns: list[int] = []
            writes = self.make_updates(block)
            for _ in range(max(1, _DROPS * _BLOCKS[0] // block)):
                batch = self.database.batch()
                for key, value in writes.items():
                    batch.write(key, value)
                batch.merkleize()
                _ = batch.canonical_root
                spent_ns.append(_time(batch.drop))
            times.append(f"{block:,d} updates in {min(spent_ns) / 1e3:.1f} us")
        return f"batch dropped, {', '.join(times)}"

    def measure_memory(self) -> str:
        """Return the bytes held per key: log, tree, flags, index, bitmap and grafted tree."""
        store = self.database._store  # noqa: SLF001 - sizes of what the database holds are no other module's business
        held = sys.getsizeof(store.log) + sum(map(sys.getsizeof, store.log)) + sys.getsizeof(store.flags)
        held += sum(map(sys.getsizeof, store.levels.rows)) + sys.getsizeof(store.locations)
        held += sum(sys.getsizeof(key) + sys.getsizeof(location) for key, location in store.locations.items())
        for row in store.require_activity().rows:
            held += sys.getsizeof(row) + sum(map(sys.getsizeof, row.values()))
        return (
            f"{held // len(self.keys):,d} bytes per key, {len(store.log) / len(self.keys):.2f} operations kept per key"
        )


def _measure_trie(count: int, update_ns: int) -> str:
    """Return the time per update of the hexary trie from PyPI beside that of the state with as many keys."""
    trie = HexaryTrie(db={})
    keys = [sha256(number.to_bytes(8, "big")).digest() for number in range(count)]
    for start in range(0, count, _TRIE_BLOCK):
        _update_trie(trie, {key: key for key in keys[start : start + _TRIE_BLOCK]})
    drawn = random.Random(count).sample(keys, _TRIE_BLOCK)
    trie_ns = _time(partial(_update_trie, trie, {key: key[::-1] for key in drawn})) // len(drawn)
    gain = trie_ns / update_ns
    missed = f"   MISSED: at least {_TRIE_GAIN_MIN:g}x" if gain < _TRIE_GAIN_MIN else ""
    return (
        f"HexaryTrie, blocks of {_TRIE_BLOCK:,d} at {count:,d} keys: {trie_ns:,d} ns per update, "
        f"{gain:.0f} times the state's {update_ns:,d}{missed}"
    )


def _update_trie(trie: HexaryTrie, writes: Mapping[bytes, bytes]) -> None:
    with trie.squash_changes() as batch:
        for key, value in writes.items():
            batch[key] = value


def hash_all(preimages: list[bytes]) -> None:
    """Make the bare hash calls."""
    digest_of = sha256
    for preimage in preimages:
        digest_of(preimage).digest()


def _time(work: Callable[[], object]) -> int:
    # The process's own time: the machine is shared, and what others do is no property of the state.
    start_ns = time.process_time_ns()
    work()
    return time.process_time_ns() - start_ns


def main() -> None:
    """Run with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trie-keys", type=int, choices=_KEYS, default=_TRIE_KEYS)
    run(trie_keys=parser.parse_args().trie_keys)


if __name__ == "__main__":
    main()
