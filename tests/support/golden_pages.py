"""The words of four pages: verdict, why and plan, held as text; `python -m tests.support.golden_pages` writes them."""

import sys
import tempfile
from pathlib import Path

from checker.explain.answer import answer_of
from checker.record.root import PROJECT_ROOT
from checker.record.run_directory import RecordReader
from cluster.inspect.explain_run import explain_record
from cluster.page.write import page_of
from cluster.scenario.load import decode_scenario
from tests.support.cluster_runs import result_of
from tests.support.pages import text_of

FOLDER = PROJECT_ROOT / "tests" / "cluster" / "page" / "golden"

SMALL_STORM = (
    *("workload.storm.timers_per_actor=40", "workload.storm.timers_per_transaction=40", "workload.storm.actors=8"),
    *("workload.storm.unfunded_actors=2", "workload.storm.first_slot=20", "workload.storm.spread_slots=20"),
    *("chain.timers.gc_cycles_per_block=5_000", "expect.storm.dead_timers_min=300", "expect.storm.actors_min=8"),
    *("workload.payments.count=6", "run.blocks_after_drain=1", "run.until_height=14"),
    *("faults.split.start_ms=8_000", "faults.split.stop_ms=11_000"),
    *("faults.blackout.at_ms=14_000", "faults.blackout.restart_ms=80_000"),
)

PARTS = (
    *("mutants.refund-rounded-down=[2]", "run.until_height=5"),
    *("faults.split.start_ms=1_500", "faults.split.stop_ms=4_000"),
    'faults.reboot={kind="crash", validator=1, at_ms=4_500, restart_ms=6_000}',
)

RUNS = {
    "outage-storm": ("outage-storm", SMALL_STORM),
    "certified-split": ("certified-split", ("run.until_height=12",)),
    "broken-refund": ("broken-refund", ()),
    "one-validator-parts": ("partition-heal", PARTS),
}
"""By the name of the text: the scenario and what is changed in it."""

VOLATILE = ("made by", "digest")
"""Beginnings of lines that differ from code to code."""


def page_for(name):
    """Run, explain what went wrong, and return the page."""
    scenario, settings = RUNS[name]
    with tempfile.TemporaryDirectory() as folder:
        directory = result_of(scenario, *settings, runs=Path(folder)).directory
        reader = RecordReader(directory)
        decoded = decode_scenario(reader.scenario(), name)
        is_wrong = any(check.is_finding for check in reader.checks())
        explanation = _explained(reader, decoded, f"runs/{name}") if is_wrong else None
        document = {**reader.verdict(), "repeat": f"run_cluster.py run {scenario}"}
        return page_of(directory, document, decoded, reader.checks(), place=Path("runs", name), explanation=explanation)


def _explained(reader, scenario, place):
    explanation, _ = explain_record(reader)
    return explanation, " ".join(answer_of(explanation))


def words_of(page):
    """Return the words of the panes that are held."""
    lines = text_of(page, "verdict", "why", "plan").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(VOLATILE))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in sys.argv[1:] or RUNS:
        (FOLDER / f"{each}.txt").write_text(words_of(page_for(each)), encoding="utf-8")
