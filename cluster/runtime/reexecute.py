"""Re-executes finalized blocks that were synced but never reported to the checks.

A crash between the sync of a finalized block and its application leaves the block on the disk. The restarted validator
has it in its state, and never applies it again. As a rule another validator does. If none has, the block is executed
here from the disks, by the code of the validator whose log it is. So the checks see every height.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from validators.execution import Executed, Genesis
from validators.execution.blocks import Block, decode_sealed
from validators.recovery import layer_at
from validators.settings import ValidatorFactory
from validators.storage import BlockFile, Disk, FinalizedLog


class ReexecutionError(Exception):
    """A height that no disk leads to: no log from genesis, no block, or no code that can execute it."""

    def __init__(self, height: int, reason: str) -> None:
        super().__init__(f"no disk can tell what was final at height {height}{reason}")
        self.height = height


def reexecute(
    genesis: Genesis, disks: Iterable[tuple[Disk, ValidatorFactory]], above: int, up_to: int
) -> list[Executed]:
    """Return the blocks of the heights ``above`` + 1 to ``up_to``, executed anew on the state that a log gives.

    The first log that leads there is taken, with its validator's own parts: this validator's code can execute its own
    final blocks, right or wrong. A block that its disk has lost since is read from another disk. Raises
    ReexecutionError if no log leads there, or no disk has a block.
    """
    reason = ""
    sources = tuple(disks)
    blocks = _Blocks([disk for disk, _ in sources])
    for place, (disk, factory) in enumerate(sources):
        executed: list[Executed] = []
        find = partial(blocks.find, place)
        try:
            with factory.around():
                executed += _blocks_of(genesis, disk, factory, find, above=above, up_to=up_to)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one validator's code, the next one is asked
            reason = f": {error}"
        if len(executed) == up_to - above:
            return executed
    raise ReexecutionError(above + 1, reason)


def final_blocks(disks: Sequence[Disk], up_to: int) -> list[Block]:
    """Return the final blocks from height 1 on, as the disks together hold them.

    Raises ReexecutionError if no log names the last block, or a block is on no disk.
    """
    blocks = _Blocks(disks)
    missing = up_to
    for place, disk in enumerate(disks):
        found: list[Block] = []
        digests = [entry.digest for entry in FinalizedLog(disk).read().entries if entry.height == up_to]
        while digests and (encoded := blocks.find(place, digests.pop())) is not None:
            block = decode_sealed(encoded).block
            found.append(block)
            if block.header.height > 1:
                digests.append(block.header.parent)
        if len(found) == up_to:
            return found[::-1]
        missing = up_to - len(found)
    raise ReexecutionError(missing, "")


def sources_of(
    disks: Sequence[Disk], factories: Mapping[int, ValidatorFactory], adversaries: Collection[int], first: int
) -> list[tuple[Disk, ValidatorFactory]]:
    """Return the disks to re-execute from, with their code: honest replicas' own code, then the plain code for all."""
    honest = [node for node in (first, *range(len(disks))) if node not in adversaries]
    own = [(disks[node], factories[node]) for node in honest]
    return [*own, *((disk, ValidatorFactory()) for disk in disks)]


class _Blocks:
    """The blocks of several disks; a file is read at its first request for a block."""

    def __init__(self, disks: Sequence[Disk]) -> None:
        self._files: Final[list[BlockFile]] = [BlockFile(disk) for disk in disks]
        self._is_read: Final = [False] * len(disks)

    def find(self, place: int, digest: bytes) -> bytes | None:
        """Return a block's bytes from the disk at a place, else from the next disk that has it, else None."""
        order: list[int] = [place, *range(len(self._files))]
        for other in order:
            if not self._is_read[other]:
                self._files[other].load()
                self._is_read[other] = True
            encoded = self._files[other].get(digest)
            if encoded is not None:
                return encoded
        return None


def _blocks_of(
    genesis: Genesis,
    disk: Disk,
    factory: ValidatorFactory,
    find: Callable[[bytes], bytes | None],
    *,
    above: int,
    up_to: int,
) -> Iterator[Executed]:
    """Yield as many of the blocks as the disk's log leads to, above genesis or the snapshot with which it begins."""
    contents = FinalizedLog(disk).read()
    base_height = 0 if contents.base is None else contents.base.height
    known = above - base_height
    heights = [entry.height for entry in contents.entries[:1]]
    if known < 0 or heights != [base_height + 1]:
        return
    # The transactions of final blocks were verified by the validators that voted for them.
    layer = layer_at(contents, known, partial(factory.layer, genesis, lambda _transaction: True))
    for entry in contents.entries[known : up_to - base_height]:
        encoded = find(entry.digest)
        if encoded is None:
            return
        executed = layer.execute(decode_sealed(encoded).block)
        assert isinstance(executed, Executed), "every layer of a run is the project's own engine"
        layer.finalize(entry.digest)
        yield executed
