"""The data of an engine that the swarm draws."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from cluster.scenario.rules import unused_times
from cluster.swarm.sequences.sequence import FaultSequence
from faults import kind_of
from faults.byzantine.catalogue import behaviours_of
from faults.kinds.byzantine import Byzantine
from faults.kinds.drawing import Plain
from network.draw import Draw

BYZANTINE: Final = kind_of(Byzantine)


class DrawnEngine(NamedTuple):
    """An engine of drawn scenarios.

    Attributes:
        name: Its name.
        share: Its share: the number of its values in the list from which each seed gets one value.
        sizes: Numbers of validators, one value a seed: seven validators cost three times as much as four.
        heights: The lowest and the highest final height at which a run ends.
        section: Draws the keys of `[consensus]` that only this engine has.
        messages: For each message of the draws, the engine's own messages that do the same work.
        proposing: Its own behaviours of a Byzantine leader, beside the behaviours of every engine.
        speaking: Its own behaviours of a Byzantine validator in messages about other validators' blocks.
        sequences: Fault sequences about its own rules, for the first half of the disturbed time.
        later: The same for the second half.
        without_prefixes: Prefixes whose scripts this engine cannot follow.
        without_moments: Events of anchors that never come under this engine.
        settled_costs: Costs that no draw changes, whatever a sequence or lost messages would ask for.
        overtaken_ms: The delays of messages that other messages overtake.
        is_foreign: Whether its blocks belong to a foreign application, about whose rules no fault can be.
    """

    name: str
    share: int
    sizes: tuple[int, ...] = (4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 7)
    heights: tuple[int, int] = (8, 12)
    section: Callable[[Draw], Plain] = lambda _draw: {}
    messages: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    proposing: tuple[str, ...] = ()
    speaking: tuple[str, ...] = ()
    sequences: tuple[Callable[[Draw, int], FaultSequence], ...] = ()
    later: tuple[Callable[[Draw, int], FaultSequence], ...] = ()
    without_prefixes: tuple[str, ...] = ()
    without_moments: tuple[str, ...] = ()
    settled_costs: tuple[str, ...] = ()
    overtaken_ms: tuple[int, ...] = (60, 700)
    is_foreign: bool = False

    def admitted(self, behaviours: tuple[str, ...]) -> tuple[str, ...]:
        """Return the behaviours that the engine has, out of some behaviours."""
        return tuple(each for each in behaviours if self._has(each))

    def admits(self, fault: Plain) -> bool:
        """Return whether the engine can have a drawn fault: only some engines have adversaries."""
        return fault["kind"] != BYZANTINE or self._has(fault["behaviour"])

    def _has(self, behaviour: str) -> bool:
        known = behaviours_of(self.name)
        # It concerns the disk, and passes no adversary.
        return behaviour in known or (behaviour == "amnesia" and bool(known))

    def settings(self, drawn: Mapping[str, Plain]) -> dict[str, Plain]:
        """Return drawn settings without the consensus times that the engine does not use, and with settled costs."""
        unused = {"consensus": unused_times(self.name), "costs": self.settled_costs}
        return {
            section: {key: value for key, value in own.items() if key not in unused.get(section, ())}
            for section, own in drawn.items()
        }

    def in_own_words(self, fault: Plain) -> Plain:
        """Return a drawn fault with the engine's own messages in place of the draws' messages."""
        if "kinds" not in fault:
            return fault
        own = [each for kind in fault["kinds"] for each in self.messages.get(kind, (kind,))]
        return {**fault, "kinds": list(dict.fromkeys(own))}
