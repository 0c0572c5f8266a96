"""Trials as a campaign: an interrupted study goes on and gives the same table, and a broken trial ends it by name."""

import json
import os
import subprocess
import sys

import pytest
from distributed import LocalCluster

from checker.record.root import PROJECT_ROOT
from cluster.campaign.dask_workers import DaskWorkers
from cluster.campaign.results_db import ResultsFile
from cluster.campaign.workers import Workers
from cluster.studies.answer import StudyAnswer
from cluster.studies.load import load_study
from cluster.studies.trials import TrialBrokenError, run_trial, run_trials
from tests.support.results_files import count_rows, read_rows
from tests.support.study_text import write_study


class Here:
    """Runs tasks in this process, and breaks off after some."""

    under_way = ()

    def __init__(self, after=None):
        self.done = 0
        self._after = after

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def results(self, tasks):
        for task in tasks:
            if self.done == self._after:
                raise KeyboardInterrupt
            self.done += 1
            yield task, run_trial(task)


def rows_of(study, tmp_path, workers, seeds=range(3)):
    with ResultsFile(tmp_path / "trials.sqlite", "study") as results:
        found = run_trials(study, seeds, results=results, jobs=1, workers=workers, on_result=lambda *_: None)
    return StudyAnswer(study, seeds, found).rows([])


def test_an_interrupted_study_goes_on_and_gives_the_same_table(tmp_path):
    study = load_study(str(write_study(tmp_path)))
    whole = rows_of(study, tmp_path / "whole", Here())
    with pytest.raises(KeyboardInterrupt):
        rows_of(study, tmp_path / "part", Here(after=4))
    rest = Here()

    assert rows_of(study, tmp_path / "part", rest) == whole
    assert rest.done == 2


def test_other_values_of_an_axis_reuse_the_trials_of_common_arms(tmp_path):
    path = str(write_study(tmp_path))
    rows_of(load_study(path), tmp_path, Here())
    more = Here()
    rows_of(load_study(path, ["pay=first-price,vcg-literal"]), tmp_path, more)

    assert more.done == 3


def test_a_trial_that_breaks_ends_the_study_by_arm_and_seed(tmp_path, monkeypatch):
    def fail(_self):
        raise ValueError("no lane")

    monkeypatch.setattr("cluster.studies.trials.ChainTrial.run", fail)
    with pytest.raises(TrialBrokenError, match=r"trial of .*-.* with seed 0: ValueError: no lane"):
        rows_of(load_study(str(write_study(tmp_path))), tmp_path, Here())


def test_a_workload_that_does_not_congest_is_inconclusive(tmp_path):
    """The study's own validity check says so: its answer does not count, and no sentence stands."""
    study = load_study(str(write_study(tmp_path)), ["scenario.chain.timers.lane_timer_cycles=400_000"])
    rows = rows_of(study, tmp_path, Here())

    assert rows.verdict == "inconclusive"
    assert rows.headline.startswith("the answer does not count: congested must be at least 0.9, found 0")
    assert rows.sentences == []


def test_a_finding_in_the_other_direction_takes_the_conclusion_away(tmp_path):
    other = ('expect = "level"\nwithin = 0.01', 'expect = "rises"')
    rows = rows_of(load_study(str(write_study(tmp_path, other))), tmp_path, Here())

    assert [row.status for row in rows.findings] == ["does not hold"]
    assert rows.verdict == "passed"
    assert rows.sentences == []


def test_an_answered_study_ends_in_its_sentences(tmp_path):
    rows = rows_of(load_study(str(write_study(tmp_path))), tmp_path, Here())

    assert [row.status for row in rows.findings] == ["holds"]
    assert rows.sentences == ["The group with the higher worth fires first."]
    assert rows.limits == ["Two groups, one chain."]


def test_worker_processes_give_the_same_table(tmp_path):
    study = load_study(str(write_study(tmp_path)))

    assert rows_of(study, tmp_path / "two", Workers(2, run_trial)) == rows_of(study, tmp_path / "one", Here())


def test_a_study_of_whole_runs_counts_their_final_blocks(tmp_path):
    path = tmp_path / "whole.toml"
    path.write_text(WHOLE, encoding="utf-8")
    rows = rows_of(load_study(str(path)), tmp_path, Here(), seeds=range(1))

    (arm,) = rows.arms
    assert [round(spread.mean) for spread in arm.spreads] == [12, 0]


@pytest.mark.soak
def test_a_killed_study_goes_on_and_gives_the_same_table(tmp_path):
    path = tmp_path / "study-small.sqlite"
    command = [sys.executable, "run_cluster.py", "study", str(write_study(tmp_path)), "--runs", str(tmp_path), "--json"]
    slow = [*command, "--set", "blocks=200", "--seeds", "0..7", "--jobs", "1"]
    with subprocess.Popen(slow, cwd=PROJECT_ROOT, stdout=subprocess.DEVNULL) as running:
        while not (path.exists() and count_rows(path)):
            assert running.poll() is None, "the study ended before it could be killed"
            os.sched_yield()
        running.kill()
    there = read_rows(path)
    again = json.loads(subprocess.run(slow, cwd=PROJECT_ROOT, capture_output=True, check=True).stdout)
    whole = json.loads(subprocess.run([*slow, "--fresh"], cwd=PROJECT_ROOT, capture_output=True, check=True).stdout)

    assert 0 < len(there) < 16
    assert again["arms"] == whole["arms"]


@pytest.mark.soak
def test_a_dask_cluster_gives_the_same_table(tmp_path):
    study = load_study(str(write_study(tmp_path)))
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        there = rows_of(study, tmp_path / "there", DaskWorkers(cluster.scheduler_address, run_trial))

    assert there == rows_of(study, tmp_path / "here", Here())


WHOLE = """
title = "Whole runs"
question = "Do heartbeats fire?"
place = "a test"
engine = "cluster"
blocks = 6
seeds = 1
figures = ["beats.fires", "beats.wait_worst"]
limits = "One run."

[scenario.run]
until_height = 8

[scenario.workload.beats]
kind = "heartbeats"
actors = 2

[[validity]]
figure = "beats.fires"
at_least = 4
"""
