"""Reports of bad applications, held as text; `python -m tests.support.golden_applications` writes them.

Each text has the signature of a sweep, the sentences of the run, and what `explain` prints of its record. Digests of
`hash-order` are masked, because interpreters differ in their hashes; `clock` has no text: no two of its runs are alike.
"""

import re
import sys
import tempfile
from functools import cache
from pathlib import Path

from checker.record.root import PROJECT_ROOT
from cluster.campaign.tasks import signature_of
from cluster.inspect.witness import ExecutionWitness
from cluster.live.progress import LiveProgress
from cluster.verdict.pipeline import run_pipeline
from tests.support.applications import LEDGER, bad_command, small_application_run
from tests.support.golden_console import printed
from tests.support.upgrades import next_of

FOLDER = PROJECT_ROOT / "tests" / "cluster" / "outside" / "explain" / "golden"

REORG = (
    "consensus={engine='longest-chain',longest_chain={slot_ms=500}}",
    "faults={split={kind='partition',groups=[[0,1],[2,3]],start_ms=2_000,stop_ms=5_000}}",
    "workload.calls.every_ms=100",
    "workload.calls.count=40",
    "run.until_height=14",
)
"""Two branches of several blocks."""

DUE_TOGETHER = ("workload.calls.count=60", "workload.calls.every_ms=50", "run.until_height=20")
"""Several timers that are due at once."""

EXPLAINED = {
    "lies": (),
    "hash-order": (),
    "time-zone": (),
    "no-rollback": (),
    "forgets": (),
    "dies": (),
    "fires-early": (),
    "loses-timers": (),
    "keeps-counter": (*REORG, *(f'validators.{node}={{apply="certified"}}' for node in range(4))),
    "one-a-height": REORG,
    "second-answer": (),
    "skips-phase": DUE_TOGETHER,
    "fan-out": DUE_TOGETHER,
    "stale-resume": ("workload.calls.count=40",),
    "late-path": DUE_TOGETHER,
    "silent-version": (),
    "no-entries": (),
    "two-builds": (*DUE_TOGETHER, 'validators.2.application={build="new"}'),
}
"""By the name of the bug, what is changed in the small run; the ledgers of `two-builds` are sound by themselves."""

_DIGITS = re.compile(r"\b[0-9a-f]{12,}\b")
_END = re.compile(r"^run it again.*|^hold the record against.*", re.MULTILINE | re.DOTALL)
_MASKED = {"hash-order": (_DIGITS,)}


@cache
def explained(name):
    """Return a bug's report, and the page that shows it."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = _scenario_of(name, Path(folder))
        with LiveProgress(title=name, is_quiet=True) as progress:
            result = run_pipeline(
                scenario, 0, runs=Path(folder), progress=progress, explains=ExecutionWitness(), has_page=False
            )
        # A masked value may have any length, so that no line of such a text may be folded.
        said = printed("explain", str(result.directory), width=2_000 if name in _MASKED else 100)
        page = (result.directory / "report.html").read_text(encoding="utf-8")
    signature = signature_of(result.checks, (), result.because)
    text = f"{signature}\n\n{' '.join(result.answer)}\n\n{_END.sub('', said)}"
    for pattern in _MASKED.get(name, ()):
        text = pattern.sub("<masked>", text)
    return text, page


def _scenario_of(name, folder):
    if name != "two-builds":
        return small_application_run(bad_command(name), *EXPLAINED[name])
    # A path in the text would name this folder, which no second run has.
    new = next_of("python", folder, height=8)
    return small_application_run(LEDGER, f"application.builds.new.command={new}", *EXPLAINED[name])


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for each in sys.argv[1:] or EXPLAINED:
        Path(FOLDER / f"{each}.txt").write_text(explained(each)[0], encoding="utf-8")
