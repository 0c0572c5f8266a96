"""The order of the bias auction as a plain sort: greatest score first, equal ones in waiting order (D-2)."""

from collections.abc import Callable, Sequence

from scheduler.bias import bias
from scheduler.bias_selection import Competitor
from scheduler.bias_waits import WaitClock
from scheduler.types import Timer


def sort_by_score(
    timers: Sequence[Timer], bid_of: Callable[[Timer], int], clock: WaitClock, lambda_: int
) -> list[Competitor]:
    """Return timers in the order of a block, each looked at."""
    waits = [clock.waited(timer) for timer in timers]
    biases = {waited: bias(waited, lambda_) for waited in dict.fromkeys(waits)}
    each = zip(timers, waits, strict=True)
    found = [Competitor(timer, bid_of(timer), waited, biases[waited]) for timer, waited in each]
    found.sort(key=lambda one: one.rank)
    return found
