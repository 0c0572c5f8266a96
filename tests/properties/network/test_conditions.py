"""Properties of conditions on links: a name that comes again, copies in a full queue, and full rates."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from network.inbox import Inbox
from tests.support.bus_runs import VOTE, degrade, run_bus
from tests.support.network_harness import build_rig
from tests.support.properties import examples

ALWAYS = 1_000_000
SEEDS = st.integers(0, 2**32 - 1)


@examples(20)
@given(SEEDS, st.lists(st.booleans(), min_size=1, max_size=12))
def test_a_condition_that_comes_again_counts_on(seed, is_set):
    """It loses what is sent while it is set, in every window of its name."""
    rig = build_rig(seed=seed)
    steps = []
    for place, is_lossy in enumerate(is_set):
        at_us = 10 * place
        if is_lossy:
            steps += [(at_us, degrade(rig, "again", loss_ppm=ALWAYS)), (at_us + 5, rig.bus.lift, "again")]
        steps.append((at_us + 1, rig.bus.send, 0, 1, bytes([place]), VOTE))
    # Else nobody knows the name.
    steps += [(900, degrade(rig, "again", loss_ppm=ALWAYS)), (901, rig.bus.lift, "again")]
    heard = run_bus(rig, *steps)

    assert [message.payload[0] for _, message in heard[1]] == [place for place, lossy in enumerate(is_set) if not lossy]
    assert rig.bus.touched("again") == sum(is_set)


@examples(20)
@given(SEEDS, st.integers(1, 5), st.integers(1, 8))
def test_the_copy_of_an_evicted_message_still_arrives(seed, room, count):
    """A queue holds its number of messages; their copies do not count, and another link has its own queue."""
    rig = build_rig(3, seed=seed)
    heard = run_bus(
        rig,
        (0, degrade(rig, "queue", queue_max=room)),
        (0, degrade(rig, "copies", duplicate_ppm=ALWAYS)),
        *[(10, rig.bus.send, 0, 1, bytes([place]), VOTE) for place in range(count)],
        (10, rig.bus.send, 0, 2, b"apart", VOTE),
        (1_011, rig.bus.send, 0, 1, b"late", VOTE),
    )
    evicted = max(count - room, 0)
    arrived = [message.payload for at_us, message in heard[1] if at_us == 1_010]

    assert (len(arrived), len(dict.fromkeys(arrived))) == (2 * count - evicted, count)
    assert [(at_us, message.payload) for at_us, message in heard[1][len(arrived) :]] == [(2_011, b"late")] * 2
    assert [message.payload for _, message in heard[2]] == [b"apart"]
    assert (rig.bus.touched("queue"), rig.bus.touched("copies")) == (evicted, count + 1)


@examples(20)
@given(SEEDS, st.integers(0, 5_000))
def test_a_rate_of_all_messages_spares_none(seed, extra_us):
    rig = build_rig(3, seed=seed)
    rates = {"burst": {"burst_ppm": ALWAYS, "burst_us": 100}, "loss": {"loss_ppm": ALWAYS}}
    rates["late"] = {"reorder_ppm": ALWAYS, "reorder_extra_us": extra_us}
    steps = []
    for place, (name, values) in enumerate(rates.items()):
        at_us = 100 * place
        steps += [(at_us, degrade(rig, name, **values)), (at_us + 50, rig.bus.lift, name)]
        steps += [(at_us + 10, partial(rig.bus.broadcast, 0, name.encode(), VOTE))]
    heard = run_bus(rig, *steps)

    assert [(at_us, message.payload) for at_us, message in heard[1]] == [(1_210 + extra_us, b"late")]
    assert [at_us for at_us, _ in heard[2]] == [1_010, 1_110, 1_210]
    assert [rig.bus.touched(name) for name in rates] == [1, 1, 1]


@given(st.lists(st.sampled_from(["put", "pause", "resume"]), max_size=20))
def test_a_paused_inbox_keeps_and_counts_what_comes(steps):
    """Each pause counts anew what it holds back, and no pause loses an item."""
    inbox, put, held, is_paused = Inbox(), 0, 0, False
    for step in steps:
        if step == "put":
            inbox.put(put)
            put += 1
            held += is_paused
        elif step == "pause":
            inbox.pause()
            held, is_paused = 0, True
        else:
            inbox.resume()
            is_paused = False
        assert (len(inbox), inbox.held, inbox.is_paused) == (put, held, is_paused)
