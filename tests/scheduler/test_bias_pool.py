"""The bias auction's pool against a plain sort of all that waits, block by block."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler.bias_pool import BiasPoolRules
from scheduler.bias_selection import Walk, walk_all
from scheduler.bias_waits import WaitClock
from scheduler.types import MAX_U63, Moment, Timer
from tests.support.bias_order import sort_by_score

CAP = 12
ACTORS = [bytes([number]) * 20 for number in range(3)]

offers = st.tuples(
    st.sampled_from(ACTORS),
    st.integers(0, 3),
    st.sampled_from([0, 1, 5, 10, 20, 40, 1_000]),
    st.one_of(st.integers(0, CAP + 1), st.sampled_from([2, 4, 8])),
    st.sampled_from([0, 3, 9, MAX_U63]),
)
"""Actor, blocks until it is due, bid, gas limit, and blocks until it expires."""


class Chain:
    """Timers with bids, and what each block leaves of them."""

    def __init__(self):
        self.waiting, self.bids, self.made = {}, {}, 0

    def timer(self, height, offer):
        """Make a timer that is due by some block."""
        actor, delay, bid, gas, ttl = offer
        self.made += 1
        # Identifiers fall while places rise: who mistakes one for the other is seen.
        timer_id = (10**6 - self.made).to_bytes(32, "big")
        expires_at = min(height + ttl, MAX_U63)
        self.bids[timer_id] = bid
        return Timer(timer_id, actor, height + delay, self.made, b"", "tick", actor, gas, False, expires_at)

    def compete(self, now):
        """Return those that compete, in waiting order."""
        found = [timer for timer in self.waiting.values() if timer.expires_at >= now and timer.gas_limit <= CAP]
        return sorted(found, key=lambda timer: (timer.due, timer.sequence))

    def bid_of(self, timer):
        return self.bids[timer.timer_id]


def caps(draw):
    return Walk(draw[0], draw[1], draw[2])


def names(walk):
    return [one.timer.timer_id for one in walk.winners], walk.runner_up and walk.runner_up.timer.timer_id


@given(
    blocks=st.lists(
        st.tuples(
            st.lists(offers, max_size=5),
            st.tuples(st.integers(0, 40), st.integers(1, 6), st.integers(1, 3)),
            st.sampled_from([1_000, 100_000, 1_000_000, 40_000_000]),
            st.sets(st.integers(0, 9), max_size=2),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_d1_the_kept_order_is_a_plain_sort_in_every_block(blocks):
    """Timers come, win, expire and are cancelled; caps and lambda differ from block to block."""
    chain, pool, coming = Chain(), BiasPoolRules(CAP).open_pool(), []
    for height, (new, limits, lambda_, cancelled) in enumerate(blocks, 10):
        coming += [chain.timer(height, offer) for offer in new]
        for timer in [timer for timer in coming if timer.due <= height]:
            coming.remove(timer)
            chain.waiting[timer.timer_id] = timer
            pool.add(timer)
        for place in sorted(cancelled):
            if place < len(chain.waiting):
                timer = list(chain.waiting.values())[place]
                pool.discard(chain.waiting.pop(timer.timer_id))
        clock = WaitClock(None, Moment(height, height, height - 1, "height"), 1)
        pool.advance(height)
        pool.enlist(chain.bid_of, clock.first_height)
        plainly = sort_by_score(chain.compete(height), chain.bid_of, clock, lambda_)

        kept, expected = caps(limits), caps(limits)
        walk_all(pool.order(height, lambda_, kept), kept, lambda one: one.bid != 5)
        walk_all(plainly, expected, lambda one: one.bid != 5)
        assert names(kept) == names(expected)
        assert kept.room == expected.room
        short = [one for one in plainly if one.timer.gas_limit > kept.room]
        assert pool.count_above(kept.room) == len(short)
        assert pool.oldest_height == min((height - one.waited for one in plainly), default=None)
        for one in kept.winners:
            pool.discard(chain.waiting.pop(one.timer.timer_id))


def test_d1_a_block_looks_at_few_of_those_that_wait():
    """Of many cohorts, those of the groups that reach the top are scored, and nobody else."""
    chain, pool, clock = Chain(), BiasPoolRules(CAP).open_pool(), WaitClock(None, Moment(99, 99, 98, "height"), 1)
    for delay in range(50):
        for gas in range(1, CAP + 1):
            pool.add(chain.timer(delay, (ACTORS[0], 1, 0, gas, MAX_U63)))
    pool.enlist(chain.bid_of, clock.first_height)
    walk, seen = Walk(3, 2, 9), []
    for one in pool.order(99, 1_000_000, walk):
        seen.append(one)
        walk.visit(one, lambda one: True)

    assert [one.timer.gas_limit for one in walk.winners] == [1, 1]
    assert len(seen) == 3
