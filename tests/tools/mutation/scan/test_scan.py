"""A small scan from end to end, its command line, and its page."""

import json
import subprocess
import sys

import msgspec
import pytest

from checker.record.program import module_process
from checker.record.root import PROJECT_ROOT
from cluster.scenario.load import decode_scenario
from tests.support.mutation import tool_main
from tests.support.scan import scan_mutant
from tools.mutation.scan import campaign
from tools.mutation.scan.campaign import MutationScan
from tools.mutation.scan.mutant_runs import ChildTask, Trial, TrialOutcome
from tools.mutation.scan.points import PACKAGES
from tools.mutation.scan.report import ScanRow, killed_share, scan_lists, scan_page, scan_totals, survivor_lines
from tools.mutation.scan.runs import clean_trials
from tools.mutation.scan.triage import Equivalent

SCENARIO = "funded-by-a-fire"
"""The quickest one that reaches all of the sample."""

TRIALS = list(clean_trials([], [SCENARIO]))

SAMPLE = {
    "killed-order": scan_mutant("scheduler/identifiers.py", "if counter is None", "if counter is not None"),
    "killed-bytes": scan_mutant("validators/execution/schema.py", 'return b"\\x07" + due', 'return b"\\x07" - due'),
    "killed-charge": scan_mutant(
        "scheduler/settlement.py", "(basefees.cycle + priority)", "(basefees.cycle - priority)"
    ),
    "equivalent": scan_mutant("scheduler/pool.py", "self.gas_min = 1 << 63", "self.gas_min = 1 << 64"),
    "unreached": scan_mutant("validators/sync/snapshots.py", "not 0 < offer.chunks", "not 0 <= offer.chunks"),
    "at-import": scan_mutant("faults/kinds/registry.py", "(name, len(listed))", "(name, -1)"),
    "not-loadable": scan_mutant(
        "network/trace.py", "_MEDIUM_HEAD_RECORDS: Final = 1 << 16", "_MEDIUM_HEAD_RECORDS: Final = 1 << None"
    ),
}
"""Three that have to be killed, one that no run can show, one that none executes, one at import, one that cannot be."""


def test_no_run_of_a_scan_stops_at_its_failure():
    """A mutant's trial is judged to its end, as the clean run was."""
    plans = [decode_scenario(trial.scenario, trial.name) for trial in clean_trials([3], [SCENARIO])]

    assert [plan.run.stop_at_failure for plan in plans] == [False, False]


def through(scan):
    """Take a scan through its rounds, and yield the names of the runs that were probed in each."""
    for trials in scan.rounds():
        yield [outcome.name for outcome in scan.probe(trials)]
        list(scan.run())


@pytest.mark.soak
def test_a_small_scan_has_each_result(tmp_path):
    """In one test: two processes that share the tests would each make the scan."""
    with MutationScan(list(SAMPLE.values()), TRIALS, directory=tmp_path, jobs=2) as scan:
        probed = [name for names in through(scan) for name in names]
        assert scan.open_rows == []
        rows = {name: scan.rows[number] for number, name in enumerate(SAMPLE)}

    assert probed == [SCENARIO]
    assert {name: (row.status, row.tried) for name, row in rows.items()} == {
        "killed-order": ("killed", 1),
        "killed-bytes": ("killed", 1),
        "killed-charge": ("killed", 1),
        "equivalent": ("survived", rows["equivalent"].differed),
        "unreached": ("unreached", 0),
        "at-import": ("survived", 1),
        "not-loadable": ("not loadable", 0),
    }
    assert (rows["killed-order"].check, rows["killed-order"].run) == ("oracle", SCENARIO)
    assert (rows["equivalent"].differed > 0, rows["equivalent"].changed) == (True, 0)
    assert "TypeError" in rows["not-loadable"].headline


