"""Runs that have a name end as they did, and a scenario is inconclusive without what it promises.

A run is made once, and all that is known of it is asserted of that result: its verdict, its digest, the rule
cells that it witnesses. Keystones are run here, and all others by `make soak`.
"""

import re

import msgspec
import pytest

from checker.record.streams import read_event_record
from cluster.authoring.engines_page import VARIANTS
from cluster.authoring.small_sizes import SMALL, small_settings
from cluster.scenario.cost import estimate_cost
from cluster.scenario.load import load_scenario, scenario_paths
from cluster.scenario.toml_file import read_toml
from faults.quorums import spells_of
from network.events import events_of_type
from tests.frozen import SWARM_SEEDS, read_frozen, scenario_of, seed_of
from tests.support.cluster_runs import check_named, judge, result_of
from tests.support.keystones import KEYSTONES, rest_in_soak, third_of
from tests.witnesses import cells_of, read_witnesses
from validators.events import BlockFinalized

NAMES = [path.stem for path in scenario_paths()]
VARIED = [(path.stem, form) for path in scenario_paths() for form in read_toml(path).get("for_engine", {})]
ONE_OF_EACH_FORM = {form: (name, form) for name, form in reversed(VARIED) if form != "hotstuff"}.values()
ONE_BY_ONE = "mailbox-mix"
"""A scenario that requires faults and workloads, which are switched off one by one."""

SWITCHED_OFF = re.compile(r"([\w-]+) is switched off")

FROZEN = read_frozen()
WITNESSES = read_witnesses()

DRAWN = [f"swarm-{seed}" for seed in SWARM_SEEDS]
RUNS = list(dict.fromkeys([*NAMES, *DRAWN, *WITNESSES.values()]))
"""Every scenario (small size, seed 0), the first seeds of the swarm, and drawn runs that witness a coverage point."""

UNFORESEEN = {
    "clocks-stepped-together": {"events": "four hours of proposals that are refused as too far ahead"},
    "consensus-beside-gossip": {"events": "gossip that fills its share of every uplink"},
    "flooded-validators": {"events": "an adversary's flood of messages"},
    "lying-peers": {"events": "answers that are false, and asked for again"},
    "lone-torn-nullify": {"events": "the timers of a single validator, with no other one's messages beside them"},
    "free-timers-stop-the-chain": {"blocks": "the chain stops for good, which is what it shows"},
}
"""Figures that no plan tells of, with the reason."""


@pytest.mark.parametrize("name", rest_in_soak(RUNS, [*KEYSTONES, *DRAWN[::7]]))
def test_a_run_ends_as_it_did_and_reaches_what_it_witnesses(name):
    """The default scenario at full size is a test of its own. Some scenarios are there to fail."""
    seed = seed_of(name, FROZEN)
    result = judge(scenario_of(name, seed), seed=seed)
    fails = result.scenario.expect.fails

    # What cannot be judged any more after an expected failure is a consequence of it.
    sound = {"passed", "inconclusive"} if fails else {"passed"}
    others = [check.summary for check in result.checks if check.status not in sound and check.name not in fails]
    witnessed = [cell for cell, witness in WITNESSES.items() if witness == name]

    assert (result.verdict, others) == ("failed as expected" if fails else "passed", [])
    if name in FROZEN:
        assert result.digest.hex() == FROZEN[name].digest, "a run is not what it was: see tests/frozen"
    assert [cell for cell in witnessed if cell not in cells_of(result)] == []
    # Anchors of drawn plans leave more open than a factor of two.
    assert name not in NAMES or misestimated(name, result) == []
    assert final_without_a_quorum(result) == []


def misestimated(name, result):
    """The figures of a run that `check` has said more than twice too high or too low."""
    cost, run = estimate_cost(result.scenario), result.figures
    said = {"blocks": cost.blocks, "events": cost.events}
    known = UNFORESEEN.get(name, {})
    return [
        f"{what}: {count:,}, and there were {run[what]:,}"
        for what, count in said.items()
        if what not in known and not run[what] <= 2 * count <= 4 * run[what]
    ]


def final_without_a_quorum(result):
    """The times at which a block became final although the plan says that there can be none."""
    scenario = result.scenario
    settled = [fault for fault in scenario.faults.values() if fault.enabled and fault.anchor is None]
    spells = [each for each in spells_of(settled, scenario.electorate) if each.is_dark(scenario.electorate.quorum)]
    found, height = [], 0
    for event, block in events_of_type(
        map(read_event_record, map(msgspec.msgpack.decode, result.trace.events())), BlockFinalized
    ):
        if block.height > height:
            height, at_ms = block.height, event.at_us // 1_000
            found += [at_ms for each in spells if each.share_ppm == 1_000_000 and each.start_ms < at_ms < each.stop_ms]
    return found


