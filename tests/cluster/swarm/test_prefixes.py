"""Scripted prefixes and drawn anchors: whom they change, what they get to, what is drawn after them."""

import re

import msgspec
import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.swarm.anchors import KINDS
from cluster.swarm.engines.registry import DRAWN_ENGINES, draw_engine_stratum
from cluster.swarm.fault_sequences import draw_fault_sequence
from cluster.swarm.faults import is_just_away
from cluster.swarm.prefixes.registry import PREFIXES, draw_prefix, script_of
from faults import kind_of
from faults.anchors.anchor import Anchor
from faults.anchors.catalogue import BlockFacts
from faults.anchors.watch import AnchorWatch
from faults.kinds.registry import decode_fault
from network.draw import Draw
from network.events import EventRouter
from tests.support.drawn import draw_once
from tests.support.keystones import third_of

SEEDS = range(120)


def anchored_in(scenario):
    return [name for name, fault in scenario.faults.items() if fault.anchor is not None]


def arrival_of(seed):
    """Return the moment at which the script of a seed arrives, None for a seed without one."""
    draw, scenario = Draw(seed), draw_once(seed)
    name = draw_prefix(draw, DRAWN_ENGINES[scenario.consensus.engine].without_prefixes)
    return msgspec.convert(PREFIXES[name](draw, scenario.cluster.validators).arrival, Anchor) if name else None


SOON_MS = 3_000


def first_seed_of(prefix):
    """Return the first seed that begins with a prefix and draws a crash, a partition or a pause soon after it.

    Other faults may be idle by chance.
    """
    begun = (draw_once(seed) for seed in range(2_000) if draw_prefix(Draw(seed)) == prefix)
    return next(
        int(re.findall(r"\d+", scenario.title)[0])
        for scenario in begun
        if prefix in scenario.title
        # A later one may come when the run is over.
        and any(
            kind_of(fault) in KINDS and fault.span()[0] < SOON_MS
            for fault in map(scenario.faults.get, anchored_in(scenario))
        )
    )


def test_one_seed_in_seven_begins_with_a_prefix_and_each_is_drawn():
    drawn = [draw_prefix(Draw(seed)) for seed in range(400)]

    assert 45 <= len([name for name in drawn if name]) <= 75
    assert min(drawn.count(name) for name in PREFIXES) >= 7


def test_seeds_without_a_prefix_keep_the_sequence_that_they_draw():
    for seed in SEEDS:
        scenario, draw = draw_once(seed), Draw(seed)
        if draw_prefix(draw) or anchored_in(scenario):
            continue
        engine = DRAWN_ENGINES[scenario.consensus.engine]
        stratum, validators = draw_engine_stratum(draw), scenario.cluster.validators
        drawn = {} if is_just_away(draw) else draw_fault_sequence(stratum, validators, engine).faults
        plain = {name: decode_fault({**fault, "may_be_idle": True}) for name, fault in drawn.items()}
        # Of some a key is varied.
        assert {name: type(scenario.faults[name]) for name in plain} == {
            name: type(each) for name, each in plain.items()
        }


def test_the_script_of_a_drawn_scenario_is_known_with_its_moment():
    for seed in SEEDS:
        script = script_of(draw_once(seed), seed)
        assert (None if script is None else script.arrival) == arrival_of(seed), f"seed {seed}"

    varied = msgspec.structs.replace(draw_once(21), name="varied")
    assert (script_of(draw_once(21), 21) is None, script_of(varied, 21)) == (False, None)


def test_what_is_drawn_after_a_prefix_counts_from_its_arrival():
    for seed in SEEDS:
        if (arrival := arrival_of(seed)) is not None:
            faults = draw_once(seed).faults
            drawn = {name: each for name, each in faults.items() if not name.startswith("script-")}
            assert [name for name, each in drawn.items() if each.anchor != arrival] == []


def test_a_run_that_gets_elsewhere_than_its_script_is_no_less_conclusive():
    assert [seed for seed in SEEDS if draw_once(seed).expect.arrival is not None] == []


@pytest.mark.soak
def test_some_crashes_partitions_and_pauses_of_other_seeds_are_anchored():
    """And what fault sequences have anchored."""
    found = [
        kind_of(scenario.faults[name])
        for seed in range(640)
        if not draw_prefix(Draw(seed))
        for scenario in [draw_once(seed)]
        for name in anchored_in(scenario)
    ]

    assert sorted(dict.fromkeys(found)) == sorted((*KINDS, "blackout", "crash-at-boundary", "rule"))


@pytest.mark.parametrize("prefix", third_of(PREFIXES))
def test_a_script_gets_to_its_state(prefix):
    scenario = draw_once(seed := first_seed_of(prefix))
    came = []
    watch = AnchorWatch({prefix: arrival_of(seed)}, came.append)
    router = EventRouter(watch.handlers)

    def see_block(_node, executed):
        watch.see_block(executed.header.height, BlockFacts.of(executed.summary, executed.events))

    run = Cluster(scenario, seed, hooks=RunHooks(on_event=router.route, on_applied=see_block)).run()

    assert came == [prefix]
    assert run.outcome.reason == "stopped"
    assert any(effect.count for effect in run.effects if effect.name in anchored_in(scenario))
