"""Final blocks that are not here yet: which one is worked for while others become final."""

from types import SimpleNamespace

from validators.finalizer import Finalizer
from validators.sync.follower import Goal, Purpose


class Follower:
    """Remembers its goals, and lacks the blocks that a test names."""

    is_paused = False

    def __init__(self):
        self.goals = []
        self.missing = []

    def want(self, goal):
        self.goals.append(goal)

    def abandon(self, is_moot):
        self.goals = [goal for goal in self.goals if not is_moot(goal)]

    def lacks(self, digest):
        return digest in self.missing

    def block(self, _digest):
        return None


def final(view):
    return SimpleNamespace(view=view, digest=bytes([view]))


def begin(missing=()):
    follower = Follower()
    follower.missing = [bytes([view]) for view in missing]
    engine = SimpleNamespace(finalized=SimpleNamespace(view=1, height=1), finalized_digest=b"")
    nothing = dict.fromkeys(("store", "seek_snapshot", "applied", "halt"))
    return follower, Finalizer(engine, follower, None, None, snapshot_gap_blocks=3, **nothing)


def test_what_is_fetched_is_not_given_up_for_the_next_final_block():
    """Where blocks become final faster than a fetch takes, no fetch would come to its end."""
    follower, finalizer = begin(missing=(2, 3))
    finalizer.finalize(final(2))
    finalizer.finalize(final(3))

    assert follower.goals == [Goal(Purpose.FINALIZE, 2, b"\x02")]


def test_the_next_final_block_takes_the_place_of_one_that_is_here():
    """Both are applied at once."""
    follower, finalizer = begin()
    finalizer.finalize(final(2))
    finalizer.finalize(final(3))

    assert follower.goals == [Goal(Purpose.FINALIZE, 3, b"\x03")]
