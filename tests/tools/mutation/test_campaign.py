"""Mutation testing: a mutant is killed only by a check that it names; a campaign goes on; a matrix says it all."""

import subprocess
import sys
from functools import partial

import msgspec
import pytest

from checker.record.root import PROJECT_ROOT
from cluster.campaign.results_db import DamagedResultsError, SeedResult
from cluster.scenario.load import decode_scenario, encode_scenario
from cluster.swarm.generator import draw_scenario
from faults.kinds.isolate_leader import IsolateLeader
from tools.mutation.campaign import MutantSearch, MutationCampaign, Size, campaign_task, killed_percent, varied_task
from tools.mutation.catalogue import CATALOGUE
from tools.mutation.report import MutantRow, mutants_page, mutants_totals

NAMES = ("tip-burned", "created-keys-as-written", "waits-for-ever")


class Workers:
    """Runs nothing: the result of each task is what `failed` says of its mutant and seed."""

    def __init__(self, failed):
        self.failed = failed
        self.tasks = []
        self.names = []

    def results(self, tasks):
        for task in tasks:
            scenario = msgspec.json.decode(task.scenario)
            (name,) = scenario["mutants"]
            self.names.append(scenario["name"])
            self.tasks.append((name, task.seed))
            failed = self.failed.get((name, task.seed), "")
            exit_code, verdict = (1, "safety") if failed else (0, "passed")
            yield task, SeedResult(task.seed, exit_code, verdict, "s", "h", "d", 1_500, "", failed)


def search(tmp_path, failed, seeds=range(3), identity="code"):
    workers = Workers(failed)
    with MutationCampaign([CATALOGUE[name] for name in NAMES], seeds, tmp_path, identity) as campaign:
        list(campaign.run(workers))
    return campaign.searches, workers.tasks


FAILED = {
    ("tip-burned", 0): "cold-replay oracle",
    ("created-keys-as-written", 0): "finality-regained",
    ("created-keys-as-written", 1): "agreement equal-roots",
}


def test_a_mutant_is_searched_for_until_a_check_that_it_names_fails(tmp_path):
    searches, tasks = search(tmp_path, FAILED)

    assert [searches[name].kill and searches[name].kill.seed for name in NAMES] == [0, 1, None]
    assert [searches[name].check for name in NAMES] == ["oracle", "equal-roots", ""]
    assert [len(searches[name].tried) for name in NAMES] == [1, 2, 3]
    assert tasks == [(name, 0) for name in NAMES] + [(name, 1) for name in NAMES[1:]] + [(NAMES[2], 2)]
    assert killed_percent(searches) == 66


@pytest.mark.parametrize("name", NAMES)
def test_a_corpus_varies_the_odd_seeds_of_a_mutant(name):
    mutant, plans = CATALOGUE[name], {"swarm-9": msgspec.json.decode(encode_scenario(draw_scenario(9)))}

    assert varied_task(plans, mutant, 4) == campaign_task(mutant, 4)
    varied = varied_task(plans, mutant, 5)
    scenario = decode_scenario(varied.scenario, "variant")
    holders = tuple(range(scenario.cluster.validators)) if mutant.on_all else (1,)
    assert (scenario.name, scenario.mutants, varied.label) == ("varied", {name: holders}, name)


def test_a_campaign_runs_the_tasks_that_it_is_given(tmp_path):
    workers = Workers({})
    tasks = partial(varied_task, {"swarm-9": msgspec.json.decode(encode_scenario(draw_scenario(9)))})
    with MutationCampaign([CATALOGUE[NAMES[0]]], range(2), tmp_path, "code", make_task=tasks) as campaign:
        list(campaign.run(workers))

    assert workers.names == ["swarm", "varied"]


def test_another_checks_failure_does_not_count_and_is_told(tmp_path):
    searches, _ = search(tmp_path, {("tip-burned", seed): "cold-replay" for seed in range(3)})

    assert searches["tip-burned"].kill is None
    assert searches["tip-burned"].check == "only cold-replay"


def test_a_campaign_goes_on_where_it_stopped(tmp_path):
    first, _ = search(tmp_path, FAILED, seeds=range(1))
    again, tasks = search(tmp_path, FAILED, seeds=range(2))

    assert first["tip-burned"].kill == again["tip-burned"].kill
    assert tasks == [("created-keys-as-written", 1), ("waits-for-ever", 1)]


def test_results_of_other_code_are_refused(tmp_path):
    search(tmp_path, FAILED)

    with pytest.raises(DamagedResultsError):
        search(tmp_path, FAILED, identity="other code")


def test_a_small_scenario_is_one_that_a_person_can_follow():
    assert MutantSearch(CATALOGUE["tip-burned"], size=Size(3, 4, 6)).is_small
    assert not MutantSearch(CATALOGUE["tip-burned"], size=Size(4, 4, 1)).is_small
    assert not MutantSearch(CATALOGUE["tip-burned"]).is_small


def row(name, *, is_killed):
    return MutantRow(name, "what it does", "state", "order", "one", is_killed, "oracle", 2, 3.25, (1, 4, 2), True)


def test_the_page_tells_the_share_the_matrix_and_what_each_does():
    rows = [row("a-bug", is_killed=True), row("another", is_killed=False)]
    page = mutants_page(rows, 50)

    assert next(iter(mutants_totals(rows))).startswith("1 of 2 mutants killed (50 %)")
    assert "| `a-bug` | state | order | one | oracle | 2 | 3.2 | 1 / 4 / 2 |" in page
    assert "| `another` | state | order | one | **no** oracle | 2 |" in page
    assert "| `a-bug` | what it does |" in page


def test_a_survivor_is_not_rounded_away():
    rows = [*[row("a-bug", is_killed=True)] * 224, row("another", is_killed=False)]

    assert next(iter(mutants_totals(rows))).startswith("224 of 225 mutants killed (99 %)")


def mutants(tmp_path, *arguments):
    command = [sys.executable, "-m", "tools.mutation", "mutants", "--runs", str(tmp_path), "--jobs", "1", *arguments]
    return subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)


def test_the_command_kills_a_mutant_and_names_the_command_to_repeat_it(tmp_path):
    done = mutants(tmp_path, "--only", "tip-burned", "--seeds", "0..1", "--json", "--out", str(tmp_path / "mutants.md"))

    answer = msgspec.json.decode(done.stdout)
    assert (done.returncode, answer["killed_percent"]) == (0, 100)
    (found,) = answer["mutants"]
    assert (found["name"], found["check"], found["seed"]) == ("tip-burned", "oracle", 0)
    assert found["settings"][-1].startswith("mutants.tip-burned=[0, 1, 2, 3")
    assert "1 of 1 mutants killed" in (tmp_path / "mutants.md").read_text()


@pytest.mark.soak
def test_a_mutant_that_nothing_kills_fails_the_command(tmp_path):
    """No cut stays behind where none has to follow a leader."""
    seed = next(
        seed
        for seed in range(100)
        if not any(isinstance(fault, IsolateLeader) for fault in draw_scenario(seed).faults.values())
    )
    done = mutants(tmp_path, "--only", "tip-burned", "isolation-stays-behind", "--seeds", str(seed), "--json")

    assert (done.returncode, msgspec.json.decode(done.stdout)["killed_percent"]) == (1, 50)


def test_a_name_that_is_no_mutant_is_refused_with_those_that_are(tmp_path):
    done = mutants(tmp_path, "--only", "tip-burnt")

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "'tip-burnt' (did you mean tip-burned?) is none of expiry-a-slot-late, " in done.stderr
