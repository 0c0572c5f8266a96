"""Simplex as a whole: whatever is delayed, lost, repeated or cut off, validators agree and go on afterwards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import examples
from tests.support.simplex_harness import Seat, World, final_view
from validators.consensus.interface import Finalized
from validators.consensus.signing import Ed25519Scheme
from validators.consensus.simplex import Finalize, Nullify, decode_artifact

SCRIPTS = st.lists(st.integers(0, 2**16 - 1), min_size=60, max_size=260)


def run_script(world: World, script: list[int]) -> None:
    """Let each number of the script choose what happens next; deliveries and work are the most frequent."""
    for number in script:
        choice, action = divmod(number, 64)
        next(step for limit, step in STEPS if action < limit)(world, choice)
    world.assert_safe()


def lose_some(world: World, choice: int) -> None:
    """Lose one message, or everything for one validator."""
    if choice % 4 == 0:
        victim = choice // 4 % len(world.seats)
        world.pool = [sent for sent in world.pool if sent[1] != victim]
    elif world.pool:
        world.pool.pop(choice % len(world.pool))


def cut(world: World, choice: int) -> None:
    """Part the validators in two, or join them again."""
    members = [seat.place for seat in world.seats if choice >> seat.place & 1]
    world.cut_off = frozenset() if world.cut_off else frozenset(members)


def deliver_some(world: World, choice: int) -> None:
    """Deliver up to 32 messages, the oldest first or from anywhere in the pool."""
    for ordinal in range(min(len(world.pool), choice // 4 % 32)):
        world.deliver(0 if choice % 4 else (choice * 7 + ordinal) % len(world.pool))


def work_all(world: World, choice: int) -> None:
    """Let every validator's application answer and its disk sync, except for one that is slow."""
    for seat in world.seats:
        if choice % 3 == 0 and seat.place == choice // 3 % len(world.seats):
            continue
        for _ in range(len(seat.questions)):
            world.answer(seat, 0)
        world.sync(seat)


def fire_all(world: World, choice: int) -> None:
    """Let the next timer of each validator fire, as after a long silence."""
    for seat in world.seats:
        world.fire(seat, choice % 2)


def repeat_some(world: World, choice: int) -> None:
    """Put every seventh message under way into the pool once more."""
    world.pool += world.pool[choice % 97 :: 7]


