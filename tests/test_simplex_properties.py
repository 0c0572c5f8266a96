"""Simplex as a whole: whatever is delayed, lost, repeated or cut off, validators agree and go on afterwards."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simplex_harness import Seat, World
from validators.consensus import Ed25519Scheme, Finalize, Nullify, decode_artifact

SCRIPTS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 2**12)), min_size=20, max_size=220)


def run_script(world: World, script: list[tuple[int, int]], *, losses: int = 8) -> None:
    """Let each pair of the script choose what happens next; deliveries are the most frequent."""
    for action, choice in script:
        seat = world.seats[choice % len(world.seats)]
        if action < losses:
            drop(world, choice)
        elif action < 52:
            deliver_some(world, choice)
        elif action < 78:
            work_all(world)
        elif action < 84 and world.pool:
            world.pool.append(world.pool[choice % len(world.pool)])
        elif action < 90:
            world.fire(seat, choice // 8)
        elif action < 94:
            world.answer(seat, choice, drop=choice % 3 == 0)
        elif action < 97:
            toggle_power(world, seat, choice)
        else:
            world.sync(seat)
    world.check()


def drop(world: World, choice: int) -> None:
    if world.pool:
        world.pool.pop(choice % len(world.pool))


def deliver_some(world: World, choice: int) -> None:
    for ordinal in range(min(len(world.pool), 1 + choice % 6)):
        world.deliver((choice * 7 + ordinal) % len(world.pool))


def work_all(world: World) -> None:
    for seat in world.seats:
        for _ in range(len(seat.questions)):
            world.answer(seat, 0)
        world.sync(seat)


def toggle_power(world: World, seat: Seat, choice: int) -> None:
    if seat.engine is None:
        world.start(seat)
    else:
        world.crash(seat, torn=choice % 4)


def make_ed25519_scheme(identity: int, validators: int) -> Ed25519Scheme:
    from nacl.signing import SigningKey

    seeds = [bytes([place]) * 32 for place in range(validators)]
    public_keys = [bytes(SigningKey(seed).verify_key) for seed in seeds]
    return Ed25519Scheme(seeds[identity], public_keys)


@given(SCRIPTS, st.sampled_from([4, 5, 7]))
@settings(max_examples=60, deadline=None)
def test_honest_validators_agree_and_go_on_whatever_is_lost_or_cut_off(script, validators):
    """Under any order, loss, repetition, early timers and power cuts nothing contradicts, and healing restores life."""
    world = World(validators)
    run_script(world, script)
    world.heal(views=3)
    world.check()


@given(SCRIPTS)
@settings(max_examples=60, deadline=None)
def test_one_equivocating_validator_of_four_breaks_nothing(script):
    """Twins under one identity, which propose and vote in two ways, neither split nor stop the others."""
    world = World(4, twins=True)
    run_script(world, script)
    world.heal(views=6)
    world.check()


@given(SCRIPTS)
@settings(max_examples=25, deadline=None)
def test_a_blackout_of_all_is_survived(script):
    """After a power loss of everybody the validators go on from their journals."""
    world = World(4)
    run_script(world, script)
    for ordinal, seat in enumerate(world.seats):
        world.crash(seat, torn=ordinal % 2)
    world.heal(views=3)
    world.check()


@given(SCRIPTS)
@settings(max_examples=5, deadline=None)
def test_real_signatures_carry_the_same_protocol(script):
    """The same scripts hold with Ed25519 in place of the keyed hash."""
    world = World(4, make_scheme=make_ed25519_scheme)
    run_script(world, script)
    world.heal(views=3)
    world.check()


@pytest.mark.parametrize("validators", [1, 2, 3, 4, 5, 7, 10])
def test_a_quiet_network_finalizes_without_a_nullification_of_good_payloads(validators):
    """With everything working each view is finalized unless the application refused its payload."""
    world = World(validators)
    world.heal(views=12)
    world.check()
    nullified_by_cast = {view for (_, kind, view) in world.votes if kind == "Nullify"}
    assert nullified_by_cast == world.nullified
    assert len(world.finalized) + len(world.nullified) >= 12
    assert len(world.finalized) >= 8


@pytest.mark.parametrize("views", [10, 60])
def test_rounds_kept_do_not_grow_with_the_chain(views):
    """Below the finalized view only the retained rounds stay in memory."""
    world = World(4)
    world.heal(views=views)
    for seat in world.seats:
        assert seat.engine.statistics().rounds_kept <= 10 + 8


@given(SCRIPTS)
@settings(max_examples=25, deadline=None)
def test_a_journal_alone_never_holds_contradicting_votes(script):
    """What a crash leaves on the disk is as free of double votes as what was sent."""
    world = World(4)
    run_script(world, script)
    for seat in world.seats:
        artifacts = [decode_artifact(record) for record in (*seat.durable, *seat.unsynced)]
        nullified = {artifact.view for artifact in artifacts if isinstance(artifact, Nullify)}
        finalized = {artifact.proposal.view for artifact in artifacts if isinstance(artifact, Finalize)}
        assert not nullified & finalized


def test_a_single_silent_validator_of_four_costs_only_its_own_views():
    """With one validator down the others finalize, and every view that it leads is nullified."""
    world = World(4)
    world.crash(world.seats[3], 0)
    world.seats[3].identity = -1
    honest = world.seats[:3]
    for _ in range(4_000):
        world.settle_instant(honest)
        if min(seat.engine.finalized_view for seat in honest) >= 20:
            break
        due = [(min(seat.timers.values()), seat.place) for seat in honest]
        world.fire(world.seats[min(due)[1]], 0)
    world.check()
    assert min(seat.engine.finalized_view for seat in honest) >= 20
    assert {view for view in range(1, 20) if view % 4 == 3} <= world.nullified
