"""The campaign against planted variants: caught only by a check that the variant names, resumed, told in a matrix."""

import subprocess
import sys

import msgspec
import pytest

from checker.mutants import CATALOGUE
from checker.record.root import PROJECT_ROOT
from cluster.campaign.mutants import Campaign, Hunt, Size, caught_percent
from cluster.campaign.results_db import DamagedResultsError, SeedResult
from cluster.swarm.generator import draw_scenario
from report.mutants import CLEAN_HEADING, TeethRow, teeth_page, teeth_totals

NAMES = ("tip-burned", "created-keys-as-written", "waits-for-ever")


class Workers:
    """Judges nothing: says of each task what `failed` says of its planted variant and seed."""

    def __init__(self, failed):
        self.failed = failed
        self.tasks = []

    def judge(self, tasks):
        for task in tasks:
            (name,) = msgspec.json.decode(task.scenario)["mutants"]
            self.tasks.append((name, task.seed))
            failed = self.failed.get((name, task.seed), "")
            exit_code, verdict = (1, "safety") if failed else (0, "passed")
            yield task, SeedResult(task.seed, exit_code, verdict, "s", "h", "d", 1_500, "", failed)


def hunt(tmp_path, failed, seeds=range(3), identity="code"):
    workers = Workers(failed)
    with Campaign([CATALOGUE[name] for name in NAMES], seeds, tmp_path, identity) as campaign:
        list(campaign.run(workers))
    return campaign.hunts, workers.tasks


FAILED = {
    ("tip-burned", 0): "cold-replay oracle",
    ("created-keys-as-written", 0): "finality-regained",
    ("created-keys-as-written", 1): "agreement equal-roots",
}


def test_a_variant_is_hunted_until_a_check_that_it_names_fails(tmp_path):
    hunts, tasks = hunt(tmp_path, FAILED)

    assert [hunts[name].caught and hunts[name].caught.seed for name in NAMES] == [0, 1, None]
    assert [hunts[name].check for name in NAMES] == ["oracle", "equal-roots", ""]
    assert [len(hunts[name].tried) for name in NAMES] == [1, 2, 3]
    assert tasks == [(name, 0) for name in NAMES] + [(name, 1) for name in NAMES[1:]] + [(NAMES[2], 2)]
    assert caught_percent(hunts) == 66


def test_another_checks_failure_does_not_count_and_is_told(tmp_path):
    hunts, _ = hunt(tmp_path, {("tip-burned", seed): "cold-replay" for seed in range(3)})

    assert hunts["tip-burned"].caught is None
    assert hunts["tip-burned"].check == "only cold-replay"


def test_a_campaign_goes_on_where_it_stopped(tmp_path):
    first, _ = hunt(tmp_path, FAILED, seeds=range(1))
    again, tasks = hunt(tmp_path, FAILED, seeds=range(2))

    assert first["tip-burned"].caught == again["tip-burned"].caught
    assert tasks == [("created-keys-as-written", 1), ("waits-for-ever", 1)]


def test_results_of_other_code_are_refused(tmp_path):
    hunt(tmp_path, FAILED)

    with pytest.raises(DamagedResultsError):
        hunt(tmp_path, FAILED, identity="other code")


def test_a_small_scenario_is_one_that_a_person_can_follow():
    assert Hunt(CATALOGUE["tip-burned"], size=Size(3, 4, 6)).is_small
    assert not Hunt(CATALOGUE["tip-burned"], size=Size(4, 4, 1)).is_small
    assert not Hunt(CATALOGUE["tip-burned"]).is_small


def row(name, *, is_caught):
    return TeethRow(name, "what it does", "state", "order", "one", is_caught, "oracle", 2, 3.25, Size(1, 4, 2), True)


def test_the_page_tells_the_share_the_matrix_and_what_each_does():
    rows = [row("a-bug", is_caught=True), row("another", is_caught=False)]
    page = teeth_page(rows, 50)

    assert next(iter(teeth_totals(rows))).startswith("1 of 2 variants caught (50 %)")
    assert "| `a-bug` | state | order | one | oracle | 2 | 3.2 | 1 / 4 / 2 |" in page
    assert "| `another` | state | order | one | **no** oracle | 2 |" in page
    assert "| `a-bug` | what it does |" in page


def test_a_new_page_keeps_the_record_of_clean_campaigns():
    rows = [row("a-bug", is_caught=True)]
    before = f"{teeth_page(rows, 9)}\n{CLEAN_HEADING}\n\n2,000 seeds passed.\n"

    page = teeth_page([*rows, row("another", is_caught=True)], 50, before)

    assert (
        page == f"{teeth_page([*rows, row('another', is_caught=True)], 50)}\n{CLEAN_HEADING}\n\n2,000 seeds passed.\n"
    )


def teeth(tmp_path, *arguments):
    command = [sys.executable, "run_cluster.py", "teeth", "--runs", str(tmp_path), "--jobs", "1", *arguments]
    return subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)


def test_the_command_catches_a_bug_writes_its_page_and_says_how_to_repeat_it(tmp_path):
    done = teeth(tmp_path, "--only", "tip-burned", "--seeds", "0..1", "--json", "--out", str(tmp_path / "teeth.md"))

    answer = msgspec.json.decode(done.stdout)
    assert (done.returncode, answer["caught_percent"]) == (0, 100)
    (variant,) = answer["variants"]
    assert (variant["name"], variant["check"], variant["seed"]) == ("tip-burned", "oracle", 0)
    assert variant["settings"][-1].startswith("mutants.tip-burned=[0, 1, 2, 3")
    assert "1 of 1 variants caught" in (tmp_path / "teeth.md").read_text()


def test_a_variant_that_nothing_catches_fails_the_command(tmp_path):
    """Nothing is deleted where no bot liquidates a position and no edge case clears a record."""
    seed = next(seed for seed in range(50) if not {"bots", "oddities"} & draw_scenario(seed).workload.keys())
    done = teeth(tmp_path, "--only", "deleted-values-stay", "--seeds", str(seed), "--json")

    assert (done.returncode, msgspec.json.decode(done.stdout)["caught_percent"]) == (1, 0)


def test_a_name_that_is_no_variant_is_refused_with_those_that_are(tmp_path):
    done = teeth(tmp_path, "--only", "tip-burnt")

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "'tip-burnt' (did you mean tip-burned?) is none of expiry-a-slot-late, " in done.stderr