@pytest.mark.long
@pytest.mark.parametrize(("name", "form"), rest_in_soak(VARIED, ONE_OF_EACH_FORM))
def test_a_scenario_shows_its_promise_on_an_engine_with_tables(name, form):
    """Shorter slots or later faults, which nothing else runs: the page of engines is not written anew."""
    # `hotstuff` stands for each of its profiles.
    variant = next(variant for variant in VARIANTS if variant.name == form or variant.name.startswith(f"{form} "))
    result = result_of(name, *small_settings(name), *variant.settings)

    assert result.verdict == "passed", result.headline


@pytest.mark.long
@pytest.mark.soak
def test_the_default_scenario_at_full_size_is_the_storm_it_promises():
    """At least 20,000 dead timers of at least 20 actors, 30 blocks of drain, live fires in each of them."""
    result = result_of("outage-storm")
    storm = dict(check_named(result, "storm").evidence)

    assert result.verdict == "passed", result.headline
    assert storm["dead_timers"] >= 20_000
    assert storm["actors"] >= 20
    assert storm["drain_blocks"] >= 30
    assert storm["fired_in_drain"] >= storm["drain_blocks"]


@pytest.mark.parametrize("name", rest_in_soak(NAMES, KEYSTONES[:1]))
def test_a_scenario_names_each_thing_that_it_requires_and_lacks(name):
    """A run that promised a fault or a workload which never came proves nothing, however short it is."""
    required = load_scenario(name).requires

    assert lacking(without(name, required)) == sorted(required)


@pytest.mark.parametrize("required", third_of(load_scenario(ONE_BY_ONE).requires))
def test_a_scenario_without_one_of_what_it_requires_is_inconclusive(required):
    """Faults and workloads alike."""
    assert lacking(without(ONE_BY_ONE, [required])) == [required]


def without(name, required):
    """A short run of a scenario in which these faults and workloads are switched off."""
    faults = load_scenario(name).faults
    switched_off = [f"{'faults' if each in faults else 'workload'}.{each}.enabled=false" for each in required]
    return result_of(name, *small_settings(name), *switched_off, "run.until_height=2", "run.until_drained=false")


def lacking(result):
    """Faults and workloads that an inconclusive run names as switched off, in the order of names."""
    assert result.exit_code == 3, result.headline
    checks = [check for check in result.checks if check.name in {"faults-effective", "workloads-effective"}]
    return sorted(SWITCHED_OFF.findall("; ".join(check.summary for check in checks if check.status == "inconclusive")))


@pytest.mark.soak
def test_a_required_workload_whose_transactions_fail_is_inconclusive():
    """In the chain is not enough: an intruder's instructions are there and reverted."""
    result = result_of("governance-mid-storm", "workload.council.is_deployer=false")

    assert "council: 0 transactions succeeded, 32 failed" in check_named(result, "workloads-effective").summary
    assert result.exit_code == 3


def test_less_than_promised_is_inconclusive():
    """Without the handlers that fail, no fire reverts."""
    switched_off = [f"workload.{name}.enabled=false" for name in ("failing", "spinning", "crashing")]
    result = result_of("services", *switched_off)

    assert check_named(result, "expected-counts").summary == "less than expected: fires_reverted 0 (at least 60)"
    assert result.exit_code == 3


@pytest.mark.soak
def test_more_than_a_scenario_allows_is_a_failure():
    """Four of the page's ten timers roll over; a run in which more do would have broken a promise."""
    result = result_of("intro-page", "expect.at_most.waiting_live_peak=3")

    assert check_named(result, "expected-limits").summary == "waiting_live_peak is 4, at most 3 is expected"
    assert result.exit_code == 1


@pytest.mark.soak
def test_an_actor_that_fires_less_than_promised_makes_a_run_inconclusive():
    """Without weights the whale leaves nothing to some of the crowd."""
    result = result_of("whale-vs-crowd", "chain.lane.weight_max=[1, 1]")

    assert "fires of each of crowd 0 (at least 2)" in check_named(result, "expected-counts").summary
    assert result.exit_code == 3


@pytest.mark.soak
def test_an_activation_that_no_reorg_crosses_is_inconclusive():
    """The branch that is abandoned begins above it."""
    result = result_of("activation-reorg", "chain.activation.height=6")

    assert "crossed 0 (at least 3)" in check_named(result, "reorg").summary
    assert result.exit_code == 3


def test_a_fault_that_touches_nothing_is_inconclusive():
    """Enabled is not enough: no message crosses a cut that is over before the first block."""
    result = result_of("partition-heal", "faults.split.start_ms=0", "faults.split.stop_ms=1")

    assert check_named(result, "faults-effective").status == "inconclusive"


@pytest.mark.soak
def test_a_storm_that_drains_too_soon_is_inconclusive():
    """Fewer than ten drain blocks are no storm."""
    result = result_of("outage-storm", *SMALL["outage-storm"], "chain.timers.gc_cycles_per_block=1_000_000")

    assert check_named(result, "storm").status == "inconclusive"
    assert result.exit_code == 3


def test_every_scenario_requires_a_fault_or_a_workload():
    """The subject of a scenario is in its `requires`."""
    assert [name for name in NAMES if not load_scenario(name).requires] == []
