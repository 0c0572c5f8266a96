"""The page of one case, from the failure to the draw: `python -m tests.causality.page > docs/causality.md`.

The page has what the commands print. A run of the commands takes a minute or two.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import Final

from checker.record.root import PROJECT_ROOT
from tests.causality.cases import BASE, HOLDER, PLUGIN, TRIGGERED, Case

CASE: Final = TRIGGERED[0]

PAGE: Final = PROJECT_ROOT / "docs" / "causality.md"

MEASURED: Final = PROJECT_ROOT / "tests" / "causality" / "measured.txt"
"""The rows of `python -m tests.causality`."""

WIDTH: Final = 118

_TEXT: Final = """\
# Which draw made a run fail

`explain` says which write made states differ. `curve` says why this run failed and the next one passes: from which turn
on the failure could no longer be avoided, and which draw decided that. `python -m tests.causality.page >
docs/causality.md` runs the commands below and writes this page; do not edit it.

## The failure

Validator {holder} has a planted bug. It pays a refund that is one unit too low, from two heights after the first block
that it had to ask for. (`tests/causality/plugin` has the bug; set `PYTHONPATH` to this folder.) One block in fifty is
lost on its way.

```
{run}
```

```
{failure}
```

This says where states part. It does not say what happened before: height and timer have nothing to do with the cause.

## The curve

```
run_cluster.py curve runs/{record}
```

```
{curve}
```

Each row repeats the run up to a turn, and draws all later delays, losses and other chance anew. Before the rise, no
continuation fails; after it, all do. So the failure was decided there, although nobody saw it for another second. The
block that got lost in this turn is named: where it arrives, the run passes.

The command first looks for a smaller plan that fails alike. This is its whole fault plan, and what is left of it is the
millisecond in which the block is lost:

```toml
{plan}
```

## The other run

The same plan passes with other chance from that turn on:

```
{again}
```

```
{passed}
```

So read the code that asks for a lost block: here the bug is in what follows that request.

## How to read a curve

- A *turn* is one step of a run's kernel, from 1 on ([design.md](design.md#time)).
- *Fail alike*: the same family and part of a check failed, with the first difference in the same table, or about the
  same kind of message. *Otherwise* counts other failures.
- The bounds in brackets are those of Wilson at 95 %. 35 of 35 are *decided*: their lower bound is 90 %.
- *Unavoidable from genesis*: 40 of 40 continuations from the first turn on fail alike. Chance has no part in it, and
  `explain` has the place.
- *No single draw moves the failure by itself*: others make up for it, or several decide together.
- Where most continuations fail from the first turn on, a rise says little: the bug needs no rare moment.

## Measured

Ten bugs that a draw sets off, and ten that none avoids, were chosen before `curve` met them
(`tests/causality/cases.py`). `python -m tests.causality [NAME ...]` prints a row for each: the turn whose draw set the
bug off, the rise, the turns between them, the place of that draw among those named, and the time on two cores with
shrinking.

```
{measured}
```

In two rows the rise is off. A crash sets these bugs off, and delays before it decide what was not synced then.
"""


def plan_of(page: str) -> tuple[str, int, int]:
    """Return the smallest plan on a page as text, and the turn and the seed of the continuation that passes."""
    plan = page.partition("```toml\n")[2].partition("```")[0]
    turn, _, seed = page.partition("--reseed ")[2].split(maxsplit=1)[0].partition(":")
    return plan, int(turn), int(seed)


def page() -> str:
    """Return the page, made by running the commands of its case."""
    with TemporaryDirectory() as folder:
        return _page(CASE, Path(folder))


def _page(case: Case, folder: Path) -> str:
    settings = [part for setting in case.options for part in ("--set", setting)]
    run = ["run", BASE, "--seed", str(case.seed), *settings]
    failure = _output(folder, *run, "--quiet").splitlines()[0]
    record = f"{BASE}-{case.seed}"
    curve = _output(folder, "curve", f"runs/{record}").splitlines()
    _, _, again = next(line for line in curve if "a continuation that passes" in line).partition("run_cluster.py ")
    passed = _output(folder, *again.split(), "--quiet").splitlines()[0]
    written = (folder / "runs" / f"{record}-shrunk.toml").read_text(encoding="utf-8")
    plan = "\n".join(line for line in written.splitlines() if not line.startswith("#")).strip()
    return _TEXT.format(
        holder=HOLDER,
        run=_command(run),
        failure=_wrapped([failure]),
        record=record,
        curve=_wrapped(line for line in curve if "a continuation that passes" not in line),
        plan=plan,
        again=_command(again.split()),
        passed=_wrapped([passed]),
        measured=MEASURED.read_text(encoding="utf-8").rstrip(),
    )


def _output(folder: Path, *arguments: str) -> str:
    """Run a command in a folder and return what it printed, with the names that a reader sees."""
    command = [sys.executable, str(PROJECT_ROOT / "run_cluster.py"), *arguments]
    paths = os.pathsep.join([str(PLUGIN), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )
    return done.stdout.replace(f"{sys.executable} {PROJECT_ROOT}/", "").replace(f"{folder}/", "")


def _command(arguments: Sequence[str]) -> str:
    quoted = [f"'{each}'" if "=" in each and not each.replace("=", "").isalnum() else each for each in arguments]
    lines = ["run_cluster.py " + " ".join(quoted[:4])]
    rest = quoted[4:]
    lines += [f"    {' '.join(rest[place : place + 2])}" for place in range(0, len(rest), 2)]
    return " \\\n".join(lines)


def _wrapped(lines: Sequence[str] | Iterator[str]) -> str:
    parts = (wrap(line, WIDTH, subsequent_indent="    ", drop_whitespace=True) or [""] for line in lines)
    return "\n".join(part for line in parts for part in line)


if __name__ == "__main__":
    sys.stdout.write(page())
