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
        operators=_markdown("operator", _groups(rows, _family)),
        checks="".join(f"| `{check}` | {count} |\n" for check, count in ranked),
        survived=_listed(rows, SURVIVED),
        left=_listed(rows, OPEN),
        never=_listed(rows, NEVER_DIFFERED),
        unreached=_listed(rows, UNREACHED),
    )


def _markdown(title: str, groups: Iterator[tuple[str, ...]]) -> str:
    head = f"| {' | '.join((title, *_HEADERS))} |\n|---|{'--:|' * len(_HEADERS)}\n"
    return head + "".join(f"| {' | '.join(cells)} |\n" for cells in groups)


def _listed(rows: Sequence[ScanRow], status: str) -> str:
    """Return the mutants of one status, each with its line before and after."""
    parts = []
    for row in sorted(rows, key=lambda row: (row.file, row.line, row.operator, row.occurrence)):
        if row.status == status:
            runs = _describe_runs(row)
            head = f"`{row.place}` {row.function or 'module'}, {row.operator}{runs}"
            parts.append(f"{head}\n\n```diff\n- {row.before}\n+ {row.after}\n```\n")
    return "\n".join(parts) or "None.\n"


def _describe_runs(row: ScanRow) -> str:
    if row.status in {SURVIVED, OPEN}:
        return f"; differs in {row.differed} runs, of {row.tried} that were tried {row.changed} have another digest"
    return f"; reached in {row.reached} runs" if row.reached else ""


_PAGE: Final = """# Mutation scan

Changes of the code that nobody chose, and those that no check notices.
This page is written by `{command}`; a change by hand is lost.

The mutants of the catalogue were written by hand, and the checks have learnt them by heart. Those of a scan
were not: the operators of a mutation library change one place of one source each (a comparison, a number, a condition,
a loop, an exception), and a keyed sample of all such places is tried. Each mutant stands in every validator at once, in
the replay and in the test bed alike, as a mistake of the code would. It is run in {runs}, and in
no unit test. It is killed by the first check that fails and does not fail without it, by a crash, or by a time-out of
several times the clean run's steps or processor time.

Clean runs with probes say first which runs can show a mutant at all, so that only those are made:

- *survived*: it made a difference where it stands in at least one run, and no check failed in any that was tried; where
  some of these have another digest, validators behaved differently and nobody asked why;
- *never differed*: its line ran, and what it changes had the value of the original each time;
- *unreached*: its line never ran;
- *equivalent*: no run can show it, for the reason in
  [mutation-scan-equivalents.toml](mutation-scan-equivalents.toml);
- *not loadable*: its module cannot be imported; it counts for nothing.

The killed share leaves out the last two; what has no result yet (*open*) counts as not killed. Code that is not there
for runs (it refuses bad input, or words something for a person) is named in the same file and not drawn. What is killed
in `faults` and `network` is killed by the checks of the run alone: a fault that does less than it says is the business
of the test bed's own audit.

{totals}
- {code}

## By room

{rooms}
## By operator

{operators}
## By check

| killed by | mutants |
|---|--:|
{checks}
## Survived

{survived}
## Without a result yet

{left}
## Never differed

{never}
## Unreached

{unreached}"""
