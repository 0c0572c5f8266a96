"""The queue of instants of a bare stage."""

import heapq
from collections.abc import Callable
from typing import Final, TypeAlias

Action: TypeAlias = Callable[[], None]

STEPS_MAX: Final = 200_000
"""Things that are done at the most: thirty times those of the longest example."""


class Agenda:
    """All that is to be done, by its time; `now_us` is the time of what was done last."""

    def __init__(self) -> None:
        self.now_us = 0
        self._queue: list[tuple[int, int, Action]] = []
        self._posted = 0

    def run_until(self, end_us: int, is_over: Callable[[], bool] = lambda: False) -> None:
        """Go on until a time, or until it is over before that; raises RecursionError where no time goes by."""
        while self._queue and self._queue[0][0] <= end_us and not is_over():
            self.now_us, _, action = heapq.heappop(self._queue)
            if self._posted > STEPS_MAX:
                raise RecursionError(f"engines do more than {STEPS_MAX:,} things")
            action()
        self.now_us = max(self.now_us, end_us if not is_over() else 0)

    def post(self, after_us: int, action: Action) -> None:
        """Have something done later; of one instant what was posted first."""
        self._posted += 1
        heapq.heappush(self._queue, (self.now_us + after_us, self._posted, action))
