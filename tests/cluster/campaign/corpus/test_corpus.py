"""A corpus: plans that reached something unseen are kept, varied, and found again; the same ones on any worker."""

import json
from functools import cache
from pathlib import Path

import pytest

from checker.record.fingerprint import this_code
from cluster.campaign.corpus.folder import LISTING, Corpus, NewPlan, failed_plan
from cluster.campaign.corpus.rounds import ROUND_SEEDS, CorpusPlans, is_varied
from cluster.campaign.corpus.variation import ENTRIES_MAX, VARIED, vary
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.sweep import is_thorough, sweep
from cluster.cli.main import main
from cluster.scenario.load import decode_scenario, encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from tests.support.commands import run_command
from tests.support.drawn import draw_once

PASSED = SeedResult(1, 0, "passed", "", "all is well", "ab", 5, fingerprint=this_code().fingerprint)
FAILED = PASSED._replace(exit_code=1, verdict="safety", signature="safety: roots: height #")


def drawn(seed, settings=()):
    return encode_scenario(draw_once(seed, *settings))


def plans_of(*seeds):
    return {f"swarm-{seed}": json.loads(drawn(seed)) for seed in seeds}


@cache
def variants_of(number):
    """The variants of one plan that forty seeds make."""
    return [json.loads(vary(plans_of(number), seed)) for seed in range(40)]


class Workers:
    """Judges nothing: each run reaches the pair of its seed; results come in an order of their own."""

    def __init__(self, *, is_backwards=False, failing=()):
        self.scenarios = {}
        self.thorough = []
        self._is_backwards = is_backwards
        self._failing = failing

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def results(self, tasks):
        listed = list(tasks)
        for task in reversed(listed) if self._is_backwards else listed:
            self.scenarios[task.seed] = task.scenario
            self.thorough += [task.seed] if task.is_thorough else []
            verdict = FAILED if task.seed in self._failing else PASSED
            yield task, verdict._replace(seed=task.seed, pairs=(f"pair {task.seed}",))


class DyingWorkers(Workers):
    """Is interrupted after some results."""

    def __init__(self, count):
        super().__init__()
        self._count = count

    def results(self, tasks):
        for task, result in super().results(tasks):
            if len(self.scenarios) > self._count:
                del self.scenarios[task.seed]
                raise KeyboardInterrupt
            yield task, result


def sweep_with(folder, seeds, workers):
    """Sweep with a corpus and a fresh results file; return the scenarios by seed."""
    folder.parent.mkdir(exist_ok=True)
    with ResultsFile(folder.with_suffix(".sqlite"), "swarm") as results, Corpus(folder) as corpus:
        plans = CorpusPlans(corpus, drawn)
        sweep(
            plans.scenario_of,
            seeds,
            results=results,
            runs=folder.parent,
            jobs=1,
            on_result=lambda *_: None,
            workers=workers,
            corpus=plans,
        )
    return workers.scenarios


