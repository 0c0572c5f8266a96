"""The report of a mutation scan: its progress, its tables, and the page docs/mutation-scan.md."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from rich.table import Table
from rich.text import Text

from report.campaign import CampaignProgress

KILLED: Final = "killed"
SURVIVED: Final = "survived"
NEVER_DIFFERED: Final = "never differed"
UNREACHED: Final = "unreached"
NOT_LOADABLE: Final = "not loadable"
EQUIVALENT: Final = "equivalent"

OPEN: Final = "open"
"""Stands for the end of a mutant that some runs are left for."""

STATUSES: Final = (KILLED, SURVIVED, NEVER_DIFFERED, UNREACHED, OPEN, EQUIVALENT, NOT_LOADABLE)
"""The ends of a mutant, in the order of the columns."""

COUNTED: Final = (KILLED, SURVIVED, NEVER_DIFFERED, UNREACHED, OPEN)
"""The ends over which the share of the killed is taken: who is killed has a result sooner than who survives."""


LINE_SECONDS: Final = 10
"""Real seconds between two lines on a pipe that say how far the clean runs are."""


class ScanRow(NamedTuple):
    """One mutant with its result.

    Attributes:
        file: The source.
        line: The line.
        function: The function or class.
        room: The room.
        operator: The operator.
        family: The operator without what it replaces by what.
        occurrence: The place's number among those of the operator in the source.
        before: The changed lines as they are.
        after: The changed lines.
        status: One of `STATUSES`.
        check: The check that killed it.
        run: The run that killed it.
        headline: The line of that run, or the reason of an equivalent one.
        reached: Runs that execute the line, as far as that was counted.
        differed: Runs in which the change makes a difference where it stands.
        tried: Runs that were made with it.
        cpu_ms: Processor milliseconds of these.
        changed: Of a survivor, runs whose digest is not that of the clean run.
    """

    file: str
    line: int
    function: str
    room: str
    operator: str
    family: str
    occurrence: int
    before: str
    after: str
    status: str
    check: str = ""
    run: str = ""
    headline: str = ""
    reached: int = 0
    differed: int = 0
    tried: int = 0
    cpu_ms: int = 0
    changed: int = 0

    @property
    def place(self) -> str:
        """The place in the sources."""
        return f"{self.file}:{self.line}"


class ScanProgress(CampaignProgress):
    """Says the result of each mutant in fixed columns; a terminal shows the last run as well."""

    def __init__(self, *, is_quiet: bool) -> None:
        super().__init__(header=f"{'real s':>8}{'runs':>6}  {'result':<24}  mutant", is_quiet=is_quiet)
        self._next_line_s = 0.0

    def tell(self, row: ScanRow) -> None:
        """Print a line: a mutant and its result."""
        killer = f" by {row.check}" if row.check else ""
        line = f"{self.seconds:8.1f}{row.tried:>6}  {row.status + killer:<24}  {row.place} {row.operator}"
        self.say(line)

    def show(self, line: str) -> None:
        """Draw the last run, on a terminal; on a pipe say it, some seconds apart."""
        self.draw(Text(line, no_wrap=True, overflow="ellipsis"))
        if self._live is None and self.seconds >= self._next_line_s:
            self._next_line_s = self.seconds + LINE_SECONDS
            self.say(f"{self.seconds:8.1f}        {line}")


def killed_share(rows: Sequence[ScanRow]) -> int:
    """Return the share of the killed among the mutants that a run could show, in percent, rounded down."""
    counted = [row for row in rows if row.status in COUNTED]
    return 100 * sum(row.status == KILLED for row in counted) // max(len(counted), 1)


def _groups(rows: Sequence[ScanRow], name: Callable[[ScanRow], str]) -> Iterator[tuple[str, ...]]:
    """Yield the counts of each group, and of all."""
    grouped: dict[str, list[ScanRow]] = {}
    for row in sorted(rows, key=name):
        grouped.setdefault(name(row), []).append(row)
    for title, members in [*grouped.items(), ("all", list(rows))]:
        counts = [str(sum(row.status == status for row in members)) for status in STATUSES]
        yield (title, str(len(members)), *counts, f"{killed_share(members)} %")


_HEADERS: Final = ("mutants", *STATUSES, "killed share")


def scan_tables(rows: Sequence[ScanRow]) -> list[Table]:
    """Return the tables for a terminal: by room and by kind of operator."""
    tables = []
    for title, name in (("room", _room), ("operator", _family)):
        table = Table(title=f"mutation scan by {title}", title_justify="left")
        for header in (title, *_HEADERS):
            table.add_column(header, justify="left" if header == title else "right")
        for cells in _groups(rows, name):
            table.add_row(*cells)
        tables.append(table)
    return tables


def _room(row: ScanRow) -> str:
    return row.room


def _family(row: ScanRow) -> str:
    return row.family


def scan_totals(rows: Sequence[ScanRow]) -> Iterator[str]:
    """Yield the totals, in lines."""
    counted = [row for row in rows if row.status in COUNTED]
    killed = [row for row in counted if row.status == KILLED]
    yield f"{len(killed)} of {len(counted)} mutants killed ({killed_share(rows)} %), equivalents left out"
    if left := sum(row.status == OPEN for row in rows):
        yield f"{left} of them have no result yet and count as not killed; the same command goes on with them"
    else:
        reached = [row for row in counted if row.status != UNREACHED]
        yield f"{len(killed)} of {len(reached)} that are reached ({killed_share(reached)} %)"
        differing = [row for row in reached if row.status != NEVER_DIFFERED]
        yield f"{len(killed)} of {len(differing)} that make a difference where they stand ({killed_share(differing)} %)"
    if killed:
        tried = sorted(row.tried for row in killed)
        yield f"runs it took: {tried[len(tried) // 2]} in the median, {tried[-1]} at most"


def survivor_lines(rows: Sequence[ScanRow]) -> Iterator[str]:
    """Yield two lines for each survivor: where it is, and the changed line."""
    for row in rows:
        if row.status in {SURVIVED, OPEN} and row.tried:
            yield f"{row.status}: {row.place} {row.function}{_describe_runs(row)}"
            yield f"  {row.after}"


def scan_page(rows: Sequence[ScanRow], *, command: str, runs: str, code: str) -> str:
    """Return docs/mutation-scan.md.

    Args:
        rows: The mutants.
        command: The command that writes it.
        runs: The runs that mutants were tried in, in words.
        code: The code.
    """
    checks: dict[str, int] = {}
    for row in rows:
        if row.status == KILLED:
            checks[row.check] = checks.get(row.check, 0) + 1
    ranked = sorted(checks.items(), key=lambda each: (-each[1], each[0]))
    return _PAGE.format(
        command=command,
        runs=runs,
        code=code,
        totals="\n".join(f"- {line}" for line in scan_totals(rows)),
        rooms=_markdown("room", _groups(rows, _room)),
        checks="".join(f"| `{check}` | {count} |\n" for check, count in ranked),
        survived="".join(f"- {_head_of(row)}\n" for row in _in_order(rows, SURVIVED)[:SURVIVORS_SHOWN]) or "None.\n",
    )


def scan_lists(rows: Sequence[ScanRow]) -> str:
    """Return the mutants that no check killed with their lines, and the counts by operator: a file of a release."""
    return _LISTS.format(
        operators=_markdown("operator", _groups(rows, _family)),
        survived=_listed(rows, SURVIVED),
        left=_listed(rows, OPEN),
        never=_listed(rows, NEVER_DIFFERED),
        unreached=_listed(rows, UNREACHED),
    )


def _markdown(title: str, groups: Iterator[tuple[str, ...]]) -> str:
    head = f"| {' | '.join((title, *_HEADERS))} |\n|---|{'--:|' * len(_HEADERS)}\n"
    return head + "".join(f"| {' | '.join(cells)} |\n" for cells in groups)


def _in_order(rows: Sequence[ScanRow], status: str) -> list[ScanRow]:
    ordered = sorted(rows, key=lambda row: (row.file, row.line, row.operator, row.occurrence))
    return [row for row in ordered if row.status == status]


def _listed(rows: Sequence[ScanRow], status: str) -> str:
    """Return the mutants of one status, each with its line before and after."""
    parts = [
        f"{_head_of(row)}{_describe_runs(row)}\n\n```diff\n- {row.before}\n+ {row.after}\n```\n"
        for row in _in_order(rows, status)
    ]
    return "\n".join(parts) or "None.\n"


def _head_of(row: ScanRow) -> str:
    return f"`{row.place}` {row.function or 'module'}, {row.operator}"


def _describe_runs(row: ScanRow) -> str:
    if row.status in {SURVIVED, OPEN}:
        return f"; differs in {row.differed} runs, of {row.tried} that were tried {row.changed} have another digest"
    return f"; reached in {row.reached} runs" if row.reached else ""


SURVIVORS_SHOWN: Final = 30
"""Survivors that the page names; the lists have all."""

_PAGE: Final = """# Mutation scan

