"""The task of a differential campaign: a seed's chain and blocks, whose first failure becomes a case file."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from checker.coverage.collector import RuleHit
from checker.record.fingerprint import this_code
from checker.record.host import refusal_behind
from checker.results import EXIT_CODES, CheckResult, CheckTally
from cluster.campaign.results_db import COUNT, SeedResult
from cluster.campaign.tasks import Task, broken_result, signature_of
from cluster.differential.blocks import CaseComparison, judge_block
from cluster.differential.case_files import FORMAT, CaseFile, read_case, write_case
from cluster.differential.cases import BlockCase, Case
from cluster.differential.chain import judge_chain_case
from cluster.differential.chain_draws import DrawnChain
from cluster.differential.smaller import make_smaller

NAME: Final = "oracle/differential"
SHRINK: Final = "shrink"
"""The label of a task that makes the case of a seed smaller."""


def case_path(runs: Path, seed: int, policy: str) -> Path:
    """Return the place of the case of a seed that fails."""
    return runs / f"differential-{policy or 'all'}-{seed}.json"


def judge_case(case: Case) -> CheckResult:
    """Return the result of a case; its first failure ends it."""
    is_block = isinstance(case, BlockCase)
    return _result("block" if is_block else "chain", _parts_of(case))


def run_differential(task: Task) -> SeedResult:
    """Judge a seed, or make its case smaller; runs in a worker process. `scenario` is the policy's name."""
    policy, started = task.scenario.decode(), time.perf_counter()
    path = case_path(Path(task.runs), task.seed, policy)
    try:
        if task.label == SHRINK:
            shrink_case(path)
            return SeedResult(task.seed, 0, "passed", "", "", "", 0)
        result = _judge_seed(task, policy, path)
        return result._replace(milliseconds=int((time.perf_counter() - started) * 1_000), fingerprint=task.fingerprint)
    except Exception as error:  # noqa: BLE001 - one seed that breaks the test bed is a result, not the campaign's end
        if (refusal := refusal_behind(error)) is not None:
            raise refusal from None
        return broken_result(task, f"the test bed broke: {type(error).__name__}: {error}")


def shrink_case(path: Path) -> None:
    """Make the case of a file smaller and replace it, unless it is small already or no longer fails."""
    file = read_case(path)
    signature = signature_of([judge_case(file.case)])
    if file.attempts or not signature:
        return
    smallest, attempts = make_smaller(file.case, lambda case: signature_of([judge_case(case)]) == signature)
    _write(path, smallest, judge_case(smallest), attempts)


def _write(path: Path, case: Case, result: CheckResult, attempts: int = 0) -> None:
    made_by = str(this_code())
    write_case(path, CaseFile(format=FORMAT, shows=result.summary, attempts=attempts, made_by=made_by, case=case))


def _judge_seed(task: Task, policy: str, path: Path) -> SeedResult:
    chain = DrawnChain(task.seed, policy)
    result, blocks = _result("chain", chain.judge()), 0
    case: Case = chain.case
    compared, drawn = result.compared, chain.blocks()
    while result.status != "failed" and (block := next(drawn, None)) is not None:
        case, blocks = block[0], blocks + 1
        result = _result("block", (judge() for judge in block[1:]))
        compared += result.compared
    is_sound = result.status != "failed"
    if not is_sound:
        _write(path, case, result)
    counts = {f"chains of {chain.policy}": 1, "blocks on drawn states": blocks, "comparisons": compared}
    return SeedResult(
        seed=task.seed,
        exit_code=EXIT_CODES["passed" if is_sound else "safety"],
        verdict="passed" if is_sound else "safety",
        signature=signature_of([result]),
        headline=f"{chain.policy}: {result.summary}",
        digest="",
        milliseconds=0,
        directory="" if is_sound else str(path),
        failed="" if is_sound else NAME,
        rules=tuple(RuleHit(f"{COUNT}{name}", count) for name, count in counts.items()),
    )


def _parts_of(case: Case) -> Iterator[CaseComparison]:
    if isinstance(case, BlockCase):
        yield judge_block(case)
    else:
        yield from judge_chain_case(case)


def _result(kind: str, parts: Iterator[CaseComparison]) -> CheckResult:
    tally = CheckTally(NAME, "safety")
    try:
        for judged in parts:
            tally.compared += judged.compared
            if judged.difference:
                tally.fail(f"differential {kind}: {judged.difference}")
                break
    # A wrong rule may raise any exception.
    except Exception as error:
        if refusal_behind(error) is not None:
            raise
        tally.fail(f"differential {kind}: executing it fails: {error!r}")
    return tally.result(f"the oracle agrees in {tally.compared:,} comparisons of a differential {kind}")
