"""The measurement: the copies, one after the other or some at a time, and what their processes said."""

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

import msgspec

from checker.record.errors import ReportedError
from checker.record.places import scratch_directory
from tools.mutation.blind.catalogue import Bug
from tools.mutation.blind.copies import copy_with, make_base, run_in
from tools.mutation.blind.rows import SEEDS
from tools.mutation.blind.runs import BROKEN, SeedEnd

RUNS: Final = "runs"
TESTS: Final = "tests"
PARTS: Final = (RUNS, TESTS)
"""The two parts of a measurement."""

TEST_FOLDERS: Final = ("tests/properties", "tests/scheduler", "tests/validators", "tests/network", "tests/faults")
"""The folders that hold the tests of all areas."""

SECONDS_MAX: Final = {RUNS: 3_600, TESTS: 3_600}
"""Real seconds of one process; the processes end themselves by processor time long before."""


class TestsBrokenError(ReportedError):
    """Tests that said nothing: pytest broke, or ran out of time."""

    exit_code: ClassVar[int] = 6


class Measured(NamedTuple):
    """The measured part of one bug: the fields of its row with their values."""

    name: str
    fields: dict[str, object]


def measure(bugs: Sequence[Bug], parts: Collection[str], jobs: int, commit: str) -> Iterator[Measured]:
    """Yield what was measured of each bug as soon as it is, in any order."""
    with scratch_directory("blind") as scratch, ThreadPoolExecutor(jobs) as pool:
        base = make_base(scratch / "base")
        if TESTS in parts:
            # Pytest writes bytecode of its own for tests, here once for all copies.
            run_in(base, "pytest", ["--collect-only", "-p", "no:cacheprovider", *TEST_FOLDERS], SECONDS_MAX[TESTS])
        futures = [pool.submit(_measure_one, bug, parts, base, commit) for bug in bugs]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _measure_one(bug: Bug, parts: Collection[str], base: Path, commit: str) -> Measured:
    fields: dict[str, object] = {}
    with copy_with(bug, base) as copy:
        if RUNS in parts:
            fields |= {"runs_at": commit, **_runs_of(copy)}
        if TESTS in parts:
            fields |= {"tests_at": commit, "test": first_failure(bug, copy)}
    return Measured(bug.name, fields)


def _runs_of(copy: Path) -> dict[str, object]:
    said = run_in(copy, "tools.mutation.blind.runs", [SEEDS], SECONDS_MAX[RUNS])
    ends = [msgspec.json.decode(line, type=SeedEnd) for line in said.lines]
    first, last = map(int, SEEDS.split(".."))
    reached = ends[-1].seed if ends else first - 1
    if reached < last and not (ends and ends[-1].check):
        # The process is gone without a word: the next seed ended it.
        ends.append(SeedEnd(reached + 1, BROKEN))
    failed = next((end for end in ends if end.check), None)
    return {
        "seed": failed and failed.seed,
        "check": failed.check if failed else "",
        "inconclusive": next((end.seed for end in ends if not end.is_conclusive), None),
    }


def first_failure(bug: Bug, copy: Path, *tests: str) -> str:
    """Return the name of the first test that fails in a copy with a bug; empty where all pass.

    Without tests those of the bug's area are tried.

    Raises:
        TestsBrokenError: The process neither named a test nor passed all.
    """
    said = run_in(copy, "tools.mutation.blind.tests", [bug.name, *tests], SECONDS_MAX[TESTS])
    if not said.lines and said.exit_code != 0:
        raise TestsBrokenError(f"bug {bug.name}: the tests ended with {said.exit_code}, expected 0 or a failing test")
    return said.lines[0].decode() if said.lines else ""
