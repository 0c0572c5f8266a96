"""Variants of what a validator does with clocks: where it asks them, and what it believes of them."""

import sys
from dataclasses import replace
from typing import Any, Final

from msgspec import structs

from checker.mutants.mutant import Swap, Variant, swap
from network.port import Port
from scheduler.types import Moment
from validators import application
from validators.application import Application, ExecutionOver
from validators.execution import engine
from validators.execution.engine import Engine
from validators.node import Validator


def _faults(*faults: str) -> str:
    """Return a setting with faults of clocks, under way from the fourth second on for most of a run."""
    listed = ", ".join(f"f{place}={{start_ms=4_000, stop_ms=16_000, {fault}}}" for place, fault in enumerate(faults))
    return f"faults={{{listed}}}"


BEHIND: Final = _faults(
    'kind="clock-offset", validators=[0], offset_ms=-30_000', 'kind="clock-offset", validators=[1], offset_ms=-4_000'
)
"""Two clocks that are behind: their validators notarize little, and drag the time where they lead."""

JUMPING: Final = (
    "faults={"
    'jump={kind="clock-strobe", validators=[0, 1, 2, 3], offset_ms=-262_000, period_ms=8_000, start_ms=4_000, '
    "stop_ms=16_000},"
    'split={kind="partition", groups=[[0, 1], [2, 3]], start_ms=11_200, stop_ms=12_500}}'
)
"""Four clocks that jump back by minutes at 12 s, in the midst of a view that can only end by timeout."""

AHEAD: Final = _faults('kind="clock-offset", validators=[0], offset_ms=20_000')
"""One clock that is ahead by more than anybody should let pass."""


EARLY_AND_LATE: Final = _faults(
    'kind="clock-offset", validators=[0, 2], offset_ms=450', 'kind="clock-offset", validators=[1, 3], offset_ms=-450'
)
"""Clocks that differ by most of a second."""


def _ask_again_when_certifying() -> list[Swap]:
    def make(report: Any) -> Any:
        def report_if_near(self: Any, proposal: Any, *, is_sound: bool) -> None:
            limit_ms = self._port.wall_us // 1_000 + self._settings.max_skew_ms
            is_near = self._header_of(proposal.payload).timestamp_ms <= limit_ms
            report(self, proposal, is_sound=is_sound and is_near)

        return report_if_near

    return [swap(Application, "_report_certification", make)]


def _ask_again_when_executing() -> list[Swap]:
    def make(execute: Any) -> Any:
        def execute_if_near(self: Any, block: Any, digest: bytes) -> None:
            if block.header.timestamp_ms <= self._port.wall_us // 1_000 + self._settings.max_skew_ms:
                execute(self, block, digest)
                return
            self._follower.begin(digest)
            self._port.work(1, ExecutionOver(digest, "verify", block.header.view, "its timestamp is too far ahead"))

        return execute_if_near

    return [swap(Application, "_execute", make)]


def _ask_nobody() -> list[Swap]:
    def make(find_fault: Any) -> Any:
        def find_fault_at_any_time(self: Any, goal: Any, header: Any) -> Any:
            kept = self._settings
            self._settings = replace(kept, max_skew_ms=sys.maxsize)
            found = find_fault(self, goal, header)
            self._settings = kept
            return found

        return find_fault_at_any_time

    return [swap(Application, "_find_fault", make)]