class TestVariation:
    def test_a_variant_is_a_function_of_corpus_and_seed(self):
        plans = plans_of(1, 2, 3)

        assert vary(plans, 7) == vary(plans, 7)
        assert vary(plans, 7) != vary(plans, 9)
        assert vary(plans, 7) != vary(plans_of(4, 5, 6), 7)

    def test_a_plan_is_of_the_chain_that_the_seed_draws(self):
        plans = plans_of(*range(60))
        chains = {name: (plan["consensus"]["engine"], plan["chain"]["policy"]) for name, plan in plans.items()}

        for seed in (7, 9, 11, 13, 15):
            own, title = json.loads(drawn(seed)), json.loads(vary(plans, seed))["title"]
            assert chains[title.partition(", ")[0]] == (own["consensus"]["engine"], own["chain"]["policy"]), seed

    def test_variants_are_scenarios_that_differ_from_their_plan(self):
        plans = plans_of(1, 2, 3)
        encoded = {json.dumps({**plain, "name": "", "title": ""}) for plain in plans.values()}

        for seed in range(40):
            scenario = decode_scenario(vary(plans, seed), "variant")
            assert scenario.name == VARIED, f"seed {seed} was left to the swarm"
            plain = json.loads(encode_scenario(scenario))
            assert json.dumps({**plain, "name": "", "title": ""}) not in encoded, f"seed {seed}: {scenario.title}"

    @pytest.mark.soak
    def test_some_variants_have_one_entry_more_and_none_has_two(self):
        """Plans of the swarm have ten faults and ten workloads in the mean: no bound below that."""
        (plan,), variants = plans_of(2).values(), variants_of(2)

        for table in ("faults", "workload"):
            more = [len(variant[table]) - len(plan[table]) for variant in variants]
            assert len(plan[table]) > 10
            assert (more.count(1) > 0, max(more)) == (True, 1), f"{table}: {more}"

    @pytest.mark.soak
    def test_an_exchange_gives_another_entry_for_the_one_it_takes(self):
        (plan,), variants = plans_of(5).values(), variants_of(5)

        for table in ("faults", "workload"):
            exchanged = [each for each in variants if len(each[table]) == len(plan[table])]
            assert any(set(each[table]) != set(plan[table]) for each in exchanged), table

    @pytest.mark.soak
    def test_no_variant_has_more_entries_than_the_limit(self):
        ((name, plan),) = plans_of(5).items()
        beats = plan["workload"]["heartbeats"]
        plan["workload"] |= {f"heartbeats-{number}": beats for number in range(ENTRIES_MAX - len(plan["workload"]))}

        assert max(len(json.loads(vary({name: plan}, seed))["workload"]) for seed in range(40)) == ENTRIES_MAX

    def test_a_variant_has_the_settings_of_the_campaign(self):
        scenario = decode_scenario(vary(plans_of(1, 2), 7, ["run.until_height=5"]), "variant")

        assert (scenario.name, scenario.run.until_height) == (VARIED, 5)

    def test_without_a_sound_variant_the_seed_is_the_swarms(self):
        assert vary({"torn": {**json.loads(drawn(1)), "oracle": "none such"}}, 7) == drawn(7)


