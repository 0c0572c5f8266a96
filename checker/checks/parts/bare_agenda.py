"""The queue of instants of a bare stage."""

import heapq
from collections.abc import Callable
from typing import TypeAlias

Action: TypeAlias = Callable[[], None]


class Agenda:
    """All that is to be done, by its time; `now_us` is the time of what was done last."""

    def __init__(self) -> None:
        self.now_us = 0
        self._queue: list[tuple[int, int, Action]] = []
        self._posted = 0

    def run_until(self, end_us: int, is_over: Callable[[], bool] = lambda: False) -> None:
        """Go on until a time, or until it is over before that."""
        while self._queue and self._queue[0][0] <= end_us and not is_over():
            self.now_us, _, action = heapq.heappop(self._queue)
            action()
        self.now_us = max(self.now_us, end_us if not is_over() else 0)

    def post(self, after_us: int, action: Action) -> None:
        """Have something done later; of one instant what was posted first."""
        self._posted += 1
        heapq.heappush(self._queue, (self.now_us + after_us, self._posted, action))