@pytest.mark.soak
def test_results_are_kept_and_equivalents_not_tried(tmp_path):
    first, second = SAMPLE["killed-order"], SAMPLE["equivalent"]
    with MutationScan([first], TRIALS, directory=tmp_path, jobs=1) as scan:
        list(through(scan))
    point = second.point
    entry = Equivalent(
        file=point.file, function="", operator="ByHand", before=second.before, after=second.after, reason="so high"
    )

    with MutationScan([first, second], TRIALS, directory=tmp_path, jobs=1, equivalents=[entry]) as again:
        assert list(through(again)) == []

    assert [row.status for row in again.rows.values()] == ["killed", "equivalent"]
    assert again.rows[1].headline == "so high"


def test_the_process_imports_nothing_that_a_mutant_could_be_in():
    program = "import sys, tools.mutation.scan.child; print(*(name.split('.')[0] for name in sys.modules))"
    told = subprocess.run([sys.executable, "-c", program], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)

    assert set(told.stdout.split()) & {*PACKAGES, "checker", "cluster", "report"} == {"checker"}


def outcomes_of(mutant, cpu_s):
    """Return the outcomes of a process with a mutant that may use so much processor time."""
    trial = Trial(**{**msgspec.structs.asdict(TRIALS[0]), "cpu_s": cpu_s})
    task = ChildTask(sources={mutant.point.file: mutant.source}, trials=(trial, trial))
    process = module_process("tools.mutation.scan.child", [], hash_seed=0)
    done = subprocess.run(**process, input=msgspec.json.encode(task), capture_output=True, check=False)
    return [msgspec.json.decode(line, type=TrialOutcome) for line in done.stdout.splitlines()]


@pytest.mark.soak
def test_a_computation_without_end_is_a_time_out():
    before = "    return keccak256(preimage if"
    mutant = scan_mutant("scheduler/identifiers.py", before, f"    while True:\n        pass\n{before}")

    assert [outcome.failed for outcome in outcomes_of(mutant, cpu_s=1)] == [("time-out",)]


@pytest.mark.soak
def test_a_mutant_that_breaks_the_test_bed_is_a_crash():
    mutant = scan_mutant("faults/injection/injector.py", "def schedule(self", "def schedule(self, nothing")

    outcomes = outcomes_of(mutant, cpu_s=60)

    assert [outcome.failed for outcome in outcomes] == [("crash",)]
    assert "TypeError" in outcomes[0].headline


@pytest.mark.soak
def test_a_mutant_without_a_result_is_kept_for_the_next_round(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "ROUNDS", (1,))
    trials = list(clean_trials([], [SCENARIO, "lane-at-its-floor"]))
    with MutationScan([SAMPLE["killed-order"], SAMPLE["equivalent"]], trials, directory=tmp_path, jobs=1) as scan:
        probed = list(through(scan))

    assert probed == [[SCENARIO], ["lane-at-its-floor"]]
    assert [(row.status, row.tried) for row in scan.rows.values()] == [("killed", 1), ("survived", 2)]


@pytest.mark.soak
def test_a_mutant_that_was_tried_often_enough_has_survived(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "ROUNDS", (1,))
    trials = list(clean_trials([], [SCENARIO, "lane-at-its-floor"]))
    with MutationScan([SAMPLE["equivalent"]], trials, directory=tmp_path, jobs=1, tries=1) as scan:
        probed = list(through(scan))

    assert probed == [[SCENARIO]]
    assert scan.rows[0].status == "survived"


class TestKillers:
    TRIAL = Trial(name="a", seed=0, scenario=b"", exit_code=1, failed=("storm",))

    def test_a_check_that_fails_without_the_mutant_kills_nothing(self):
        assert TrialOutcome(name="a", exit_code=1, failed=("storm",)).killers(self.TRIAL) == ()

    def test_another_check_does(self):
        assert TrialOutcome(name="a", exit_code=1, failed=("storm", "oracle")).killers(self.TRIAL) == ("oracle",)

    def test_another_verdict_does(self):
        assert TrialOutcome(name="a", exit_code=0).killers(self.TRIAL) == ("verdict",)


