"""Sweeps: each seed judged once, whatever kills the sweep; damage is reported in one line."""

import argparse
import os
import re
import sqlite3
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from checker.coverage.collector import RuleHit
from checker.record.cold_replay import ColdReplayProcessError, ColdReplayWorker, run_cold_replay
from checker.record.fingerprint import this_code
from checker.record.root import PROJECT_ROOT
from checker.results import CheckResult
from cluster.campaign.corpus.unseen import SORTS
from cluster.campaign.coverage import CoverageTable
from cluster.campaign.results_db import DamagedResultsError, ResultsFile, SeedResult
from cluster.campaign.sweep import SweepTally, sweep
from cluster.campaign.tasks import Task, signature_of
from cluster.campaign.workers import Workers
from cluster.cli.commands.campaigns.sweep import command_of, repeat_of, under_way_line
from cluster.cli.main import main
from cluster.cli.options import RUNS, parse_seeds
from cluster.cli.sweep_result import reach_lines, sweep_as_json
from cluster.scenario.load import encode_scenario, load_scenario
from faults import FaultPoint
from tests.support.cluster_runs import result_of
from tests.support.commands import run_command
from tests.support.results_files import count_rows, read_rows

RESULT = SeedResult(7, 1, "safety", "safety: equal-roots: height #", "height 3", "ab", 12)
PASSED = SeedResult(1, 0, "passed", "", "all is well", "ab", 5, fingerprint=this_code().fingerprint)


def sweep_arguments(tmp_path, *arguments):
    return [
        *("sweep", "calm", "--set", "run.until_height=3", "--jobs", "1", "--json"),
        *("--runs", str(tmp_path), "--results", str(tmp_path / "r.sqlite"), *arguments),
    ]


@pytest.mark.long
def test_a_killed_sweep_loses_no_seed_and_repeats_none(tmp_path):
    path = tmp_path / "r.sqlite"
    arguments = sweep_arguments(tmp_path, "--seeds", "1..6")
    command = [sys.executable, "run_cluster.py", *arguments]
    with subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.DEVNULL) as sweeping:
        while count_rows(path) < 2:
            assert sweeping.poll() is None, "the sweep ended before it could be killed"
            os.sched_yield()
        sweeping.kill()
    there = read_rows(path)
    assert 2 <= len(there) < 6
    done = run_command(*arguments)
    answer = msgspec.json.decode(done.stdout)
    assert (done.returncode, answer["seeds"], answer["resumed"]) == (0, 6, len(there))
    rows = read_rows(path)
    assert [row[0] for row in rows] == list(range(1, 7))
    assert [row for row in rows if row in there] == there


def die_with_seed_three(task):
    if task.seed == 3:
        os._exit(9)
    return RESULT._replace(seed=task.seed)


@pytest.mark.long
@pytest.mark.soak
def test_a_worker_that_dies_costs_its_seed_alone():
    tasks = [Task(b"", seed) for seed in range(1, 6)]
    with Workers(2, die_with_seed_three) as workers:
        results = {task.seed: result.verdict for task, result in workers.results(tasks)}
    assert results == {1: "safety", 2: "safety", 3: "environment", 4: "safety", 5: "safety"}


def stand_still_after_seed_one(task):
    if task.seed > 1:
        threading.Event().wait()
    return RESULT._replace(seed=task.seed)


@pytest.mark.soak
def test_an_error_leaves_the_tasks_that_were_under_way():
    """Others wait behind them, and one is done."""
    with suppress(KeyboardInterrupt), Workers(1, stand_still_after_seed_one) as workers:
        for _ in workers.results(Task(b"", seed) for seed in range(1, 6)):
            raise KeyboardInterrupt

    assert [task.seed for task in workers.under_way] == [2]


