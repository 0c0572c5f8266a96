"""Situations: the pairs of them that follow each other at a replica, in few classes."""

from checker.coverage.situations import FaultTime, Situation, Situations
from faults.coverage.engine_phases import PhaseStatus
from faults.events import FaultEdge
from network.events import Event, EventRouter
from validators.events import BlockExecuted, BlockFinalized, Booted

CALM = Situation("proposing", "leader", 0, 0, 0, "calm", "finalized")
VOTING = CALM._replace(phase="notarized")


def collector(*faults):
    return Situations(faults, ["finalized", "certified"])


def leave(situations, *situations_left, node=0, at_us=0):
    """Let a replica leave phases; only phase and role of each situation are its own."""
    for situation in situations_left:
        situations.leave(at_us, node, PhaseStatus(phase=situation.phase, role=situation.role))


def pair(before, after):
    return f"{before.label} {after.label}"


def test_situations_that_follow_each_other_are_a_pair():
    situations = collector()
    leave(situations, CALM, VOTING, CALM, VOTING)

    assert situations.pairs() == (pair(VOTING, CALM), pair(CALM, VOTING))


def test_situations_of_different_replicas_are_no_pair():
    situations = collector()
    leave(situations, CALM, node=0)
    leave(situations, VOTING, node=1)

    assert situations.pairs() == ()


def test_a_situation_that_goes_on_is_no_pair():
    situations = collector()
    leave(situations, CALM, CALM)

    assert situations.pairs() == ()


def test_timers_that_wait_are_counted_in_classes():
    situations = collector()
    for live, dead in ((0, 0), (1, 0), (15, 0), (16, 0), (9_999, 0), (9_999, 1)):
        situations.finalize(live, dead)
        leave(situations, CALM)

    one, many = CALM._replace(backlog=1), CALM._replace(backlog=2)
    assert situations.pairs() == (pair(CALM, one), pair(one, many), pair(many, many._replace(debt=1)))


def test_faults_at_work_are_those_of_the_moment():
    situations = collector(FaultTime("cut", "network", 10, 30), FaultTime("rot", "disk", 20, 40))
    for at_us in (9, 10, 20, 30, 40):
        leave(situations, CALM, at_us=at_us)

    steps = [CALM._replace(faults=faults) for faults in ("calm", "network", "disk+network", "disk", "calm")]
    assert situations.pairs() == tuple(sorted(map(pair, steps, steps[1:])))


def test_a_faults_times_count_from_its_anchor():
    situations = collector(FaultTime("cut", "network", 10, 30, has_anchor=True))
    router = EventRouter(situations.handlers)
    leave(situations, CALM, at_us=15)
    for at_us in (50, 60, 80):
        router.route(Event(at_us, 0, FaultEdge("cut", "edge")))
        leave(situations, CALM, at_us=at_us)

    cut = CALM._replace(faults="network")
    assert situations.pairs() == (pair(CALM, cut), pair(cut, CALM))


def test_depth_is_of_executed_blocks_above_the_final_one():
    situations = collector()
    router = EventRouter(situations.handlers)

    def see(body):
        router.route(Event(0, 0, body))
        leave(situations, CALM)

    for height in (1, 2):
        see(BlockExecuted(height, height, b"", b"", "speculative"))
    see(BlockFinalized(1, 1, b"", b""))
    see(Booted(1, 2, 1, b""))

    one, two = CALM._replace(depth=1), CALM._replace(depth=2)
    assert situations.pairs() == tuple(sorted([pair(one, two), pair(two, one), pair(one, CALM)]))


def test_a_replica_has_its_apply_mode():
    situations = collector()
    leave(situations, CALM, VOTING, node=1)

    assert situations.pairs() == (pair(*(each._replace(mode="certified") for each in (CALM, VOTING))),)
