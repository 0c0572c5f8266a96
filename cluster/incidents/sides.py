"""Runs both sides of an incident, and sets what was measured then beside what is measured here."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from checker.families import full_name
from cluster.incidents.figures import figure_of
from cluster.incidents.incident import ExpectedSide, LoadedIncident, Measure, Side
from cluster.live.progress import LiveProgress
from cluster.verdict.pipeline import run_pipeline
from cluster.verdict.result import PipelineResult

WITHIN: Final = 0.1
"""The greatest difference between the ratio of then and of here, as a share, that needs no explanation."""


class MeasureRow(NamedTuple):
    """A measure: its meaning, the figure of then, and the figure of here."""

    name: str
    what: str
    then: int | float | str
    here: int | None


class SideRow(NamedTuple):
    """A side: its verdict and failed checks, and what is wrong with them."""

    side: Side
    result: PipelineResult
    failed: tuple[str, ...]
    wrong: str

    @property
    def directory(self) -> str:
        """The run directory; empty if none stays."""
        return str(self.result.directory or "")


class ThenAndHere(NamedTuple):
    """An incident's two runs beside its source."""

    loaded: LoadedIncident
    measures: tuple[MeasureRow, ...]
    sides: tuple[SideRow, ...]
    then: float
    here: float | None
    """The kept ratio; None where the run has nothing to divide by."""

    @property
    def is_kept(self) -> bool:
        """Whether the ratio here is that of then, within a tenth."""
        return self.here is not None and abs(self.here - self.then) <= WITHIN * self.then

    @property
    def wrong(self) -> list[str]:
        """The deviations from the incident's file, a line each."""
        found = [f"{side.side}: {side.wrong}" for side in self.sides if side.wrong]
        scale = self.loaded.incident.scale
        if self.here is None:
            found.append(f"scale: {scale.ratio[1]} is 0 here, so there is no ratio")
        elif not self.is_kept and not scale.difference:
            found.append(f"scale: the ratio was {self.then:.3g} and is {self.here:.3g} here, without an explanation")
        return found


def compare(
    loaded: LoadedIncident, *, runs: Path | None, progress: Callable[[str], LiveProgress], command: str = ""
) -> ThenAndHere:
    """Run both sides of an incident; `progress` opens the display of a run by its title, `command` repeats both."""
    results: dict[Side, PipelineResult] = {}
    for side, scenario in loaded.sides.items():
        with progress(scenario.name) as shown:
            seed = loaded.incident.seed
            results[side] = run_pipeline(scenario, seed, runs=runs, progress=shown, command=command, has_page=False)
    measured = loaded.incident.measured
    rows = {name: _measure(name, measure, results) for name, measure in measured.items()}
    over, under = (rows[name] for name in loaded.incident.scale.ratio)
    expect = loaded.incident.expect
    sides = (
        _side("healthy", results["healthy"], expect.healthy),
        _side("planted", results["planted"], expect.planted),
    )
    assert not isinstance(over.then, str), "a kept ratio is one of numbers, which reading the file has checked"
    assert not isinstance(under.then, str), "as above"
    here = over.here / under.here if over.here is not None and under.here else None
    return ThenAndHere(loaded, tuple(rows.values()), sides, over.then / under.then, here)


def _measure(name: str, measure: Measure, results: Mapping[Side, PipelineResult]) -> MeasureRow:
    here = figure_of(results[measure.side], measure.here) if measure.here else None
    return MeasureRow(name, measure.what, measure.then, here)


def _side(side: Side, result: PipelineResult, expected: ExpectedSide) -> SideRow:
    failed = tuple(full_name(check.name) for check in result.checks if check.status == "failed")
    wrong = ""
    if result.verdict != expected.verdict:
        wrong = f"the verdict is {result.verdict}, expected {expected.verdict}: {result.headline}"
    elif missing := [name for name in expected.fails if name not in failed]:
        wrong = f"{', '.join(missing)} did not fail, expected to find the fault"
    return SideRow(side, result, failed, wrong)
