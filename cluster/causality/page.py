"""The page of a failed run with its curve: the course of the run, the curve under it, and the messages that decided.

The run is run again for its page, this time judged by all checks: a continuation is judged by one family and leaves no
record.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from checker.record.places import scratch_directory
from cluster.campaign.tasks import replay_kept
from cluster.causality.asking import Mode
from cluster.causality.continuations import FailedRun
from cluster.causality.draws import JudgedDraw, link_of
from cluster.causality.intervals import MILLION, wilson_ppm
from cluster.causality.rise import Rise
from cluster.causality.told import TITLES, point_words, rise_sentences
from cluster.causality.told_draws import SHOWN, draw_lines, sentence_of
from cluster.inspect.witness import ExecutionWitness
from cluster.live.progress import LiveProgress
from cluster.page.events import Link
from cluster.page.gather import gather
from cluster.page.write import bounded_page
from cluster.verdict.pipeline import run_pipeline
from report.page.rows import CurvePoint, CurveRows, CurveStrip, RunRows

AROUND_TURNS: Final = 60
"""The turns before and after a rise whose events the page opens with."""


class CurvesOnPage(NamedTuple):
    """The curves of a failed run by mode, the turns whose draws were changed, and the draws that move the failure."""

    run: FailedRun
    curves: Mapping[Mode, Rise]
    tried: tuple[int, int] | None
    draws: Sequence[JudgedDraw]


def page_of_curves(
    found: CurvesOnPage, progress: LiveProgress, *, note: str, repeat: str, commands: Mapping[str, str]
) -> bytes:
    """Return the page of a failed run with its curves; `note` says which run it is, `repeat` is its command."""
    rows = _run_again(found, progress, repeat, commands)
    return bounded_page([rows._replace(curve=curve_rows(found, note))])


def _run_again(found: CurvesOnPage, progress: LiveProgress, repeat: str, commands: Mapping[str, str]) -> RunRows:
    run, witness = found.run, ExecutionWitness()
    with scratch_directory("curve") as scratch, progress:
        result = run_pipeline(
            run.scenario,
            run.seed,
            runs=scratch,
            progress=progress,
            replay=replay_kept,
            has_page=False,
            witnesses=[witness],
        )
        assert result.directory is not None, "the record of a run that is over"
        explanation = witness.explain(result.checks, bytes(result.log)), run.answer
        return gather(
            result.directory,
            result.as_json(repeat),
            result.scenario,
            result.checks,
            explanation=explanation,
            commands=commands,
            marked=marked_messages(found.draws),
        )


def curve_rows(found: CurvesOnPage, note: str) -> CurveRows:
    """Return the curves of a failed run as rows of its page."""
    run, tried = found.run, found.tried
    told = [] if tried is None else [line.strip() for line in draw_lines(found.draws, *tried)]
    shown = [each for each in found.draws[:SHOWN] if _marked_link(each) is None]
    return CurveRows(
        note=note,
        strips=tuple(_strip(run, mode, rise) for mode, rise in found.curves.items()),
        draws=tuple(told),
        moments=tuple((run.time_of(each.draw.turn), sentence_of(each)) for each in shown),
        window=_window(found),
    )


def marked_messages(draws: Sequence[JudgedDraw]) -> dict[Link, str]:
    """Return the messages of the strongest draws by their links, each with the sentences about its draws."""
    told: dict[Link, list[str]] = {}
    for each in draws[:SHOWN]:
        if (link := _marked_link(each)) is not None:
            told.setdefault(link, []).append(sentence_of(each))
    return {link: "; ".join(sentences) for link, sentences in told.items()}


def _marked_link(judged: JudgedDraw) -> Link | None:
    """Return the link of the message that a draw was for; None if the log has no such message."""
    return None if judged.message is None else link_of(judged.draw)


def _strip(run: FailedRun, mode: Mode, rise: Rise) -> CurveStrip:
    points = () if rise.low is None else tuple(_points(run, rise))
    at = None if rise.low is None else (rise.low.turn, rise.low.at_us)
    return CurveStrip(TITLES[mode], points, at, tuple(rise_sentences(run, rise)))


def _points(run: FailedRun, rise: Rise) -> Iterator[CurvePoint]:
    for point in rise.points:
        # From after the last turn on no draw is left: the share is certain.
        is_end = point.turn > run.turns
        bounds = (MILLION, MILLION) if is_end else wilson_ppm(point.same, point.runs)
        share = MILLION * point.same // point.runs
        yield CurvePoint(point.turn, point.at_us, share, *bounds, point_words(run, point))


def _window(found: CurvesOnPage) -> tuple[int, int] | None:
    """Return the interval of the turns around the first rise, which holds the marked messages whole."""
    run, lows = found.run, [rise.low.turn for rise in found.curves.values() if rise.low is not None]
    if not lows:
        return None
    marked = [each for each in found.draws[:SHOWN] if _marked_link(each) is not None]
    first, last = min([lows[0], *(each.draw.turn for each in marked)]), lows[0] + 1
    arrivals = [run.time_of(each.draw.turn) + (each.had.delay_us or 0) for each in marked]
    since_us = run.time_of(max(1, first - AROUND_TURNS))
    until_us = max(run.time_of(last + AROUND_TURNS), *arrivals, since_us + 1_000)
    return since_us, until_us