Changes of the code that nobody chose: how many the checks of runs notice.
This page is written by `{command}`; a change by hand is lost.

The operators of a mutation library change one place of one source (a comparison, a number, a condition, a loop, an
exception). A keyed sample of all places is tried. Every validator, the replay and the test bed have the mutant, as they
would have a mistake of the code. The scan runs it in {runs}; it runs no unit test. The first check that fails, and
passes without the mutant, kills it. So does a crash, or a time-out of several times the clean run's steps or processor
time. Clean runs with probes first find the runs that can show a mutant.

- *survived*: the changed expression had another value in a run, and no check failed in any run that was tried;
- *never differed*: the line ran, and the changed expression had the original value each time;
- *unreached*: the line never ran;
- *open*: no result yet; counts as not killed;
- *equivalent*: no run can show it, for the reason in
  [mutation-scan-equivalents.toml](mutation-scan-equivalents.toml);
- *not loadable*: the module cannot be imported.

The killed share leaves out the last two. The same file names code that refuses bad input or words a message; the scan
does not draw it. Checks of the run alone kill mutants of `faults` and `network`.

{totals}
- {code}

`--tables dist` also writes `dist/mutation-scan.md`, a file of a release: counts by operator, and each mutant that no
check killed with its lines before and after.

## By room

{rooms}
## By check

| killed by | mutants |
|---|--:|
{checks}
## Survived

{survived}"""

_LISTS: Final = """# Mutants of a scan

## By operator

{operators}
## Survived

{survived}
## Without a result yet

{left}
## Never differed

{never}
## Unreached

{unreached}"""