@pytest.mark.soak
def test_results_that_nobody_waits_for_are_not_those_of_the_next_tasks():
    with Workers(1) as workers:
        next(workers.results(Task(b"{", seed) for seed in range(1, 4)))

        assert [task.seed for task, _ in workers.results([Task(b"{", 9)])] == [9]


def test_a_seed_under_way_comes_with_its_command_where_there_is_one(tmp_path):
    options = argparse.Namespace(
        application=None,
        builds=[],
        swarm=True,
        corpus=tmp_path,
        faults=None,
        settings=["run.until_height=3"],
        runs=RUNS,
    )

    assert under_way_line(8, options).endswith("; run it with: " + command_of(options, 8))
    assert command_of(options, 8).endswith(" run swarm --seed 8 --set run.until_height=3")
    assert under_way_line(7, options) == "seed 7 was under way: a varied plan, which only the sweep makes"


def test_a_seed_that_breaks_the_test_bed_is_a_result():
    with Workers(1) as workers:
        ((_, result),) = workers.results([Task(b"{", 3)])
    assert (result.seed, result.verdict) == (3, "environment")
    assert "not JSON" in result.headline


def test_a_failing_seed_keeps_its_run_directory_and_a_signature(tmp_path):
    scenario = encode_scenario(load_scenario("calm", ["run.until_height=2", "run.time_limit_ms=1_500"]))
    with ResultsFile(tmp_path / "r.sqlite", "calm") as results:
        tally = sweep(lambda _seed: scenario, [1, 2], results=results, runs=tmp_path, jobs=1, on_result=lambda *_: None)
        rows = list(results.results())
    assert tally.verdict == "inconclusive"
    assert [len(group) for group in tally.groups.values()] == [2]
    assert all((tmp_path / f"calm-{row.seed}" / "manifest.json").is_file() for row in rows)


def test_what_repeats_a_seed_says_all_that_it_needs(tmp_path):
    """Settings, where the run goes, and the comparison that found it not deterministic."""
    options = argparse.Namespace(
        application=None,
        builds=[],
        swarm=False,
        scenario="calm",
        corpus=None,
        faults=None,
        settings=["run.until_height=3"],
        runs=tmp_path,
    )
    result = RESULT._replace(failed="supply determinism")

    command = f"run calm --seed 7 --set run.until_height=3 --runs {tmp_path} --check-determinism"
    assert repeat_of(options, result).endswith(command)


def test_what_repeats_a_run_goes_where_the_run_went(tmp_path, capsys):
    settings = ["--set", "run.until_height=2", "--set", "run.time_limit_ms=1_500"]
    main(["run", "calm", *settings, "--runs", str(tmp_path)])

    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("repeat with: ")]
    assert line.endswith(f" --runs {tmp_path}")


def test_signatures_leave_out_numbers_and_bytes():
    def signature(height, key):
        summary = f"height {height}: timer {key} is late (and {height} more)"
        return signature_of([CheckResult("timer-delivery", "failed", "safety", summary, (), 1)])

    assert signature(3, "ab12cd34") == signature(1_017, "ffeeddccbbaa...")
    assert signature(3, "ab12cd34") == "safety: timers/timer-delivery: height #: timer # is late"


def test_the_worst_verdict_is_the_sweeps():
    tally = SweepTally(3)
    for verdict, code in (("passed", 0), ("inconclusive", 3), ("safety", 1)):
        tally.add(RESULT._replace(verdict=verdict, exit_code=code))
    assert (tally.verdict, tally.exit_code) == ("safety", 1)


def test_results_come_back_as_they_were_written(tmp_path):
    with ResultsFile(tmp_path / "r.sqlite", "calm") as results:
        results.add(RESULT)
    with ResultsFile(tmp_path / "r.sqlite", "calm") as results:
        assert list(results.results()) == [RESULT]


