"""The life of each timer of an outside application, followed by the events that it told for its blocks."""

from collections.abc import Iterable, Iterator, Mapping

from cluster.timers.lifecycles import NOT_YET, TimerLife


class ToldTimerLives:
    """The timers that wait, and what each block does to them; events tell of no actor, price and work."""

    def __init__(self) -> None:
        self._waiting: dict[str, TimerLife] = {}
        self._set = 0

    def take(self, height: int, events: Iterable[Mapping[str, object]]) -> Iterator[TimerLife]:
        """See the events of a block, and yield the timers that leave in it."""
        for event in events:
            kind, timer = event["event"], str(event.get("timer"))
            if kind == "timer-set":
                self._waiting[timer] = self._begun(timer, height, event["due"])
            elif (life := self._waiting.get(timer)) is None:
                continue
            elif kind == "timer-moved":
                life.due = _number(event["due"])
            elif kind == "timer-deferred" and life.deferred_height == NOT_YET:
                life.deferred_height, life.deferral = height, "deferred"
            elif kind in {"timer-fired", "timer-removed"}:
                life.exit_height, life.exit = height, str(event.get("why", "fired"))
                yield self._waiting.pop(timer)

    def waiting(self) -> Iterator[TimerLife]:
        """Yield the timers that wait, in the order in which they were set."""
        yield from self._waiting.values()

    def _begun(self, timer: str, height: int, due: object) -> TimerLife:
        self._set += 1
        return TimerLife(
            timer_id=timer,
            actor="",
            fee_payer="",
            handler="",
            scheduled_height=height,
            due=_number(due),
            sequence=self._set,
            gas_limit=NOT_YET,
            expires_at=0,
        )


def _number(due: object) -> int:
    assert isinstance(due, int), "events are read strictly"
    return due