class TestFolder:
    def test_plans_that_reached_an_unseen_pair_are_kept(self, tmp_path):
        with Corpus(tmp_path / "corpus") as corpus:
            corpus.keep([NewPlan(drawn(1), 1, ["a b", "b c"]), NewPlan(drawn(2), 2, ["b c"])])
            corpus.keep([NewPlan(drawn(3), 3, ["a b"]), NewPlan(drawn(4), 4, ["c d"])])

        with Corpus(tmp_path / "corpus") as again:
            assert [json.loads(drawn(seed)) for seed in (1, 4)] == list(again.plans.values())
            assert again.unseen(["a b", "b c", "c d", "d e"]) == ["d e"]

    @pytest.mark.soak
    def test_a_kept_plan_runs_as_a_scenario_file(self, tmp_path, capsys):
        with Corpus(tmp_path / "corpus") as corpus:
            corpus.keep([NewPlan(drawn(1, ["run.until_height=2"]), 1, ["a b"])])

        (path,) = (tmp_path / "corpus").glob("*.toml")
        assert encode_scenario(load_scenario(str(path))) == drawn(1, ["run.until_height=2"])
        assert f"run {path.name} --seed 1" in path.read_text(encoding="utf-8")
        assert main(["run", str(path), "--seed", "1", "--runs", str(tmp_path)]) == 0, capsys.readouterr().out

    def test_a_folder_of_other_files_is_no_corpus(self, tmp_path):
        (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")

        with pytest.raises(ScenarioError, match="is not a corpus"):
            Corpus(tmp_path)

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"\xff{", "is not a listing"),
            (b'{"format": "other 1", "plans": [], "pairs": []}', "has the format 'other 1'"),
            (b'{"format": "stampede-corpus 1", "plans": ["../x"], "pairs": []}', "'../x' is not a name of a plan"),
            (b'{"format": "stampede-corpus 1", "plans": ["gone"], "pairs": []}', "gone.toml: no such scenario file"),
        ],
    )
    def test_a_damaged_listing_is_refused(self, tmp_path, content, reason):
        (tmp_path / LISTING).write_bytes(content)

        with pytest.raises(ScenarioError, match=reason):
            Corpus(tmp_path)

    def test_a_plan_that_is_no_scenario_is_one_line(self, tmp_path):
        with Corpus(tmp_path / "corpus") as corpus:
            corpus.keep([NewPlan(drawn(1), 1, ["a b"])])
        (path,) = (tmp_path / "corpus").glob("*.toml")
        path.write_text("name = 3", encoding="utf-8")

        done = run_command("sweep", "--swarm", "--corpus", tmp_path / "corpus", "--runs", tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert path.name in done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the scenarios of a sweep that nothing disturbs, and the folder of its corpus."""
    folder = tmp_path_factory.mktemp("whole") / "corpus"
    return sweep_with(folder, TestSweep.SEEDS, Workers()), folder


class TestSweep:
    SEEDS = range(ROUND_SEEDS * 2)

    @pytest.mark.soak
    def test_scenarios_do_not_depend_on_the_order_of_results(self, whole, tmp_path):
        forwards, folder = whole
        backwards = sweep_with(tmp_path / "corpus", self.SEEDS, Workers(is_backwards=True))

        assert forwards == backwards
        assert (folder / LISTING).read_bytes() == (tmp_path / "corpus" / LISTING).read_bytes()

    @pytest.mark.soak
    def test_half_of_the_seeds_stay_purely_drawn(self, whole):
        """And all of the first round, for there is nothing to vary."""
        scenarios, _ = whole

        varied = [seed for seed, scenario in scenarios.items() if scenario != drawn(seed)]
        assert varied == [seed for seed in self.SEEDS if is_varied(seed) and seed >= ROUND_SEEDS]

    @pytest.mark.soak
    def test_one_seed_in_twenty_is_repeated_drawn_and_varied_in_turn(self, tmp_path):
        workers = Workers()
        sweep_with(tmp_path / "corpus", range(ROUND_SEEDS * 4), workers)

        assert workers.thorough == [0, 21, 40, 61]
        assert [is_varied(seed) for seed in workers.thorough] == [False, True, False, True]
        assert [seed for seed in range(80) if is_thorough(seed)] == [0, 20, 40, 60]

    @pytest.mark.soak
    def test_a_sweep_that_goes_on_makes_the_same_scenarios(self, whole, tmp_path):
        """Killed in its second round, it has what the first one reached and nothing of the second."""
        scenarios, _ = whole
        killed = DyingWorkers(ROUND_SEEDS + 5)
        with pytest.raises(KeyboardInterrupt):
            sweep_with(tmp_path / "corpus", self.SEEDS, killed)
        rest = sweep_with(tmp_path / "corpus", self.SEEDS, Workers())

        assert len(killed.scenarios) + len(rest) == len(scenarios)
        assert killed.scenarios | rest == scenarios

    @pytest.mark.soak
    def test_a_variant_that_fails_can_be_repeated_and_is_not_varied(self, tmp_path):
        seed = ROUND_SEEDS + 1
        scenarios = sweep_with(tmp_path / "corpus", self.SEEDS, Workers(failing=[seed]))

        path = failed_plan(tmp_path / "corpus", seed)
        assert encode_scenario(load_scenario(str(path))) == scenarios[seed]
        with Corpus(tmp_path / "corpus") as corpus:
            assert len(corpus.plans) == len(self.SEEDS) - 1
            assert corpus.unseen([f"pair {seed}"])

    def test_a_corpus_goes_with_the_swarm_alone(self, tmp_path, capsys):
        assert main(["sweep", "calm", "--corpus", str(tmp_path)]) == 2
        assert "--corpus" in capsys.readouterr().err


def test_the_working_directory_can_be_a_corpus(tmp_path, monkeypatch):
    (tmp_path / "corpus").mkdir()
    monkeypatch.chdir(tmp_path / "corpus")

    with Corpus(Path()) as corpus:
        assert corpus.plans == {}