def test_a_seed_run_again_has_its_new_result_and_cells_alone(tmp_path):
    again = RESULT._replace(verdict="passed", exit_code=0, points=(FaultPoint("crash", "voting", "leader", 2),))
    again = again._replace(rules=(RuleHit("expired", 2),))
    with ResultsFile(tmp_path / "r.sqlite", "calm") as results:
        results.add(
            RESULT._replace(points=(FaultPoint("pause", "voting", "leader", 1),), rules=(RuleHit("due-next", 1),))
        )
        results.add(again)
        assert list(results.results()) == [again]


class TaskDouble:
    """Judges nothing: every seed passes. Notes the seeds that it is given."""

    def __init__(self):
        self.seeds = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def results(self, tasks):
        for task in tasks:
            self.seeds.append(task.seed)
            yield task, PASSED._replace(seed=task.seed)


def seeds_judged(path, *, is_fresh=False):
    """Sweep the seeds 1, 2 and 3; return which were judged, and how many of unknown and of other code were."""
    judges = TaskDouble()
    with ResultsFile(path, "calm") as results:
        tally = sweep(
            lambda _: b"",
            [1, 2, 3],
            results=results,
            runs=path.parent,
            jobs=1,
            on_result=lambda *_: None,
            workers=judges,
            is_fresh=is_fresh,
        )
    return judges.seeds, tally.outdated


def test_seeds_that_other_code_judged_are_judged_again(tmp_path):
    path = tmp_path / "r.sqlite"
    with ResultsFile(path, "calm") as results:
        results.add(PASSED._replace(seed=1, fingerprint="ab" * 32))
        results.add(PASSED._replace(seed=2))

    assert seeds_judged(path) == ([1, 3], {"ab" * 32: 1})
    assert seeds_judged(path) == ([], {})
    assert seeds_judged(path, is_fresh=True) == ([1, 2, 3], {})


SINCE_6 = ("pairs", "met", "unseen")
"""Tables that older formats have not."""


def drop_tables(connection, *tables):
    for table in tables:
        connection.execute(f"DROP TABLE {table}")


def test_results_of_the_format_before_are_of_unknown_code(tmp_path):
    path = tmp_path / "r.sqlite"
    with ResultsFile(path, "calm") as results:
        results.add(PASSED._replace(seed=2))
    with sqlite3.connect(path) as connection:
        drop_tables(connection, "rules", *SINCE_6)
        connection.execute("ALTER TABLE results DROP COLUMN fingerprint")
        connection.execute("UPDATE sweep SET format = 'stampede-sweep 3'")
    connection.close()

    assert seeds_judged(path) == ([1, 2, 3], {"unknown": 1})
    assert seeds_judged(path) == ([], {})


def test_results_of_the_format_before_rules_have_none(tmp_path):
    path = tmp_path / "r.sqlite"
    with ResultsFile(path, "calm") as results:
        results.add(PASSED._replace(seed=2, rules=(RuleHit("due-next", 3),)))
    with sqlite3.connect(path) as connection:
        drop_tables(connection, "rules", *SINCE_6)
        connection.execute("UPDATE sweep SET format = 'stampede-sweep 4'")
    connection.close()

    with ResultsFile(path, "calm") as results:
        assert [result.rules for result in results.results()] == [()]


def test_results_of_the_format_before_pairs_have_none(tmp_path):
    path = tmp_path / "r.sqlite"
    with ResultsFile(path, "calm") as results:
        results.add(PASSED._replace(seed=2, rules=(RuleHit("due-next", 3),), pairs=("a b",)))
    with sqlite3.connect(path) as connection:
        drop_tables(connection, *SINCE_6)
        connection.execute("UPDATE sweep SET format = 'stampede-sweep 5'")
    connection.close()

    with ResultsFile(path, "calm") as results:
        assert [(len(result.rules), result.pairs) for result in results.results()] == [(1, ())]


