"""The quorums that the faults of a plan leave, computed from the plan alone.

Votes are not relayed: while no validator hears a quorum, itself included, no block becomes final. Drawn outages,
Byzantine validators, damaged disks and anchors leave open which validators are lost, or when: then the worst case
counts. Longer latencies and lost shares of messages are ignored.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, NamedTuple, Self

from faults.kinds.base import FOREVER, Fault, Loss
from faults.kinds.wording import braced, join, seconds, who

_WHOLE_PPM: Final = 1_000_000

_UNKNOWN: Final = "whether blocks come in that time shows in the run alone"


class Electorate(NamedTuple):
    """The replicas of a plan, the first of which vote, and the size of a quorum; None if the engine has slots."""

    validators: int
    replicas: int
    quorum: int | None


@dataclass(frozen=True, slots=True)
class Spell:
    """A window of a plan with constant losses, in milliseconds.

    Attributes:
        start_ms: Its beginning.
        stop_ms: Its end.
        heard: The validators that each running validator hears, itself included.
        off: The validators that are off, paused, or without a vote.
        of_leader: Whether the current leader is cut off.
        is_sure: Whether the plan alone determines the losses.
        share_ppm: The share of the time in which periodic losses are present.
    """

    start_ms: int
    stop_ms: int
    heard: Mapping[int, tuple[int, ...]]
    off: tuple[int, ...]
    of_leader: bool
    is_sure: bool = True
    share_ppm: int = _WHOLE_PPM

    @property
    def most(self) -> int:
        """The largest number of votes that can reach a single validator."""
        return max(map(len, self.heard.values()), default=0)

    @property
    def agreeing(self) -> int:
        """The largest number of validators that a validator hears and is heard by, itself included."""
        pairs = ((node, [each for each in heard if node in self.heard[each]]) for node, heard in self.heard.items())
        return max((len(mutual) for _, mutual in pairs), default=0)

    @property
    def lasts_ms(self) -> int:
        """The time in milliseconds in which the losses are present."""
        return (self.stop_ms - self.start_ms) * self.share_ppm // _WHOLE_PPM

    def moved(self, by_ms: int) -> Self:
        """Return the same losses, later by this time."""
        return replace(self, start_ms=self.start_ms + by_ms, stop_ms=self.stop_ms + by_ms)

    def is_felt(self, validators: int) -> bool:
        """Return whether a validator is affected; losses of observers alone affect no quorum."""
        return self.of_leader or any(len(heard) < validators for heard in self.heard.values()) or not self.heard

    def is_dark(self, quorum: int | None) -> bool:
        """Return whether no block can become final, or, without quorums, be made."""
        return not self.heard or (quorum is not None and (self.most < quorum or self.of_leader))

    def sides(self) -> tuple[tuple[int, ...], ...]:
        """Return the groups whose members hear exactly each other; empty if there are no such groups."""
        sides = tuple(dict.fromkeys(self.heard.values()))
        return sides if sum(map(len, sides)) == len(self.heard) else ()


def spells_of(faults: Iterable[Fault], electorate: Electorate) -> Iterator[Spell]:
    """Yield the windows in which faults surely take validators or links away, by the faults' own times."""
    losses = [loss for fault in faults for loss in fault.losses(electorate.replicas) if loss.is_sure]
    return _spells(losses, electorate.validators)


def _spells(losses: Sequence[Loss], validators: int) -> Iterator[Spell]:
    """Yield the windows of constant losses, ascending."""
    edges = sorted({edge for loss in losses for edge in loss[:2]})
    for start_ms, stop_ms in pairwise(edges):
        present = [loss for loss in losses if loss.start_ms <= start_ms < loss.stop_ms]
        if present:
            yield _spell(start_ms, stop_ms, present, validators)


