"""The answer of a study: figures with intervals by arm, findings with their differences, and whether they count."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from cluster.studies.load import Trials, matching
from cluster.studies.statistics import SEEDS_MIN, Direction, Interval, difference_of, direction_of, interval_of
from cluster.studies.study import Bound, Contrast, Drawing
from cluster.studies.trials import Found
from network.words import counted
from report.page.study_rows import ArmRow, FindingRow, Plot, Series, SpreadRow, StudyRows

METHOD: Final = "mean over seeds; 95 % interval: percentile bootstrap of 1,000 resamples of the seeds"


class StudyAnswer:
    """The trials of a study, read: `figures` are the values over seeds by arm and figure."""

    def __init__(self, trials: Trials, seeds: range, found: Mapping[tuple[int, int], Found]) -> None:
        self._trials = trials
        self._seeds = seeds
        self._found = found
        self._intervals: dict[tuple[int, str], Interval | None] = {}

    def values(self, arm: int, figure: str) -> list[float | None]:
        """Return a figure of an arm, seed by seed."""
        return [self._found[arm, seed][figure] for seed in self._seeds]

    def interval(self, arm: int, figure: str) -> Interval | None:
        """Return the mean of a figure of an arm, over the seeds that have a value."""
        if (arm, figure) not in self._intervals:
            values = [value for value in self.values(arm, figure) if value is not None]
            self._intervals[arm, figure] = interval_of(values)
        return self._intervals[arm, figure]

    def invalid(self) -> list[tuple[str, str, str]]:
        """Return the validity checks that an arm does not meet: the figure, the bound, what was found."""
        rows = map(self._held, self._trials.study.validity)
        return [(figure, bound, found) for figure, bound, found, is_held in rows if not is_held]

    def validity(self) -> list[tuple[str, str, str]]:
        """Return each validity check: the figure, the bound, what was found where it is worst."""
        return [self._held(bound)[:3] for bound in self._trials.study.validity]

    def _held(self, bound: Bound) -> tuple[str, str, str, bool]:
        limits = []
        if bound.at_least is not None:
            limits.append(f"at least {bound.at_least:g}")
        if bound.at_most is not None:
            limits.append(f"at most {bound.at_most:g}")
        found = [
            (self._excess(interval, bound), interval, arm)
            for arm in matching(self._trials.study, self._trials.arms, bound.where)
            for interval in [self.interval(arm, bound.figure)]
        ]
        if not found:
            return bound.figure, " and ".join(limits), "no arm", False
        worst, interval, arm = max(found, key=lambda each: each[0])
        label = self._trials.arms[arm].label
        value = "nothing to count" if interval is None else f"{interval.mean:.4g}"
        where = f" ({label})" if label else ""
        return bound.figure, " and ".join(limits), f"{value}{where}", worst <= 0

    @staticmethod
    def _excess(interval: Interval | None, bound: Bound) -> float:
        """Return by how much a mean misses its bound; at most 0 for a mean within."""
        if interval is None:
            return float("inf")
        under = float("-inf") if bound.at_least is None else bound.at_least - interval.mean
        over = float("-inf") if bound.at_most is None else interval.mean - bound.at_most
        return max(under, over, -1e308)

    def direction(self, finding: Contrast) -> tuple[Direction, str]:
        """Return how the figure of a finding moves, and the difference in words."""
        study, arms = self._trials.study, self._trials.arms
        first, second = (matching(study, arms, choice) for choice in (finding.from_, finding.to))
        if not first or not second:
            return "unclear", "an arm of it was not run"
        differences = [
            difference_of(self.values(one, finding.figure), self.values(two, finding.figure))
            for one, two in zip(first, second, strict=False)
        ]
        found = [each for each in differences if each is not None]
        if len(found) < len(first):
            return "unclear", "a trial has nothing to count"
        words = "; ".join(
            f"from {_mean(self.interval(one, finding.figure))} to {_mean(self.interval(two, finding.figure))}, "
            f"difference {each.mean:+.3g} [{each.low:+.3g}, {each.high:+.3g}]"
            for one, two, each in zip(first, second, found, strict=False)
        )
        directions = list(dict.fromkeys(direction_of(each, finding.within) for each in found))
        return directions[0] if len(directions) == 1 else "unclear", words

    def findings(self) -> list[FindingRow]:
        """Return each finding with its difference, and whether it holds."""
        rows = []
        for finding in self._trials.study.findings:
            direction, words = self.direction(finding)
            rows.append(FindingRow(f"{finding.says} ({finding.figure}: {words})", _status(direction, finding.expect)))
        return rows

    def rows(self, facts: Sequence[tuple[str, str]]) -> StudyRows:
        """Return what the console, the page and the files show."""
        study, invalid, findings = self._trials.study, self.invalid(), self.findings()
        held = sum(row.status == "holds" for row in findings)
        if invalid:
            figure, bound, value = invalid[0]
            headline = f"the answer does not count: {figure} must be {bound}, found {value}"
        else:
            headline = f"{held} of {counted(len(findings), 'findings')} hold"
            if len(self._seeds) < SEEDS_MIN:
                headline += f"; an interval needs {SEEDS_MIN} seeds"
        return StudyRows(
            name=self._trials.name,
            title=study.title,
            question=study.question.strip(),
            place=study.place,
            verdict="inconclusive" if invalid else "passed",
            headline=headline,
            # A conclusion stands on its findings: without one of them the differences speak for themselves.
            sentences=[study.answer.strip()] if study.answer and not invalid and held == len(findings) else [],
            limits=[study.limits.strip()],
            facts=[*facts, ("method", METHOD)],
            axes=[*study.axes],
            figures=[*study.figures],
            arms=[
                ArmRow(arm.values, len(self._seeds), [_spread(self.interval(index, each)) for each in study.figures])
                for index, arm in enumerate(self._trials.arms)
            ],
            findings=findings,
            validity=self.validity(),
            plots=[self._plot(each) for each in self._drawings()],
        )

    def _drawings(self) -> Sequence[Drawing]:
        study = self._trials.study
        if study.plots or not study.axes:
            return study.plots
        first = next(iter(study.axes))
        return [Drawing(figure=figure, over=first) for figure in study.figures]

    def _plot(self, drawing: Drawing) -> Plot:
        study, arms = self._trials.study, self._trials.arms
        place = [*study.axes].index(drawing.over)
        lines: dict[tuple[str, ...], dict[str, SpreadRow | None]] = {}
        for index in matching(study, arms, drawing.where):
            values = arms[index].values
            others = tuple(value for at, value in enumerate(values) if at != place)
            lines.setdefault(others, {})[values[place]] = _spread(self.interval(index, drawing.figure))
        x = list(dict.fromkeys(arm.values[place] for arm in arms))
        series = [
            Series(", ".join(name) or drawing.figure, [line.get(value) for value in x]) for name, line in lines.items()
        ]
        return Plot(drawing.figure, drawing.over, x, series)


def _status(direction: Direction, expected: Direction) -> Literal["holds", "does not hold", "unclear"]:
    if direction == expected:
        return "holds"
    return "unclear" if direction == "unclear" else "does not hold"


def _spread(interval: Interval | None) -> SpreadRow | None:
    return None if interval is None else SpreadRow(*interval)


def _mean(interval: Interval | None) -> str:
    return "nothing" if interval is None else f"{interval.mean:.4g}"