def test_pairs_of_situations_come_back_with_their_seeds(tmp_path):
    first, second = PASSED._replace(pairs=("a b", "b c")), PASSED._replace(seed=2, pairs=("b c",))
    with ResultsFile(tmp_path / "r.sqlite", "calm") as results:
        results.add(first._replace(pairs=("c d",)))
        results.add(second)
        results.add(first)
        assert list(results.results()) == [first, second]


def test_a_pair_that_has_no_name_is_damage(tmp_path):
    path = tmp_path / "r.sqlite"
    with ResultsFile(path, "calm") as results:
        results.add(PASSED._replace(pairs=("a b",)))
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM pairs")
    connection.close()

    with ResultsFile(path, "calm") as results, pytest.raises(DamagedResultsError, match="seed 1: there is no pair 1"):
        list(results.results())


def test_a_sweep_leaves_what_is_unseen_in_its_file(tmp_path):
    seeds_judged(tmp_path / "r.sqlite")

    with sqlite3.connect(tmp_path / "r.sqlite") as connection:
        rows = connection.execute("SELECT * FROM unseen ORDER BY sort").fetchall()
    connection.close()
    assert rows == [(sort, 0, 0, 0) for sort in sorted(SORTS)]


def test_an_empty_promised_cell_of_the_rules_makes_a_sweep_inconclusive():
    tally = SweepTally(1, rules=CoverageTable((("due-next",), ("expired",))))
    tally.add(PASSED._replace(rules=(RuleHit("due-next", 3),)))

    assert (tally.verdict, tally.rules.empty) == ("inconclusive", (("expired",),))
    tally.add(PASSED._replace(rules=(RuleHit("expired", 1),)))
    assert (tally.verdict, tally.rules.empty) == ("passed", ())


def test_a_sweep_says_how_many_scripts_did_not_arrive():
    """They are no coverage points of the rules, and no finding."""
    tally = SweepTally(3)
    for hits in (1, 0, 1):
        tally.add(PASSED._replace(rules=(RuleHit("script rewinding", hits), RuleHit("workload pulse", 2))))
    tally.add(PASSED._replace(rules=(RuleHit("script half-joined", 1), RuleHit("workload pulse", 0))))

    assert (tally.verdict, tally.rules.reached) == ("passed", {})
    assert ("idle", "1 time a workload had no effect and 1 time a script did not arrive") in list(reach_lines(tally))
    scripts = sweep_as_json(tally, "swarm", Path("r.sqlite"), 1.0)["scripts"]
    assert scripts == {"half-joined": {"runs": 1, "idle": 0}, "rewinding": {"runs": 3, "idle": 1}}


def test_a_sweep_says_how_many_roads_of_an_application_it_went():
    tally = SweepTally(2)
    tally.add(PASSED._replace(rules=(RuleHit("due-next", 3),)))
    assert "application" not in dict(reach_lines(tally))["reached"]

    tally = SweepTally(2)
    tally.add(
        PASSED._replace(rules=(RuleHit("chain-begun", 4), RuleHit("after-execute", 1), RuleHit("known-again", 9)))
    )
    said = dict(reach_lines(tally))["reached"]
    assert re.fullmatch(
        r"1 of 1\d\d points of rules and 2 of 38 roads and call boundaries of the application; .*", said
    )


def test_a_workload_without_effect_in_any_run_is_inconclusive():
    tally = SweepTally(2, rules=CoverageTable((("due-next",),)))
    tally.add(PASSED._replace(rules=(RuleHit("due-next", 3), RuleHit("workload pulse", 0))))

    assert (tally.verdict, tally.idle) == ("inconclusive", ("pulse",))
    assert ("idle", "workloads that had no effect in any run: pulse") in list(reach_lines(tally))
    tally.add(PASSED._replace(seed=2, rules=(RuleHit("workload pulse", 1),)))
    assert (tally.verdict, tally.idle) == ("passed", ())


