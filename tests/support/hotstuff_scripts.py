"""Scripts for a cluster of HotStuff engines: drawn numbers say what is delayed, lost, repeated, cut off, restarted."""

from hypothesis import strategies as st

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


def run_script(world, script, steps=STEPS):
    """Carry out a script: each number chooses a step and what it is done to."""
    for number in script:
        choice, action = divmod(number, 64)
        next(step for limit, step in steps if action < limit)(world, choice)
    world.assert_safe()
