"""Faults of stratified draws: no behaviour, no list and no key is left to its default by chance."""

import msgspec
import pytest

from cluster.swarm.byzantine import draw_byzantine
from cluster.swarm.engines.registry import DRAWN_ENGINES, draw_engine_stratum
from cluster.swarm.fault_sequences import draw_fault_sequence
from cluster.swarm.variations import VARIED
from faults import check_plan, kind_of
from faults.byzantine.catalogue import behaviours_of
from faults.kinds.registry import FAULTS, decode_fault
from network.draw import Draw
from tests.support.drawn import Drawn

ENGINES = tuple(DRAWN_ENGINES.values())
DRAWN = Drawn(range(640))

NOT_VARIED = {
    "blackout.regions": "names validators in another way",
    "byzantine.above_f": "lets the chain part, which is no false alarm then",
    "partitions.groups": "the sides are drawn anew each time",
    "twin.above_f": "likewise",
}
"""Keys of faults that no seed varies, with the reason."""

WHERE_ASKED = ("replace",)
"""Kinds that are drawn only for a scenario that names builds."""

ANCHORED = ("crash", "partition", "pause", "blackout")


def seeds_of(engine, count):
    """Return the first seeds that get an engine."""
    return [seed for seed, drawn in enumerate(DRAWN) if drawn.consensus.engine == engine.name][:count]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda each: each.name)
@pytest.mark.soak
def test_forty_seeds_of_an_engine_are_dealt_each_behaviour(engine):
    strata = [draw_engine_stratum(Draw(seed)) for seed in seeds_of(engine, 40)]
    stratified = [fault.get("behaviour") for stratum in strata for fault in draw_byzantine(stratum, 4, engine).values()]

    assert {name for name in (*behaviours_of(engine.name), "amnesia") if stratified.count(name) < 1} == set()


@pytest.mark.parametrize("engine", ENGINES, ids=lambda each: each.name)
def test_at_most_a_third_of_a_cluster_is_byzantine(engine):
    for validators in (4, 7):
        for seed in range(60):
            faults = draw_byzantine(draw_engine_stratum(Draw(seed)), validators, engine)
            nodes = {fault["validator"] for fault in faults.values()}

            assert len(nodes) <= (validators - 1) // 3
            plan = {name: decode_fault(engine.in_own_words(each)) for name, each in faults.items()}
            check_plan(plan, validators, engine=engine.name)


def test_two_leading_behaviours_of_one_validator_take_turns():
    """The one that is asked first would leave the other nothing to propose."""
    seen = 0
    for seed in range(60):
        every = [
            fault["every"]
            for fault in list(draw_byzantine(draw_engine_stratum(Draw(seed)), 4, ENGINES[0]).values())[:2]
        ]
        seen += every == [2, 1]

    assert seen > 10


def soaked(engine):
    return pytest.param(engine, marks=pytest.mark.soak)


@pytest.mark.parametrize("engine", [ENGINES[0], *map(soaked, ENGINES[1:])], ids=lambda each: each.name)
def test_an_engines_own_sequences_take_turns_in_its_seeds(engine):
    strata = [draw_engine_stratum(Draw(seed)) for seed in seeds_of(engine, 40)]
    drawn = [tuple(draw_fault_sequence(stratum, 4, engine).faults) for stratum in strata]
    # What a sequence is called differs with what it draws; the first of its faults does not.
    own = {next(iter(make(Draw(0), 4).faults)) for make in engine.sequences}

    assert own <= {names[0] for names in drawn if names}


def test_every_key_of_every_fault_is_varied_or_has_a_reason():
    values = {}
    for scenario in DRAWN:
        for fault in scenario.faults.values():
            for field in msgspec.structs.fields(fault):
                key = f"{kind_of(fault)}.{field.encode_name}"
                values.setdefault(key, set()).add(repr(getattr(fault, field.name)))
    general = ("enabled", "may_be_idle", "anchor")
    single = {
        key
        for kind in FAULTS.built_in
        if kind_of(kind) not in WHERE_ASKED
        for field in msgspec.structs.fields(kind)
        if field.encode_name not in general or (field.encode_name == "anchor" and kind_of(kind) in ANCHORED)
        if len(values.get(key := f"{kind_of(kind)}.{field.encode_name}", ())) < 2
    }

    assert single - {*NOT_VARIED} == set()
    assert {*NOT_VARIED} & {key for key, found in values.items() if len(found) > 1} == set()


def test_every_varied_key_of_a_section_has_all_of_its_values():
    for section, keys in VARIED.items():
        for key, expected in keys.items():
            assert {*expected} <= {getattr(getattr(each, section), key) for each in DRAWN}


def test_a_few_seeds_have_links_in_order_and_shared_uplinks():
    fifo = [seed for seed, each in enumerate(DRAWN) if each.network.order == "fifo"]
    shares = {len(each.network.uplink_shares) for each in DRAWN if each.network.uplink_bytes_per_second}

    assert 5 < len(fifo) < len(DRAWN) // 10
    assert shares == {0, 3}


def test_what_only_crashes_keeps_the_pace_of_the_others():
    """Their finality is bounded, and work that takes long would break the bound."""
    crashed = [each for each in DRAWN if each.faults and all(name.startswith("away-") for name in each.faults)]

    assert crashed
    assert {each.costs.execute_us for each in crashed} == {20}
