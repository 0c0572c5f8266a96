"""The draws behind a rise: each draw of its turn is given other values, and all other draws stay.

A latency gets eight values, spread evenly over its distribution. A draw that decides whether something happens gets the
least word, by which it happens, and seven others. Where the turn used many draws, those of one link and purpose are
first drawn again together, and only a group that moves the failure is taken apart.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from checker.record.streams import iterate_events
from cluster.campaign.results_db import SeedResult
from cluster.campaign.tasks import Task
from cluster.causality.asking import MODE_BIT, PLACE_BITS, BrokenContinuationError, Continuations, is_explained, turn_of
from cluster.causality.continuations import DELAY, LABEL, ContinuationTask, FailedRun
from cluster.causality.rise import Rise
from cluster.scenario.load import encode_scenario
from cluster.scenario.model import Scenario
from network.chance import DRAW_BITS, Chance
from network.events import Sent, events_of_type
from network.reseeding import ConsumedDraw, Redraw

VALUES: Final = 8
"""The values that a draw or a group of draws gets."""

ALONE_MAX: Final = 12
"""The most draws that are tried without forming groups before."""

WIDE_MAX: Final = 240
"""The most draws of several turns that are tried."""

_DRAWS: Final = 1 << MODE_BIT + 1
_GROUPS: Final = 1 << 40


class OtherValue(NamedTuple):
    """A value that a draw got: whether the run failed alike, and how long the message was on its way if it came."""

    word: int
    fails: bool
    delay_us: int | None


class JudgedDraw(NamedTuple):
    """A draw and what other values of it come to.

    Attributes:
        draw: The draw, with the value that it had.
        message: The label and the view of the message that it was for; None for a draw of no message.
        had: The outcome with its own value.
        values: The outcomes with other values.
    """

    draw: ConsumedDraw
    message: tuple[str, int | None] | None
    had: OtherValue
    values: tuple[OtherValue, ...]

    @property
    def fails(self) -> int:
        """The values with which the run fails alike."""
        return sum(value.fails for value in self.values)


class Counterfactuals(Continuations):
    """Runs in which some draws of the failed run have other values."""

    _members: dict[int, list[int]]
    """The draws of each group that is drawn again together, by the group's place."""

    def judge_turns(self, first: int, last: int) -> list[JudgedDraw]:
        """Return the draws of these turns that move the failure, the strongest first."""
        draws = [place for place, draw in enumerate(self.run.draws) if first <= draw.turn <= last]
        if len(draws) > ALONE_MAX:
            draws = self._moving(draws)
        self.get(self._number(place, value) for place in draws for value in range(VALUES + 1))
        judged = [self._judge(place) for place in draws]
        return sorted((each for each in judged if each.fails < VALUES), key=lambda each: each.fails)

    def judge_rise(self, rise: Rise) -> tuple[tuple[int, int], list[JudgedDraw]]:
        """Return the turns of a rise whose draws were tried, and the draws that move the failure.

        Where no draw of the turn does so alone, those since the point before it are tried.
        """
        assert rise.low is not None, "a failure that chance moves has a rise"
        last = rise.low.turn
        found = self.judge_turns(last, last)
        first = max((point.turn for point in rise.points if point.turn < last), default=last)
        if found or first == last or sum(first <= draw.turn <= last for draw in self.run.draws) > WIDE_MAX:
            return (last, last), found
        return (first, last), self.judge_turns(first, last)

    def _moving(self, draws: Sequence[int]) -> list[int]:
        """Return the draws of the links and purposes that move the failure when they are drawn again together."""
        groups: dict[tuple[str, str], list[int]] = {}
        for place in draws:
            groups.setdefault(self.run.draws[place][:2], []).append(place)
        self._members = {_GROUPS + members[0]: members for members in groups.values()}
        self.get(self._number(group, value) for group in self._members for value in range(VALUES))
        return [
            place
            for group, members in self._members.items()
            if not all(self.is_same(self._found[self._number(group, value)]) for value in range(VALUES))
            for place in members
        ]

    def _judge(self, place: int) -> JudgedDraw:
        draw = self.run.draws[place]
        values = [self._value(place, value) for value in range(VALUES + 1)]
        return JudgedDraw(draw, message_of(self.run, draw), values[0], tuple(values[1:]))

    def _value(self, place: int, value: int) -> OtherValue:
        result = self._found[self._number(place, value)]
        delay_us = next((hit.hits for hit in result.rules if hit.point == DELAY), None)
        return OtherValue(self._word(place, value), bool(result.signature) and self.is_same(result), delay_us)

    def _word(self, place: int, value: int) -> int:
        """Return a value of a draw: 0 is the value that it had."""
        draw = self.run.draws[place]
        if not value:
            return draw.value
        if value == 1 and not draw.purpose.startswith("latency"):
            return 0
        return (2 * value - 1) << DRAW_BITS - 4

    def _number(self, turn: int, place: int) -> int:
        return _DRAWS | turn << PLACE_BITS | place

    def _check(self, result: SeedResult) -> None:
        if result.verdict in {"environment", "usage"}:
            raise BrokenContinuationError(f"a run with another draw: {result.headline}")

    def _task(self, number: int) -> Task:
        place, value = turn_of(number), number & (1 << PLACE_BITS) - 1
        if place >= _GROUPS:
            members = self._members[place]
            redraws = [self._redraw(each, self._drawn(each, value)) for each in members]
            message = None
        else:
            redraws, message = [self._redraw(place, self._word(place, value))], link_of(self.run.draws[place])
        scenario = with_redraws(self.run.scenario, redraws)
        asked = ContinuationTask(
            encode_scenario(scenario), self.run.seed, self.run.family, is_explained(number), message
        )
        return Task(msgspec.msgpack.encode(asked), number, label=LABEL, plugins=scenario.plugins)

    def _drawn(self, place: int, value: int) -> int:
        draw = self.run.draws[place]
        return Chance(self.seed_of(0, value)).draw(draw.purpose, draw.subject, draw.ordinal)

    def _redraw(self, place: int, word: int) -> Redraw:
        draw = self.run.draws[place]
        return draw.purpose, draw.subject, draw.ordinal, word


def with_redraws(scenario: Scenario, redraws: Sequence[Redraw]) -> Scenario:
    """Return a scenario in which some draws have other values."""
    names = {redraw[:3] for redraw in redraws}
    kept = tuple(each for each in scenario.run.redraw if each[:3] not in names)
    run = msgspec.structs.replace(scenario.run, redraw=(*kept, *redraws))
    return msgspec.structs.replace(scenario, run=run)


def link_of(draw: ConsumedDraw) -> tuple[int, int, int] | None:
    """Return the sender, the receiver and the ordinal of the message that a draw was for; None for other draws."""
    source, arrow, destination = draw.subject.partition("->")
    if not arrow or draw.purpose.startswith("burst"):
        return None
    return int(source), int(destination), draw.ordinal


def message_of(run: FailedRun, draw: ConsumedDraw) -> tuple[str, int | None] | None:
    """Return the label and the view of the message that a draw was for."""
    link = link_of(draw)
    if link is None:
        return None
    sends: Iterable[tuple[tuple[int, int, int], tuple[str, int | None]]] = (
        ((event.node, body.destination, body.ordinal), (body.label, body.view))
        for event, body in events_of_type(iterate_events(run.log), Sent)
    )
    return next((told for found, told in sends if found == link), None)
