"""The write-ahead rule in one place: append, sync, and only then act.

Invariant: an action handed to `then` runs only once every byte appended to the disk before that call survives a crash.
Actions run in the order in which they were handed over. Votes are sent, certifications reported and finalized blocks
applied through the barrier, so no vote leaves a validator that could forget it.

Only one sync is under way at a time; the next sync covers bytes appended in the meantime (coalesced syncs,
docs/simplex.md). A sync per action was rejected: with 4 validators it multiplies the virtual disk's work by the number
of votes in a view.
"""

from collections import deque
from collections.abc import Callable

from validators.derived import Derived, DerivedSize
from validators.storage.disk import Disk, SyncPoint


class Barrier:
    """A queue of actions, run in order as the disk catches up. `start_sync` makes `finish` be called later."""

    def __init__(self, disk: Disk, start_sync: Callable[[SyncPoint], None]) -> None:
        self._disk = disk
        self._start_sync = start_sync
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()
        self._durable_bytes = disk.appended_bytes
        self._is_syncing = False
        self._is_advancing = False

    def then(self, action: Callable[[], None]) -> None:
        """Run `action` once all bytes appended so far are durable; at once if they are already."""
        # Queued even when all bytes are durable: an action must not overtake waiting actions.
        self._waiting.append((self._disk.appended_bytes, action))
        self._advance()

    def finish(self, point: SyncPoint) -> None:
        """Run the actions that wait for `point`, because its sync has ended."""
        self._disk.finish_sync(point)
        self._durable_bytes = max(self._durable_bytes, point.appended_bytes)
        self._is_syncing = False
        self._advance()

    @property
    def is_idle(self) -> bool:
        """Whether no action waits."""
        return not self._waiting

    def derived(self) -> Derived:
        """Return the number of actions that wait without a sync, and the number that the sync under way covers."""
        waiting = 0 if self._is_syncing else len(self._waiting)
        return Derived(part="barrier", sizes=(DerivedSize("actions that wait for no sync", waiting, 0, "0"),))

    def _advance(self) -> None:
        if self._is_advancing:
            # The action added another action, which runs after it.
            return
        self._is_advancing = True
        try:
            self._run_durable()
        finally:
            self._is_advancing = False
        # One sync at a time: the next sync covers later appends, which keeps the order of actions.
        if self._waiting and not self._is_syncing:
            self._is_syncing = True
            self._start_sync(self._disk.begin_sync())

    def _run_durable(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._durable_bytes:
            self._waiting.popleft()[1]()
