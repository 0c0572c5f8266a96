"""Re-executes finalized blocks that were synced but never reported to the checks.

A crash between the sync of a finalized block and its application leaves it on the disk: the restarted validator has it
in its state, and never applies it again. As a rule another validator does. Where none has, the block is executed here
from what the disk holds, by the code of the disk's validator, so that the checks see every height.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from validators.execution import Executed, Genesis
from validators.execution.blocks import decode_sealed
from validators.recovery import engine_at
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

    The first disk that has them all is taken, with its validator's own parts: what that has made final, its own code
    can execute, right or wrong. Raises ReexecutionError if none has.
    """
    reason = ""
    for disk, factory in disks:
        executed: list[Executed] = []
        try:
            with factory.around():
                executed += _blocks_of(genesis, disk, factory, above=above, up_to=up_to)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one validator's code, the next one is asked
            reason = f": {error}"
        if len(executed) == up_to - above:
            return executed
    raise ReexecutionError(above + 1, reason)


def _blocks_of(
    genesis: Genesis, disk: Disk, factory: ValidatorFactory, *, above: int, up_to: int
) -> Iterator[Executed]:
    """Yield as many of the blocks as the disk holds, above genesis or the snapshot that its state begins with."""
    contents = FinalizedLog(disk).read()
    base_height = 0 if contents.base is None else contents.base.height
    known = above - base_height
    heights = [entry.height for entry in contents.entries[:1]]
    if known < 0 or heights != [base_height + 1]:
        return
    blocks = BlockFile(disk)
    blocks.load()
    # The transactions of final blocks were verified by those who voted for them.
    engine = engine_at(contents, known, partial(factory.engine, genesis, lambda _transaction: True))
    for entry in contents.entries[known : up_to - base_height]:
        encoded = blocks.get(entry.digest)
        if encoded is None:
            return
        executed = engine.execute(decode_sealed(encoded).block)
        engine.finalize(entry.digest)
        yield executed
