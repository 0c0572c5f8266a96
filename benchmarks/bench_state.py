"""Time per update and delete of the state, roots included, beside the bare hash calls of the same commits.

Each block is a batch that is opened, written, merkleized, asked for its canonical root and applied. The hash calls are
recorded while an equal block runs on an equal database: every preimage, floor raise and grafted paths included. They
are then hashed again by themselves, in the same process and in turns with the blocks. The ratio of the two times is
what the design sets a target for.
"""

from __future__ import annotations

import gc
import random  # noqa: TID251 - the load of a benchmark is no part of a run
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import Any, Final, TypeAlias

from validators.state import Database, activity, mmr, tree

Print: TypeAlias = Callable[[str], None]
Writes: TypeAlias = dict[bytes, bytes | None]

_KEYS: Final = (10_000, 100_000, 1_000_000)
_BLOCKS: Final = (100, 1_000, 10_000)
_UPDATES_PER_FIGURE: Final = 20_000
_SETTLING_SHARE: Final = 2
_GENESIS_BATCH: Final = 50_000
_REWOUND_BLOCKS: Final = 10


def run(show: Print = print) -> None:
    """Print the figures for 10^4, 10^5 and 10^6 keys and blocks of 100, 1,000 and 10,000 updates."""
    show("state, ns per update with both roots       ns   hashes   bare ns   ratio   any root   per delete   ratio")
    for count in _KEYS:
        bench = StateBench(count)
        for block in _BLOCKS:
            show(f"  {count:9,d} keys, blocks of {block:6,d}  {bench.measure(block)}")
        show(f"  {count:9,d} keys: {bench.measure_rewind()}; {bench.measure_memory()}")
        del bench
        gc.collect()
    show(f"  {_measure_trie()}")


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
    """Record what the state hashes."""
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

    def measure(self, block: int) -> str:
        """Return the figures of one block size."""
        rounds = max(3, _UPDATES_PER_FIGURE // block)
        blocks = [self.make_updates(block) for _ in range(rounds)]
        update_ns, bare_ns, hashes = self._time_blocks(blocks)
        deletes: list[tuple[int, int, int]] = []
        for _ in range(rounds):
            doomed = self.draws.sample(self.keys, block)
            deletes.append(self._time_blocks([dict.fromkeys(doomed)]))
            self.commit({key: self.make_value() for key in doomed})
        delete_ns, delete_bare_ns = (_median([figures[part] for figures in deletes]) for part in (0, 1))
        plain_ns = self._time_any_root([self.make_updates(block) for _ in range(rounds)])
        self.database.prune()
        return (
            f"{update_ns // block:8,d}{hashes / (rounds * block):9.2f}{bare_ns // block:10,d}"
            f"{update_ns / bare_ns:7.2f}x{plain_ns // block:11,d}{delete_ns // block:13,d}"
            f"{delete_ns / delete_bare_ns:7.2f}x"
        )

    def _time_blocks(self, blocks: list[Writes]) -> tuple[int, int, int]:
        """Return the median time of a block, that of its bare hash calls, and how many hash calls all blocks make."""
        spent_ns: list[int] = []
        bare_ns: list[int] = []
        hashes = 0
        for writes in blocks:
            # Timed before it is recorded: the other way round it would find its keys in the processor's cache.
            spent_ns.append(_time(partial(self.commit, writes, canonical=True)))
            self.database.rewind(1)
            _ = self.database.canonical_root
            with recording() as preimages:
                self.commit(writes, canonical=True)
            bare_ns.append(_time(partial(hash_all, preimages)))
            hashes += len(preimages)
        return _median(spent_ns), _median(bare_ns), hashes

    def _time_any_root(self, blocks: list[Writes]) -> int:
        """Return the median time of a block on a database that never was asked for its canonical root."""
        store = self.database._store  # noqa: SLF001 - there is no public way back to the state before the request
        store.activity = None
        spent_ns: list[int] = []
        for writes in blocks:
            spent_ns.append(_time(partial(self.commit, writes)))
            self.database.rewind(1)
        _ = self.database.canonical_root
        return _median(spent_ns)

    def measure_rewind(self) -> str:
        """Return the time that taking back blocks of 1,000 updates takes, and the root after it; best of 3."""
        rewind_ns: list[int] = []
        root_ns: list[int] = []
        for _ in range(3):
            for _ in range(_REWOUND_BLOCKS):
                self.commit(self.make_updates(1_000), canonical=True)
            rewind_ns.append(_time(partial(self.database.rewind, _REWOUND_BLOCKS)))
            root_ns.append(_time(lambda: self.database.canonical_root))
        return (
            f"{_REWOUND_BLOCKS} blocks of 1,000 rewound in {min(rewind_ns) / 1e6:.1f} ms, "
            f"canonical root then in {min(root_ns) / 1e6:.1f} ms"
        )

    def measure_memory(self) -> str:
        """Return the bytes held per key: log, tree, flags, index, bitmap and grafted tree."""
        store = self.database._store  # noqa: SLF001 - sizes of what the database holds are nobody else's business
        held = sys.getsizeof(store.log) + sum(map(sys.getsizeof, store.log)) + sys.getsizeof(store.flags)
        held += sum(map(sys.getsizeof, store.levels.rows)) + sys.getsizeof(store.locations)
        held += sum(sys.getsizeof(key) + sys.getsizeof(location) for key, location in store.locations.items())
        for row in store.require_activity().rows:
            held += sys.getsizeof(row) + sum(map(sys.getsizeof, row.values()))
        return (
            f"{held // len(self.keys):,d} bytes per key, {len(store.log) / len(self.keys):.2f} operations kept per key"
        )


def _measure_trie() -> str:
    """Return the time per update of the hexary trie from PyPI, if it is installed."""
    try:
        from trie import HexaryTrie  # type: ignore[import-not-found]  # noqa: PLC0415 - a peer, not a dependency
    except ImportError:
        return "HexaryTrie: not in this environment (package trie), so not measured"
    trie = HexaryTrie(db={})
    keys = [sha256(number.to_bytes(8, "big")).digest() for number in range(10_000)]
    for key in keys:
        trie[key] = key
    spent_ns = _time(partial(_update_trie, trie, keys))
    return f"HexaryTrie, blocks of 10,000 at 10,000 keys: {spent_ns // len(keys):,d} ns per update"


def _update_trie(
    trie: Any,  # noqa: ANN401 - the package is untyped and may be absent
    keys: list[bytes],
) -> None:
    with trie.squash_changes() as batch:
        for key in keys:
            batch[key] = key[::-1]


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


def _median(figures: list[int]) -> int:
    return sorted(figures)[len(figures) // 2]


if __name__ == "__main__":
    run()
