"""HotStuff as a whole: whatever is delayed, lost, repeated or cut off, validators agree and go on afterwards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hotstuff_harness import PROFILES, World, final_view
from tests.support.properties import examples

SCRIPTS = st.lists(st.integers(0, 2**16 - 1), min_size=40, max_size=160)


def chosen(world, choice):
    return world.seats[choice % len(world.seats)]


def deliver_some(world, choice):
    for ordinal in range(min(len(world.pool), choice // 4 % 24)):
        world.deliver(0 if choice % 4 else (choice * 7 + ordinal) % len(world.pool))


def work_all(world, choice):
    """Let every application answer and every disk sync, except for one that is slow."""
    for seat in world.seats:
        if choice % 3 == 0 and seat is chosen(world, choice // 3):
            continue
        for _ in range(len(seat.questions)):
            world.answer(seat)
        world.sync(seat)


def lose_some(world, choice):
    """Lose one message, or everything for one validator."""
    if choice % 4 == 0:
        victim = chosen(world, choice // 4).place
        world.pool = [sent for sent in world.pool if sent[1] != victim]
    elif world.pool:
        world.pool.pop(choice % len(world.pool))


def cut(world, choice):
    members = [seat.place for seat in world.seats if choice >> seat.place & 1]
    world.cut_off = frozenset() if world.cut_off else frozenset(members)


def restart_or_crash(world, choice):
    seat = chosen(world, choice)
    if seat.engine is None:
        world.start(seat)
    else:
        world.crash(seat, torn=choice // 8 % 3)


def fire_one(world, choice):
    world.fire(chosen(world, choice), choice // 8)


def repeat_some(world, choice):
    world.pool += world.pool[choice % 97 :: 7]


STEPS = (
    (24, deliver_some),
    (46, work_all),
    (52, fire_one),
    (55, lose_some),
    (58, restart_or_crash),
    (61, cut),
    (64, repeat_some),
)


def run_script(world, script):
    for number in script:
        choice, action = divmod(number, 64)
        next(step for limit, step in STEPS if action < limit)(world, choice)
    world.assert_safe()


@pytest.mark.parametrize("profile", PROFILES)
class TestSafetyAndLiveness:
    @examples(40)
    @given(SCRIPTS)
    def test_honest_validators_agree_and_go_on(self, profile, script):
        world = World(profile=profile)
        run_script(world, script)

        world.heal()
        world.assert_safe()

    @examples(40)
    @given(SCRIPTS)
    def test_twins_of_one_validator_divide_nobody(self, profile, script):
        """One of four is Byzantine: two of it propose and vote, each by its own journal."""
        run_script(World(profile=profile, twins=True), script)

    def test_a_calm_cluster_makes_every_view_final(self, profile):
        world = World(profile=profile)
        world.settle(rounds=80)

        finals = [final_view(seat) for seat in world.seats]
        chain = 3 if profile == "three-chain" else 2
        assert min(finals) >= 10
        assert max(seat.engine.position.view for seat in world.seats) - min(finals) <= chain + 1
        world.assert_safe()
        assert all(seat.engine.statistics()["timeouts"] == 0 for seat in world.seats)
