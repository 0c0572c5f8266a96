"""Drawn scenarios: a function of the seed, each another mixture, and none of them a false alarm."""

import os

from cluster.draws import Draw
from cluster.results import ResultsFile
from cluster.scenario import encode_scenario, load_scenario
from cluster.shrink_command import write_scenario_file
from cluster.swarm import banner, draw_scenario, swarm_identity
from cluster.swarm_faults import FAULTS_UNTIL_MS
from cluster.sweep import sweep
from faults import span_ms

CLEAN_SEEDS = range(50)
DRAWN = [draw_scenario(seed) for seed in range(200)]


def test_no_drawn_scenario_is_a_false_alarm(tmp_path):
    """The checks of a campaign are worth something only if they are silent where nothing is wrong."""
    with ResultsFile(tmp_path / "swarm.sqlite", "swarm") as results:
        tally = sweep(
            lambda seed: encode_scenario(draw_scenario(seed)),
            CLEAN_SEEDS,
            results=results,
            runs=tmp_path,
            jobs=min(os.cpu_count() or 1, 4),
            on_result=lambda *_: None,
        )

    assert {name: [each.seed for each in group] for name, group in tally.groups.items()} == {}
    assert tally.verdicts == {"passed": len(CLEAN_SEEDS)}


def test_a_draw_depends_on_its_name_and_seed_alone():
    first, second = Draw(5), Draw(5)
    second.between("another", 0, 9)

    assert [first.between(name, 0, 999) for name in "abc"] == [second.between(name, 0, 999) for name in "abc"]


def test_a_seed_draws_the_same_scenario_again_and_another_seed_another():
    encoded = [encode_scenario(scenario) for scenario in DRAWN]

    assert encoded[:5] == [encode_scenario(draw_scenario(seed)) for seed in range(5)]
    assert len(dict.fromkeys(encoded)) == len(encoded)


def test_settings_change_a_drawn_scenario_and_its_identity():
    assert draw_scenario(3, ["run.until_height=7"]).run.until_height == 7
    assert swarm_identity(["run.until_height=7"]) != swarm_identity(())


def test_most_kinds_of_faults_are_off_in_a_run_and_all_are_drawn_in_some():
    names = [list(scenario.faults) for scenario in DRAWN]
    every = dict.fromkeys(name for drawn in names for name in drawn)

    assert max(map(len, names)) <= 6
    assert [] in names
    assert len(every) >= 14


def test_every_fault_is_over_in_time():
    assert all(span_ms(fault)[1] <= FAULTS_UNTIL_MS + 5_000 for scenario in DRAWN for fault in scenario.faults.values())


def test_what_makes_timers_die_and_move_prices_is_drawn_often():
    storms = [scenario.workload["storm"] for scenario in DRAWN if "storm" in scenario.workload]

    assert len(storms) > 140
    assert sum(storm.unfunded_actors > 0 for storm in storms) > 60
    assert sum(storm.payer == "sender" for storm in storms) > 20
    assert sum(storm.handler != "" for storm in storms) > 60
    assert sum("council" in scenario.workload for scenario in DRAWN) > 40
    assert sum(scenario.chain.block_cycles < 100_000 for scenario in DRAWN) > 40


def test_the_banner_tells_every_drawn_parameter():
    lines = list(banner(DRAWN[3]))

    assert f"cluster.validators = {DRAWN[3].cluster.validators}" in lines
    assert any(line.startswith("chain.timers.lane_timer_cycles = ") for line in lines)


def test_a_drawn_scenario_written_for_a_person_reads_back_as_it_was(tmp_path):
    """What a shrunk scenario file leaves out is as by default."""
    for seed, scenario in enumerate(DRAWN[:30]):
        write_scenario_file(tmp_path / "drawn.toml", scenario, seed, "safety: oracle: height #", 1)

        assert load_scenario(str(tmp_path / "drawn.toml")) == scenario
        assert "{}" not in (tmp_path / "drawn.toml").read_text()
