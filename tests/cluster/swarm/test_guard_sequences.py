"""Fault sequences about idle guards: what runs with them come to, and the other draws that attack a guard."""

from itertools import pairwise

import msgspec
import pytest

from checker.coverage.registry import POINTS
from cluster.scenario.load import load_scenario
from cluster.swarm.engines.longest_chain import DRAWN_LONGEST_CHAIN, LOTTERY_SLOT_MS
from cluster.swarm.engines.simplex import DRAWN_SIMPLEX
from cluster.swarm.fault_sequences import draw_fault_sequence
from cluster.swarm.sequences.successive import joined_in_turn
from faults.kinds.registry import decode_fault
from network.draw import Draw
from tests.support.cluster_runs import judge_in_process
from tests.support.drawn import draw_once
from tests.support.keystones import rest_in_soak, third_of

SEEDS = range(600)
VALIDATORS = 4
PAYMENTS = 'workload.payments={kind="transfers", accounts=4, count=60, every_ms=100}'


def reached_by(*settings, faults=None):
    """Return the cells that a run of `calm` reaches, with these faults; it has to pass."""
    scenario = load_scenario("calm", settings)
    if faults is not None:
        decoded = {name: decode_fault({**fault, "may_be_idle": True}) for name, fault in faults.items()}
        scenario = msgspec.structs.replace(scenario, faults=decoded)
    result = judge_in_process(scenario)
    reached = dict(result.rules)

    assert result.verdict == "passed", result.headline
    return {label for label in POINTS if reached.get(label)}


def sequences_led_by(name):
    drawn = (draw_fault_sequence(Draw(seed), VALIDATORS, DRAWN_SIMPLEX) for seed in SEEDS)
    return [sequence for sequence in drawn if next(iter(sequence.faults), "").startswith(name)]


def cells_of(name, count=3):
    """Return the cells that the first runs of a sequence reach together."""
    reached = set()
    for sequence in sequences_led_by(name)[:count]:
        settings = [f"{part}.{key}={value}" for part, own in sequence.settings.items() for key, value in own.items()]
        reached |= reached_by("run.until_height=18", *settings, faults=sequence.faults)
    return reached


REACHED = (
    ("corrupt-archive", {"block-damaged"}),
    ("stale-pruning", {"journal-generation-skipped"}),
    ("repeated-torn-writes", {"torn-tail", "torn-tail-again"}),
    ("forger-", {"snapshot-forged", "snapshot-joined"}),
    ("notarized-and-nullified", {"two-certificates", "nullify-repeated-twice"}),
)
"""Sequences, each with the coverage points that it is drawn for."""


@pytest.mark.parametrize(("name", "cells"), rest_in_soak(REACHED, []))
def test_runs_with_a_sequence_reach_what_it_is_drawn_for(name, cells):
    assert cells - cells_of(name) == set()


def test_a_joiner_may_be_offered_a_snapshot_by_the_one_before_alone():
    drawn = [joined_in_turn(Draw(seed), VALIDATORS).faults for seed in range(40)]
    alone = [faults for faults in drawn if any(name.startswith("lost-offers-") for name in faults)]

    assert alone
    for faults in alone:
        nodes = [fault["groups"][0][0] for name, fault in faults.items() if name.startswith("successive-join-")]
        for before, node in pairwise(nodes):
            assert sorted({before, node, *faults[f"lost-offers-{node}"]["from"]}) == list(range(VALIDATORS))


@pytest.mark.parametrize("form", third_of(["height", "slot", "view"]))
def test_a_forged_header_meets_the_guard_of_its_field(form):
    cell = {"view": "block-of-other-view"}.get(form, f"block-{form}")

    assert cell in reached_by(forging("forge-header", form), "run.until_height=10")


@pytest.mark.parametrize("form", third_of(["nonce", "own-cost", "fees", "tip"]))
@pytest.mark.soak
def test_a_forged_body_meets_the_guard_of_its_transaction(form):
    assert f"block-{form}" in reached_by(forging("forge-body", form), PAYMENTS, "run.until_height=8")


def test_a_stranger_makes_no_move_in_a_game():
    games = 'workload.games={kind="games", games=1, foreign_moves=2}'

    assert "not-a-player" in reached_by(games, "run.until_height=8")


def forging(behaviour, form):
    """Return the setting of a fault by which validator 1 forges the blocks that it proposes.

    Its name is part of its chance: under this one a forged height is once above the true one, which alone is refused
    for that.
    """
    return (
        f'faults.x={{kind="byzantine", validator=1, behaviour="{behaviour}", what="{form}", '
        "start_ms=1_000, stop_ms=12_000}"
    )


def test_a_lottery_leads_some_longest_chains_and_leaves_slots_empty():
    sections = [DRAWN_LONGEST_CHAIN.section(Draw(seed)).get("longest_chain", {}) for seed in range(100)]
    drawn = [section for section in sections if section.get("leaders") == "lottery"]

    assert 20 <= len(drawn) <= 45
    assert {section["empty_slot_share_ppm"] for section in drawn} == {0, 100_000, 300_000}
    assert max(section["slot_ms"] for section in drawn) == LOTTERY_SLOT_MS


def test_some_subscriptions_are_left_with_just_their_price():
    drawn = [draw_once(seed).workload for seed in range(100)]

    assert sum("exact-price" in workload for workload in drawn) >= 4