def _spell(start_ms: int, stop_ms: int, present: Sequence[Loss], validators: int) -> Spell:
    off = tuple(sorted({node for loss in present for node in loss.off if node < validators}))
    cut = {link for loss in present for link in loss.links}
    on = [node for node in range(validators) if node not in off]
    heard = {node: tuple(each for each in on if each == node or (each, node) not in cut) for node in on}
    shares = (_WHOLE_PPM * loss.on_ms // (loss.on_ms + loss.rest_ms) for loss in present if loss.rest_ms)
    of_leader, is_sure = any(loss.of_leader for loss in present), all(loss.is_sure for loss in present)
    return Spell(start_ms, stop_ms, heard, off, of_leader, is_sure, min(shares, default=_WHOLE_PPM))


def joint_consequences(faults: Iterable[Fault], electorate: Electorate) -> Iterator[str]:
    """Yield a sentence for each window without a block that needs several faults together."""
    alone: list[Spell] = []
    together: list[Loss] = []
    for fault in (each for each in faults if each.enabled):
        losses = [_in_the_run(loss, fault) for loss in fault.losses(electorate.replicas)]
        alone += _dark(losses, electorate)
        together += losses
    sure = _dark([loss for loss in together if loss.is_sure], electorate)
    joint = [spell for spell in sure if not _is_within(spell, [each for each in alone if each.is_sure])]
    joint += [spell for spell in _dark(together, electorate) if not _is_within(spell, [*alone, *sure])]
    for spell in _merged(sorted(joint, key=lambda each: each.start_ms)):
        until = "on" if spell.stop_ms >= FOREVER else f"to {seconds(spell.stop_ms)}"
        told = "no block in that time" if spell.is_sure else _UNKNOWN
        yield f"From {seconds(spell.start_ms)} {until} {_state(spell, electorate)}: {told}."


def consequence(fault: Fault, electorate: Electorate) -> str:
    """Return a sentence for the effect of a fault by itself on quorums; empty if it has no losses."""
    losses = tuple(fault.losses(electorate.replicas))
    spells = list(_spells(losses, electorate.validators))
    if not any(spell.is_felt(electorate.validators) for spell in spells):
        has_observers = electorate.replicas > electorate.validators
        return "It hits observers alone, which have no vote." if spells and has_observers else ""
    dark = _dark(losses, electorate)
    worst = min(dark or spells, key=lambda spell: spell.most)
    sentence = _state(worst, electorate)
    if dark:
        sentence += f": {_length(losses, dark) if worst.is_sure else _UNKNOWN}"
    return f"{sentence[0].upper()}{sentence[1:]}."


def _in_the_run(loss: Loss, fault: Fault) -> Loss:
    """Return a loss by the time of the run; a loss with an anchor or gaps is not sure."""
    start_ms, stop_ms = loss[:2]
    if fault.anchor is not None:
        start_ms, stop_ms = fault.anchor.bounds(start_ms, stop_ms)
    is_sure = loss.is_sure and fault.anchor is None and not loss.rest_ms
    return loss._replace(start_ms=start_ms, stop_ms=stop_ms, is_sure=is_sure)


def _merged(spells: Iterable[Spell]) -> Iterator[Spell]:
    """Yield adjoining windows merged into one, with the losses of the worst."""
    last: Spell | None = None
    for spell in spells:
        if last is None or (last.stop_ms, last.is_sure) != (spell.start_ms, spell.is_sure):
            if last is not None:
                yield last
            last = spell
        else:
            worst = min(last, spell, key=lambda each: each.most)
            last = replace(worst, start_ms=last.start_ms, stop_ms=spell.stop_ms)
    if last is not None:
        yield last


def _dark(losses: Sequence[Loss], electorate: Electorate) -> list[Spell]:
    return [spell for spell in _spells(losses, electorate.validators) if spell.is_dark(electorate.quorum)]


def _is_within(spell: Spell, others: Iterable[Spell]) -> bool:
    return any(each.start_ms <= spell.start_ms and spell.stop_ms <= each.stop_ms for each in others)


def _state(spell: Spell, electorate: Electorate) -> str:
    """Return a phrase for the remaining quorum in a spell."""
    worst, left = "" if spell.is_sure else "at worst ", electorate.validators - len(spell.off)
    if not left:
        return f"{worst}nobody is left"
    if electorate.quorum is None:
        return f"no quorum is needed: {worst}{_state_without_quorum(spell, left, electorate.validators)}"
    return f"{worst}{_state_with_quorum(spell, left, electorate.validators, electorate.quorum)}"


def _state_without_quorum(spell: Spell, left: int, validators: int) -> str:
    """Return a phrase for an engine without quorums: the branch with the most blocks stays."""
    sides = spell.sides()
    if len(sides) > 1:
        return f"{join([braced(side) for side in sides])} build apart, and the branch with the most blocks stays"
    if spell.of_leader or spell.most < left or not spell.off:
        return "a validator that does not hear a block builds beside it, and the branch with the most blocks stays"
    return f"{left} of {validators} {'goes' if left == 1 else 'go'} on in their slots"


def _state_with_quorum(spell: Spell, left: int, validators: int, quorum: int) -> str:
    if spell.of_leader:
        return "no view has a leader that is heard"
    if left == validators or spell.most < left:
        return _state_of_links(spell, validators, quorum)
    enough = "enough for" if left >= quorum else "fewer than"
    return f"{left} of {validators} {'is' if left == 1 else 'are'} left, {enough} a quorum of {quorum}"


def _state_of_links(spell: Spell, validators: int, quorum: int) -> str:
    sides, needed = spell.sides(), f"{quorum} of {validators}"
    if spell.most < quorum:
        nobody = "neither side" if len(sides) == 2 else "no side" if sides else "no validator"
        return f"{nobody} {'has' if sides else 'hears'} {needed}"
    if sides:
        return f"{braced(max(sides, key=len))} still has a quorum, {needed}"
    hearing = [node for node, heard in spell.heard.items() if len(heard) >= quorum]
    hears = f"{who(hearing)} still hear{'s' * (len(hearing) == 1)} a quorum, {needed}"
    return hears if spell.agreeing >= quorum else f"{hears}, but no quorum hears them: {_UNKNOWN}"


def _length(losses: Iterable[Loss], dark: Sequence[Spell]) -> str:
    """Return a phrase for the time without a block."""
    if dark[-1].stop_ms >= FOREVER:
        return f"no block from {seconds(dark[0].start_ms)} on"
    rhythm = next((loss.on_ms for loss in losses if loss.rest_ms), 0)
    if rhythm:
        return f"no block for {seconds(rhythm)} each time"
    return f"no block for {seconds(sum(spell.lasts_ms for spell in dark))}"
