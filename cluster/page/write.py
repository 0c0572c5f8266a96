"""Writes pages: of a run into its directory, of two runs, and within their greatest size."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from checker.explain import Explanation
from checker.record.places import write_whole
from checker.results import CheckResult
from cluster.page.gather import gather
from cluster.scenario.model import Scenario
from report.page.rows import Columns, RunRows

PROGRAM: Final = "run_cluster.py"
"""The program in commands that a page names, where the record does not say how it was started."""

TOO_LONG: Final = "Left out, because the page would be larger than 3 MB."


def page_of(
    directory: Path,
    document: Mapping[str, Any],
    scenario: Scenario,
    checks: Sequence[CheckResult],
    *,
    place: Path,
    explanation: tuple[Explanation, str] | None = None,
) -> bytes:
    """Return the page of a run.

    Args:
        directory: The run directory, which may still lack its manifest.
        document: The verdict.
        scenario: The resolved scenario.
        checks: The results of the checks.
        place: Where the run directory is or will be.
        explanation: Why the run went wrong, if that was asked, with its headline.
    """
    program = _program_of(str(document.get("repeat", "")))
    commands = {} if explanation is not None else {"explain": f"{program} explain {shlex.quote(str(place))}"}
    commands["set beside the nearest seed that passes"] = f"{program} diff {shlex.quote(str(place))}"
    return bounded_page([gather(directory, document, scenario, checks, explanation=explanation, commands=commands)])


def _program_of(repeat: str) -> str:
    """Return what stands before the command in the line that repeats a run: interpreter and program."""
    try:
        typed = shlex.split(repeat)
    except ValueError:
        return PROGRAM
    return shlex.join(typed[: typed.index("run")]) if "run" in typed[1:] else PROGRAM


def write_page(path: Path, content: bytes) -> str:
    """Write a page beside a record, and return a line that says where; or why there is none, and go on without it."""
    try:
        write_whole(path, content)
    except OSError as error:
        return f"no page: {path}: {error.strerror}"
    return f"page {path}"


def bounded_page(runs: Sequence[RunRows], **others: Any) -> bytes:  # noqa: ANN401 - as run_page takes them
    """Return the page of runs; what makes it too large is left out, messages first, and it says so."""
    # The library of templates costs a start 50 ms, and most commands write no page.
    from report.page.render import PAGE_BYTES_MAX, run_page  # noqa: PLC0415

    page = run_page(runs, **others)
    if len(page) > PAGE_BYTES_MAX:
        lines = [run.timeline for run in runs]
        lines = [line._replace(messages=_emptied(line.messages)) for line in lines]
        runs = [run._replace(timeline=line) for run, line in zip(runs, lines, strict=True)]
        page = run_page(runs, **others)
    if len(page) > PAGE_BYTES_MAX:
        lines = [run.timeline._replace(marks=_emptied(run.timeline.marks)) for run in runs]
        runs = [run._replace(timeline=line) for run, line in zip(runs, lines, strict=True)]
        page = run_page(runs, **others)
    return page


def _emptied(columns: Columns) -> Columns:
    return Columns({name: values[:0] for name, values in columns.arrays.items()}, TOO_LONG)
