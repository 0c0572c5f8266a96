"""Puts dishonest behaviours of a plan on and off, and counts what they came to."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import final

from faults.byzantine.adversary import Liar
from faults.byzantine.catalogue import LIES
from faults.injection.edges import Edge, window
from faults.injection.power import Power
from faults.kinds.byzantine import Dishonest


@final
class Lies:
    """All dishonest behaviours of a plan. ``amnesia`` needs the machine's power, all others the validator's liar."""

    def __init__(self, power: Power, liars: Mapping[int, Liar]) -> None:
        self._power = power
        self._liars = liars
        self._forgotten: dict[str, int] = {}

    def edges(self, name: str, fault: Dishonest) -> Iterator[Edge]:
        """Yield the moments of a fault."""
        if fault.behaviour == "amnesia":
            for at_ms in range(fault.start_ms, fault.stop_ms, fault.every_ms):
                yield Edge(at_ms, at_ms, "forget", partial(self._forget, name, fault.validator))
        else:
            liar = self._liars[fault.validator]
            yield from window(
                fault.start_ms,
                fault.stop_ms,
                lambda: liar.begin(LIES[fault.behaviour](liar, name, fault)),
                partial(liar.end, name),
            )

    def count(self, name: str, fault: Dishonest) -> int:
        """Return how many messages were forged, changed or held back, or how often votes were forgotten."""
        if fault.behaviour == "amnesia":
            return self._forgotten.get(name, 0)
        return self._liars[fault.validator].count(name) if fault.validator in self._liars else 0

    def _forget(self, name: str, node: int) -> None:
        """Restart a validator without its journal; one that is down already forgets nothing now."""
        if self._power.crash(node):
            self._power.forget_votes(node)
            self._power.restart(node)
            self._forgotten[name] = self._forgotten.get(name, 0) + 1