def fire_one(world: World, choice: int) -> None:
    """Let a timer of one validator fire, maybe long before it is due."""
    world.fire(chosen(world, choice), choice // 8)


def answer_one(world: World, choice: int) -> None:
    """Let one application answer one question, or withhold the judgement."""
    world.answer(chosen(world, choice), choice, drop=choice % 3 == 0)


def restart_one(world: World, choice: int) -> None:
    """Give the power back to a validator that is down."""
    if chosen(world, choice).engine is None:
        world.start(chosen(world, choice))


def crash_one(world: World, choice: int) -> None:
    """Cut one validator's power; up to three unsynced records stay on the disk."""
    world.crash(chosen(world, choice), torn=choice // 8 % 4)


def chosen(world: World, choice: int) -> Seat:
    return world.seats[choice % len(world.seats)]


STEPS = (
    (30, deliver_some),
    (48, work_all),
    (51, lose_some),
    (52, cut),
    (53, repeat_some),
    (57, fire_one),
    (59, fire_all),
    (61, answer_one),
    (63, restart_one),
    (64, crash_one),
)
"""Steps of a script by number: the first one whose limit is above number % 64."""


def make_ed25519_scheme(identity: int, validators: int) -> Ed25519Scheme:
    from nacl.signing import SigningKey

    seeds = [bytes([place]) * 32 for place in range(validators)]
    public_keys = [bytes(SigningKey(seed).verify_key) for seed in seeds]
    return Ed25519Scheme(seeds[identity], public_keys)


@given(SCRIPTS, st.sampled_from([4, 5, 7]))
@examples(60)
def test_honest_validators_agree_and_go_on_whatever_is_lost_or_cut_off(script, validators):
    """Under any order, loss, repetition, early timers and power cuts nothing contradicts, and healing restores life."""
    world = World(validators)
    run_script(world, script)
    world.heal(views=3)
    world.assert_safe()


@given(SCRIPTS)
@examples(60)
def test_one_equivocating_validator_of_four_breaks_nothing(script):
    """Twins under one identity, which propose and vote in two ways, neither split nor stop the others."""
    world = World(4, twins=True)
    run_script(world, script)
    world.heal(views=6)
    world.assert_safe()


@given(SCRIPTS)
@examples(25)
def test_a_blackout_of_all_is_survived(script):
    """After a power loss of everybody the validators go on from their journals."""
    world = World(4)
    run_script(world, script)
    for ordinal, seat in enumerate(world.seats):
        world.crash(seat, torn=ordinal % 2)
    world.heal(views=3)
    world.assert_safe()


@given(SCRIPTS)
@examples(5)
def test_real_signatures_carry_the_same_protocol(script):
    """The same scripts hold with Ed25519 in place of the keyed hash."""
    world = World(4, make_scheme=make_ed25519_scheme)
    run_script(world, script)
    world.heal(views=3)
    world.assert_safe()


@pytest.mark.parametrize("validators", [1, 2, 3, 4, 5, 7, 10])
def test_a_quiet_network_nullifies_no_view_with_a_good_payload(validators):
    """With everything working each view is finalized unless the application refused its payload."""
    world = World(validators)
    world.heal(views=12)
    world.assert_safe()
    assert world.seats[0].engine.statistics()["timeouts"] == 0 or world.nullified
    assert len(world.finalized) >= 8


@pytest.mark.parametrize("views", [10, 60])
def test_rounds_kept_do_not_grow_with_the_chain(views):
    """Below the finalized view only the retained rounds stay in memory."""
    world = World(4)
    world.heal(views=views)
    for seat in world.seats:
        assert seat.engine.statistics()["rounds_kept"] <= 10 + 8


@given(SCRIPTS)
@examples(25)
def test_a_journal_alone_never_holds_contradicting_votes(script):
    """The journal that a crash leaves on the disk is as free of double votes as the messages sent."""
    world = World(4)
    run_script(world, script)
    for seat in world.seats:
        artifacts = [decode_artifact(record) for record in (*seat.durable, *seat.unsynced)]
        nullified = {artifact.view for artifact in artifacts if isinstance(artifact, Nullify)}
        finalized = {artifact.proposal.view for artifact in artifacts if isinstance(artifact, Finalize)}
        assert not nullified & finalized


def test_a_variant_that_sends_before_it_syncs_is_caught():
    """The harness itself notices a vote that left before it was durable."""

    class HastyWorld(World):
        def perform(self, seat, effects):
            super().perform(seat, effects)
            for effect in seat.outbox:
                if not isinstance(effect, Finalized):
                    self.send(seat, effect)

    world = HastyWorld(4)
    with pytest.raises(AssertionError, match="was sent before it was durable"):
        world.heal(views=1)


def test_a_single_silent_validator_of_four_costs_only_its_own_views():
    """With one validator down the others finalize, and every view that it leads is nullified."""
    world = World(4)
    world.crash(world.seats[3], 0)
    world.seats[3].identity = -1
    honest = world.seats[:3]
    for _ in range(4_000):
        world.settle_instant(honest, 20)
        if min(final_view(seat.engine) for seat in honest) >= 20:
            break
        due = [(min(seat.timers.values()), seat.place) for seat in honest]
        world.fire(world.seats[min(due)[1]], 0)
    world.assert_safe()
    assert min(final_view(seat.engine) for seat in honest) >= 20
    assert {view for view in range(1, 20) if view % 4 == 3} <= world.nullified
