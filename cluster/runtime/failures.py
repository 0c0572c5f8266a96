"""The early ends of a run: a monitor sees that two honest replicas differ, or a plug-in raises an error.

The monitor reads only the events of the log, so that a repetition of the run in another process ends at the same event.
No check, plug-in or option takes part in it. The checks judge the run afterwards; `equal-roots` or `agreement` fails
whenever the monitor stops a run. Every replica that is not Byzantine counts, including the holder of a mutant.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Final

from checker.record.plugins import error_of_plugin
from network.events import Event, Handlers
from network.kernel import Kernel
from network.outcome import KernelOutcome, RunFailedError
from validators.events import DIVERGED, BlockExecuted, BlockFinalized, Booted, Entered, SnapshotJoined

AT_FAILURE: Final = "failure"
"""The kernel's reason for the end of a run that this monitor stopped."""

BY_PLUGIN: Final = "plug-in"
"""The reason for the end of a run in which a plug-in raised an error; the detail names the plug-in and the place."""

HEIGHTS_AFTER: Final = 2
"""Final heights for which the run continues: whether finality goes on is part of the failure's description."""

VIEWS_AFTER: Final = 2
"""Views without a new final height after which the run ends in any case."""


def run_kernel(kernel: Kernel, main: Callable[[], Awaitable[None]]) -> KernelOutcome:
    """Run a kernel to its end; an error of a plug-in's code is an end too, so that the run so far is kept.

    Raises:
        RunFailedError: The test bed itself broke.
    """
    try:
        return kernel.run(main)
    except RunFailedError as error:
        if not (said := error_of_plugin(error)):
            raise
        statistics = kernel.statistics()
        return KernelOutcome(BY_PLUGIN, said, statistics.now_us, statistics.turns, statistics.steps)


class FailureMonitor:
    """Stops a run some blocks after its first failure.

    Args:
        byzantine: Replicas whose events do not count.
        stop: Ends the run; gets the kernel's reason and the failure.
        is_outdated: Says whether a newer build of an application may differ from a replica's build at a height.
    """

    def __init__(
        self,
        byzantine: Collection[int],
        stop: Callable[[str, str], None],
        is_outdated: Callable[[int, int], bool] = lambda _node, _height: False,
    ) -> None:
        self._byzantine = dict.fromkeys(byzantine)
        self._is_outdated = is_outdated
        self._stop = stop
        self._roots: dict[bytes, bytes] = {}
        """By block, the root that a replica computed first."""
        self._taken: dict[bytes, bool] = {}
        """By block, whether the replica that executed it first found the roots of its header."""
        self._final: dict[int, tuple[bytes, bytes]] = {}
        """By height, the final block and its root of the first replica."""
        self._height = 0
        self._view = 0
        self._height_max = 0
        self._view_max = 0
        self.failure = ""
        """The first failure, in a few words."""

    @property
    def handlers(self) -> Handlers:
        """Events with a root, and events that count towards the end."""
        return {
            BlockExecuted: self._executed,
            BlockFinalized: self._finalized,
            Booted: self._booted,
            SnapshotJoined: self._joined,
            Entered: self._entered,
        }

    def _executed(self, event: Event, block: BlockExecuted) -> None:
        # A replica that refuses a block for its root traces its own root.
        self._compare_roots(event.node, block.height, block.digest, block.root)
        is_taken = block.mode != DIVERGED
        if self._counts(event.node, block.height) and self._taken.setdefault(block.digest, is_taken) != is_taken:
            self._note(f"other receipts at height {block.height}")

    def _counts(self, node: int, height: int) -> bool:
        return node not in self._byzantine and not self._is_outdated(node, height)

    def _joined(self, event: Event, joined: SnapshotJoined) -> None:
        self._compare_roots(event.node, joined.height, joined.digest, joined.root)

    def _booted(self, event: Event, booted: Booted) -> None:
        known = self._final.get(booted.finalized_height)
        if known is not None:
            self._compare_roots(event.node, booted.finalized_height, known[0], booted.root)

    def _finalized(self, event: Event, block: BlockFinalized) -> None:
        if not self._counts(event.node, block.height):
            return
        if block.height > self._height:
            self._height, self._view_max = block.height, self._view + VIEWS_AFTER
        digest, _ = self._final.setdefault(block.height, (block.digest, block.root))
        if digest != block.digest:
            self._note(f"two final blocks at height {block.height}")
        self._compare_roots(event.node, block.height, block.digest, block.root)
        if self.failure and self._height >= self._height_max:
            self._stop(AT_FAILURE, self.failure)

    def _entered(self, event: Event, entered: Entered) -> None:
        if event.node in self._byzantine or entered.view <= self._view:
            return
        self._view = entered.view
        if self.failure and self._view > self._view_max:
            self._stop(AT_FAILURE, self.failure)

    def _compare_roots(self, node: int, height: int, digest: bytes, root: bytes) -> None:
        if self._counts(node, height) and self._roots.setdefault(digest, root) != root:
            self._note(f"two roots at height {height}")

    def _note(self, failure: str) -> None:
        if not self.failure:
            self.failure = failure
            self._height_max, self._view_max = self._height + HEIGHTS_AFTER, self._view + VIEWS_AFTER
