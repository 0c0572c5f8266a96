"""The end of a run on the console: the story, the families of checks, the verdict, and the next commands.

The end has at most `LINES_MAX` lines at any width of 80 columns or more. The heaviest rows are left out first, and a
line then counts them.
"""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Final, NamedTuple

from network.words import counted
from report.verdict_rows import CheckRow, StoryLine
from report.visible import visible
from report.words import join_words, reasons_in_words, short_names

LINES_MAX: Final = 20
"""Lines of a run's result, without the lines that `--checks all` adds."""

LABEL_COLUMNS: Final = 13
"""Columns of the labels at the left: `inconclusive` and a space."""

FAILURES_SHOWN: Final = 3
"""Failed or inconclusive families with a line of their own; a single line names the remaining families."""


LEFT_OUT_FIRST: Final = {"time": 1, "compared": 1, "timers": 2, "fault": 3}
"""Weights of lines of a story that an ending leaves out before all others; the greatest weight goes first."""

SENTENCE_LINES: Final = 4
"""Lines of the verdict: an explanation has two sentences of at most 120 characters."""


class Row(NamedTuple):
    """A labelled text of an ending; the row with the greatest weight is left out first."""

    label: str
    text: str
    lines_max: int = 2
    weight: int = 0


class Ending(NamedTuple):
    """The content of a run's end.

    Attributes:
        title: The scenario and the seed.
        story: The events of the run by subject.
        families: A row for each family of checks.
        not_asked: Reasons by the names of families without a result.
        sentence: The result with its sentence.
        places: Labels with texts that are never cut: the digest, paths, commands.
    """

    title: str
    story: Sequence[StoryLine]
    families: Sequence[CheckRow]
    not_asked: Mapping[str, str]
    sentence: str
    places: Sequence[tuple[str, str]]


def ending_lines(ending: Ending, width: int) -> list[str]:
    """Return the lines of an ending in a console of this width."""
    rows = [
        *_story_rows(ending.story),
        *_family_rows(ending.families, ending.sentence),
        *[Row("not asked", "; ".join(reasons_in_words(ending.not_asked)), 1)] * bool(ending.not_asked),
    ]
    tail = [
        *_wrapped("", ending.sentence, width, SENTENCE_LINES),
        *(f"{label:<{LABEL_COLUMNS}}{visible(text)}" for label, text in ending.places),
    ]
    shown = _fitted(rows, LINES_MAX - 1 - len(tail), width)
    return [
        ending.title,
        *(line for row in shown for line in _wrapped(row.label, row.text, width, row.lines_max)),
        *tail,
    ]


def _story_rows(story: Sequence[StoryLine]) -> Iterable[Row]:
    """Yield the rows of a story: of two lines with one weight the later one is left out first."""
    for place, line in enumerate(story):
        yield Row(line.label, line.text, weight=LEFT_OUT_FIRST.get(line.label, 0) * len(story) + place)


def _family_rows(families: Sequence[CheckRow], sentence: str) -> Iterable[Row]:
    """Yield the failed families, then the inconclusive families, then a row with all passed families."""
    for status in ("failed", "inconclusive"):
        found = [row for row in families if row.status == status]
        for row in found[:FAILURES_SHOWN]:
            # The verdict repeats this summary in full.
            yield Row(status, f"{row.name}: {row.summary}", 1 if row.summary in sentence else 2)
        if others := [row.name for row in found[FAILURES_SHOWN:]]:
            yield Row(status, f"{join_words(others)} too", 1)
    if passed := [row.name for row in families if row.status == "passed"]:
        yield Row("passed", join_words(passed))


def _fitted(rows: Sequence[Row], lines: int, width: int) -> list[Row]:
    """Return the rows that fit into `lines` lines: long texts are cut to one line before rows are left out."""
    kept = list(rows)

    def is_too_long() -> bool:
        left_out = len(kept) < len(rows)
        return left_out + sum(len(_wrapped(row.label, row.text, width, row.lines_max)) for row in kept) > lines

    lighter_last = sorted((row for row in rows if row.weight), key=lambda row: -row.weight)
    for row in lighter_last:
        if is_too_long():
            kept[kept.index(row)] = row._replace(lines_max=1)
    for row in [row for row in lighter_last if is_too_long()]:
        if is_too_long():
            kept.remove(next(each for each in kept if each[:2] == row[:2]))
    if left_out := len(rows) - len(kept):
        kept.append(Row("...", f"{counted(left_out, 'more lines')} on the page", 1))
    return kept


def _wrapped(label: str, text: str, width: int, lines_max: int) -> list[str]:
    """Return a labelled text in at most `lines_max` lines of this width; a cut text ends in an ellipsis."""
    first = f"{label:<{LABEL_COLUMNS}}" if label else ""
    lines = wrap(
        short_names(visible(text)),
        max(width, 40),
        initial_indent=first,
        subsequent_indent=" " * len(first),
        max_lines=lines_max,
        placeholder=" ...",
        break_on_hyphens=False,
    )
    return lines or [first.rstrip()]
