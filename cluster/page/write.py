"""Writes pages: of a run into its directory, of two runs, of campaigns, and within their greatest size.

A page is an extra. What stands in a folder or in a record may keep it from being made, and costs nothing else: commands
print their verdict before they come here.
"""

import shlex
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from checker.explain.explanation import Explanation
from checker.record.errors import ReportedError, on_one_line
from checker.record.places import OwnFile, write_own
from checker.results import CheckResult
from cluster.page.gather import gather
from cluster.scenario.model import Scenario
from network.interrupts import came_of_interrupt
from network.plugin_errors import describe_error
from report.page.rows import MARKED, MESSAGE_KINDS, Columns, RunRows, Timeline

PAGE: Final = OwnFile(
    b'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" '
    b"content=\"default-src 'none'; style-src &#39;sha256-",
    "page of this program",
)
"""The kind of every page: `report/page/assets/base.html` begins so."""

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


def write_page(path: Path, make: Callable[[], bytes]) -> list[str]:
    """Make and write a page, and return the line that says where; no line where there is none (see `as_extra`)."""
    # A verdict that is printed is out before anything else happens.
    sys.stdout.flush()
    with as_extra(path):
        write_own(path, make(), PAGE)
        return [f"page {path}"]
    return []


@contextmanager
def as_extra(path: Path) -> Iterator[None]:
    """Let a page fail alone: whatever keeps it from being made is one line, and changes no verdict and no exit code."""
    try:
        yield
    except Exception as error:
        if came_of_interrupt(error):
            raise
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        said = str(error) if isinstance(error, ReportedError) else f"{path}: {describe_error(error) or reason}"
        sys.stderr.write(f"no page: {on_one_line(said)}\n")


def bounded_page(runs: Sequence[RunRows], **others: Any) -> bytes:  # noqa: ANN401 - as run_page takes them
    """Return the page of runs; what makes it too large is left out, messages first, and it says so."""
    # The library of templates costs a start 50 ms, and most commands write no page.
    from report.page.render import PAGE_BYTES_MAX, run_page  # noqa: PLC0415

    page = run_page(runs, **others)
    if len(page) > PAGE_BYTES_MAX:
        lines = [run.timeline._replace(messages=_marked_messages(run.timeline)) for run in runs]
        runs = [run._replace(timeline=line) for run, line in zip(runs, lines, strict=True)]
        page = run_page(runs, **others)
    if len(page) > PAGE_BYTES_MAX:
        lines = [run.timeline._replace(marks=_marked_events(run.timeline)) for run in runs]
        runs = [run._replace(timeline=line) for run, line in zip(runs, lines, strict=True)]
        page = run_page(runs, **others)
    return page


def _marked_messages(line: Timeline) -> Columns:
    fates = line.messages.arrays["fate"]
    return _left(line.messages, [place for place, fate in enumerate(fates) if int(fate) & MARKED])


def _marked_events(line: Timeline) -> Columns:
    kinds = line.marks.arrays["kind"]
    return _left(line.marks, [place for place, kind in enumerate(kinds) if line.kinds[int(kind)] in MESSAGE_KINDS])


def _left(columns: Columns, places: Sequence[int]) -> Columns:
    arrays = {name: array(values.typecode, [values[at] for at in places]) for name, values in columns.arrays.items()}
    return Columns(arrays, TOO_LONG)