def row(status, **change):
    values = {
        "check": "oracle" if status == "killed" else "",
        "room": "scheduler",
        "differed": 3,
        "tried": 3,
        "changed": 2,
    } | change
    row = ScanRow("scheduler/a.py", 7, "f", "", "AddNot", "AddNot", 0, "if a | b:", "if not a | b:", status)
    return row._replace(**values)


class TestPage:
    ROWS = (*(row("killed") for _ in range(3)), row("survived"), row("unreached"), row("equivalent"))

    def test_the_share_leaves_equivalents_out(self):
        assert killed_share(self.ROWS) == 60
        assert next(scan_totals(self.ROWS)) == "3 of 5 mutants killed (60 %), equivalents left out"

    def test_a_terminal_has_the_survivors_as_well(self):
        assert list(survivor_lines(self.ROWS)) == [
            "survived: scheduler/a.py:7 f; differs in 3 runs, of 3 that were tried 2 have another digest",
            "  if not a | b:",
        ]

    def test_the_page_names_survivors_and_the_lists_have_their_lines(self):
        page = scan_page(self.ROWS, command="python -m tools.mutation scan", runs="seed 0", code="code x")

        assert "| scheduler | 6 | 3 | 1 | 0 | 1 | 0 | 1 | 0 | 60 % |" in page
        assert "| `oracle` | 3 |" in page
        assert page.endswith("## Survived\n\n- `scheduler/a.py:7` f, AddNot\n")
        survived = scan_lists(self.ROWS).partition("## Survived")[2].partition("## Never")[0]
        assert "`scheduler/a.py:7` f, AddNot; differs in 3 runs, of 3 that were tried 2 have another digest" in survived
        assert "```diff\n- if a | b:\n+ if not a | b:\n```" in survived

    def test_a_mutant_without_a_result_counts_as_not_killed(self):
        rows = [*self.ROWS, *[row("open", before="x = 1")] * 5]

        assert killed_share(rows) == 30
        assert "5 of them have no result yet and count as not killed" in list(scan_totals(rows))[1]
        assert scan_lists(rows).partition("## Without a result")[2].count("- x = 1") == 5


class TestCommand:
    def test_an_unknown_operator_is_one_line(self, capsys):
        assert tool_main(["scan", "--operators", "AddNut"]) == 2
        assert "'AddNut' (did you mean AddNot?) is none of" in capsys.readouterr().err

    def test_a_place_that_is_in_no_source_is_one_line(self, capsys):
        with pytest.raises(SystemExit):
            tool_main(["scan", "--only", "scheduler/nowhere.py:3"])
        assert "'scheduler/nowhere.py:3' is not FILE:LINE of a source in scheduler" in capsys.readouterr().err

    def test_without_the_library_it_is_the_environment(self, capsys, monkeypatch):
        monkeypatch.setitem(sys.modules, "cosmic_ray.ast", None)

        assert tool_main(["scan"]) == 6
        assert "pip install --require-hashes -r requirements/scan.txt" in capsys.readouterr().err


@pytest.mark.soak
def test_its_object_has_the_mutants_and_its_page_the_command(capsys, tmp_path):
    page = tmp_path / "page.md"
    narrowed = ["--rooms", "faults", "--operators", "ReplaceTrueWithFalse", "--seeds", "0", "--scenarios"]
    kept = ["--runs", str(tmp_path), "--budget-s", "1", "--out", str(page)]

    code = tool_main(["scan", "--json", *narrowed, "--sample", "1", *kept])

    assert code in (0, 3)
    assert len(json.loads(capsys.readouterr().out)["mutants"]) == 1
    assert (
        "`python -m tools.mutation scan --rooms faults --operators ReplaceTrueWithFalse --seeds 0..0"
        in page.read_text()
    )