def test_a_sweep_without_promises_asks_no_effect_of_workloads():
    tally = SweepTally(1)
    tally.add(PASSED._replace(rules=(RuleHit("workload pulse", 0),)))

    assert (tally.verdict, tally.idle) == ("passed", ())


@pytest.mark.soak
def test_a_sweep_says_which_seeds_are_judged_again_and_by_which_code(tmp_path):
    """A result that says passed, of code that is not this one, does not stand."""
    subject = encode_scenario(load_scenario("calm", ["run.until_height=3"])).decode()
    with ResultsFile(tmp_path / "r.sqlite", subject) as results:
        results.add(PASSED._replace(seed=1, fingerprint="ab" * 32))
    done = run_command(*(each for each in sweep_arguments(tmp_path, "--seeds", "1") if each != "--json"))

    assert done.returncode == 0, done.stderr
    assert "judged again 1 seed that code abababababab had judged" in done.stdout
    assert f"{tmp_path / 'r.sqlite'}: judged by code abababababab, and judged again: 1 seed" in done.stderr
    assert str(this_code()) in done.stdout
    assert read_rows(tmp_path / "r.sqlite")[0][9] == this_code().fingerprint


def test_a_results_file_of_another_sweep_is_refused(tmp_path):
    ResultsFile(tmp_path / "r.sqlite", "calm").__exit__(None, None, None)
    with pytest.raises(DamagedResultsError, match="another sweep"):
        ResultsFile(tmp_path / "r.sqlite", "lossy")


@pytest.mark.parametrize("content", [b"no database, but long " * 40, b"SQLite format 3\0" + b"\xff" * 900])
def test_a_file_that_is_no_database_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "r.sqlite").write_bytes(content)
    done = run_command(*sweep_arguments(tmp_path, "--seeds", "1"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert (tmp_path / "r.sqlite").read_bytes() == content


def test_a_results_file_with_a_trigger_is_refused(tmp_path):
    path = tmp_path / "r.sqlite"
    ResultsFile(path, "calm").__exit__(None, None, None)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM sweep; END")
    connection.close()
    with pytest.raises(DamagedResultsError, match="other tables"):
        ResultsFile(path, "calm")


def test_a_row_of_a_wrong_type_is_refused(tmp_path):
    path = tmp_path / "r.sqlite"
    ResultsFile(path, "calm").__exit__(None, None, None)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO results VALUES (1, 0, X'00', '', '', '', 1, '', '', '')")
    connection.close()
    with ResultsFile(path, "calm") as results, pytest.raises(DamagedResultsError, match="seed 1"):
        list(results.results())


@pytest.mark.parametrize(("text", "seeds"), [("0..3", range(4)), ("5", range(5, 6))])
def test_seeds_are_a_range_with_both_ends(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("command", [("sweep", "calm", "--set", "run.until_height=2"), ("differential",)])
def test_an_empty_name_of_a_results_file_is_refused(tmp_path, command):
    done = run_command(*command, "--seeds", "0", "--jobs", "1", "--runs", tmp_path, "--results", "")

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith(": .: is no file\n")


@pytest.mark.parametrize("text", ["3..1", "-1..2", "a", "0..", "0..99999999", f"{1 << 63}"])
def test_seeds_that_cannot_be_meant_are_refused(tmp_path, text):
    done = run_command(*sweep_arguments(tmp_path, f"--seeds={text}"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_replay_worker_says_what_a_fresh_process_says(tmp_path):
    directory = result_of("calm", "run.until_height=3", runs=tmp_path).directory
    with ColdReplayWorker(90_125) as worker:
        both = [worker.run(directory, 90_125, [2]) for _ in range(2)]
    assert both == [run_cold_replay(directory, 90_125, [2])] * 2


def test_a_replay_worker_that_is_gone_is_an_error_and_not_a_result(tmp_path):
    worker = ColdReplayWorker(90_125)
    worker.close()
    with pytest.raises(ColdReplayProcessError):
        worker.run(tmp_path, 90_125)