def _let_time_go_back() -> list[Swap]:
    shown_ms = [1]

    def make_pace(pace: Any) -> Any:
        def pace_by_the_clock(self: Any, view: int) -> None:
            shown_ms[0] = max(self._port.wall_us // 1_000, 1)
            pace(self, view)

        return pace_by_the_clock

    def make_context(context: Any) -> Any:
        return lambda *, timestamp_ms, **rest: context(timestamp_ms=shown_ms[0] or timestamp_ms, **rest)

    def make_check(check: Any) -> Any:
        def check_but_the_time(self: Any, header: Any, parent: Any) -> None:
            check(self, header, structs.replace(parent, timestamp_ms=-1))

        return check_but_the_time

    return [
        swap(Application, "pace", make_pace),
        swap(application, "ProposalContext", make_context),
        swap(Engine, "_check_header", make_check),
    ]


def _slot_of_the_own_clock() -> list[Swap]:
    shown = {"ms": 0, "slot": 0}

    def note(step: Any) -> Any:
        def step_with_the_clock(self: Any, *arguments: Any) -> None:
            shown["ms"] = self._port.wall_us // 1_000
            step(self, *arguments)

        return step_with_the_clock

    def make_run(run: Any) -> Any:
        def run_by_the_clock(self: Any, *arguments: Any) -> Any:
            shown["slot"] = shown["ms"] // self._rules.genesis.slot_ms
            return run(self, *arguments)

        return run_by_the_clock

    def moment(height: int, _slot: int, parent_slot: int, timebase: Any) -> Moment:
        return Moment(height, max(shown["slot"], parent_slot), parent_slot, timebase)

    return [
        swap(Application, "pace", note),
        swap(Application, "_execute", note),
        swap(Engine, "_run", make_run),
        (engine, "Moment", moment),
    ]


def _wait_by_the_wall_clock() -> list[Swap]:
    deadlines_us: dict[Any, int] = {}

    def make_set(set_timer: Any) -> Any:
        def set_deadline(self: Any, key: Any, after_us: int) -> None:
            deadlines_us[key] = self.wall_us + after_us
            set_timer(self, key, after_us)

        return set_deadline

    def make_handle(handle: Any) -> Any:
        def handle_if_it_is_time(self: Any, key: Any, application: Any) -> None:
            left_us = deadlines_us.get(key, 0) - self._port.wall_us
            if left_us > 0:
                self._port.set_timer(key, left_us)
            else:
                handle(self, key, application)

        return handle_if_it_is_time

    return [swap(Port, "set_timer", make_set), swap(Validator, "_handle_timer", make_handle)]


CLOCKS: Final = (
    Variant(
        name="skew-checked-in-certify",
        what="a validator refuses to certify a block that is ahead of its own clock",
        area="consensus",
        caught_by=("certificates",),
        swaps=_ask_again_when_certifying,
        on_all=True,
        needs=(BEHIND,),
    ),
    Variant(
        name="skew-checked-in-execution",
        what="a block that is ahead of the validator's own clock is invalid, final or not",
        area="execution",
        caught_by=("agreement", "finality-regained"),
        swaps=_ask_again_when_executing,
        on_all=True,
        needs=(BEHIND,),
    ),
    Variant(
        name="skew-unchecked",
        what="a validator notarizes a block however far it is ahead of its own clock",
        area="consensus",
        caught_by=("block-times",),
        swaps=_ask_nobody,
        on_all=True,
        needs=(AHEAD,),
    ),
    Variant(
        name="time-goes-back",
        what="a block need not be later than its parent, and a leader writes what its clock shows",
        area="execution",
        caught_by=("block-times", "oracle"),
        swaps=_let_time_go_back,
        on_all=True,
        needs=(BEHIND,),
    ),
    Variant(
        name="slot-of-the-own-clock",
        what="the timers of a block are those due by the validator's own clock, not by the header",
        area="execution",
        caught_by=("equal-roots", "agreement"),
        swaps=_slot_of_the_own_clock,
        cause="execution",
        needs=('chain.timebase="slot"', EARLY_AND_LATE),
        shows="Timer",
        is_of_timer=True,
    ),
    Variant(
        name="timeouts-by-the-wall-clock",
        what="a timer fires when the wall clock has come to its deadline, which a jump puts minutes away",
        area="consensus",
        caught_by=("finality-regained",),
        swaps=_wait_by_the_wall_clock,
        on_all=True,
        needs=(JUMPING,),
    ),
)
"""Variants of what clocks are for."""
