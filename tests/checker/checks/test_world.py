"""The world: a trace goes in, and answers about replicas and messages come out."""

import pytest

from checker.applications import Builds
from checker.checks.check import Check
from checker.checks.context import RunEnd
from checker.checks.equal_roots import EqualRoots
from checker.checks.planned import NOT_PLANNED, PlannedFault
from checker.checks.suite import Suite
from checker.checks.world import NO_MESSAGE, Inbound, OfLives
from checker.results import CheckResult
from faults.events import ApplicationLost, ApplicationReplaced, ClockSet, Crashed, Restarted, TransactionSubmitted
from network.events import Delivered, Dropped, Event, EventRouter, Lost, Sent, TimerElapsed, WorkFinished
from network.types import SUPERVISOR
from tests.support.checks import make_run
from validators.events import BlockExecuted, Booted, Entered, Halted

BOOTED = Booted(0, 3, 0, b"")
CRASHED = Event(40, SUPERVISOR, Crashed(1, 0))
SENT = Event(10, 0, Sent(1, 7, "Vote", 80, b"sum"))
CAME = Event(20, 1, Delivered(0, 7, "Vote", 80, b"sum"))


def tell(*events, **facts):
    """Return the world of four replicas, of which 3 is Byzantine, after some events."""
    run = make_run(**{"honest": (0, 1, 2), **facts})
    router = EventRouter(run.world.handlers)
    for event in events:
        router.route(event)
    return run.world


class TestLives:
    def test_a_life_begins_with_a_start_and_ends_with_a_crash(self):
        boot = Event(30, 1, BOOTED)

        assert tell().life(1) is None
        assert tell(boot).life(1) is not None
        assert tell(boot, CRASHED).life(1) is None
        assert tell(boot, Event(40, 1, Halted("disk"))).life(1) is None
        assert tell(boot, Event(40, SUPERVISOR, Crashed(2, 0))).life(1) is not None

    def test_starts_are_counted_in_a_life_and_over_all_lives(self):
        """A replica may read its disk again in the midst of a life."""
        boots = [Event(at_us, 1, BOOTED) for at_us in (30, 35)]
        assert tell(*boots).life(1).starts == 2

        world = tell(*boots, CRASHED, Event(50, 1, BOOTED))
        assert (world.life(1).starts, world.starts(1), world.starts(0)) == (1, 3, 0)

    def test_the_greatest_view_counts(self):
        """A journal may lead to a view that was not entered yet."""
        entered = Event(60, 1, Entered(9, 1))

        assert tell(Event(30, 1, BOOTED)).view(1) == 3
        assert tell(entered, Event(70, 1, BOOTED)).view(1) == 9
        assert tell(entered).view(0) == 0


OLD, NEW, BACK = b"o" * 32, b"n" * 32, b"k" * 32
BUILDS = Builds(
    named={"old": "ledger 1 (build old)", "new": "ledger 2 (build new)"},
    at_first=("new", "new", "old", "old"),
    differ_from={"old": 0, "new": 7},
)


def executed(node, digest, mode="verify", height=7):
    return Event(50, node, BlockExecuted(height, 7, digest, digest, mode))


class TestUpgrades:
    def world(self, *events, **builds):
        run = make_run(plan=NOT_PLANNED._replace(builds=BUILDS._replace(**builds)))
        router = EventRouter(run.world.handlers, run.world.upgrades)
        for event in events:
            router.route(event)
        return run.world

    def test_a_replica_that_refuses_a_newer_builds_block_is_left_behind(self):
        assert self.world(executed(0, NEW), executed(2, NEW, "diverged")).left_behind == {2: 7}

    def test_so_is_the_outdated_builder_of_a_block_that_a_newer_refuses(self):
        events = executed(2, OLD, "propose"), executed(3, OLD)

        assert self.world(*events).left_behind == {}
        assert self.world(*events, executed(0, OLD, "diverged")).left_behind == {2: 7, 3: 7}

    def test_below_the_height_nobody_is(self):
        events = executed(0, NEW, height=6), executed(2, NEW, "diverged", 6)

        assert self.world(*events).left_behind == {}
        assert self.world(*events, differ_from={"old": 0, "new": 0}).left_behind == {}

    def test_a_replica_with_the_newer_build_is_judged_again(self):
        events = executed(0, NEW), executed(2, NEW, "diverged")
        replaced = Event(60, SUPERVISOR, ApplicationReplaced(2, "new"))

        assert self.world(*events, replaced).left_behind == {}
        assert self.world(*events, replaced).build(2) == "new"
        assert self.world(*events, replaced, executed(2, BACK, "diverged", 8)).left_behind == {}

    def test_what_it_does_behind_is_not_judged(self):
        run = make_run(plan=NOT_PLANNED._replace(builds=BUILDS))
        suite = Suite(run, [EqualRoots])
        for node, root in ((0, NEW), (2, OLD), (1, NEW)):
            mode = "diverged" if root == OLD else "verify"
            suite.observe(Event(50, node, BlockExecuted(7, 7, NEW, root, mode)))

        (result,) = suite.finish(RunEnd())
        assert (result.status, result.compared) == ("passed", 1)

    def test_a_build_that_may_never_differ_is_followed_too(self):
        replaced = Event(60, SUPERVISOR, ApplicationReplaced(2, "new"))

        assert self.world(replaced, differ_from={"old": 0, "new": 0}).named(2) == "validator 2 (build new)"

    def test_votes_of_a_replica_that_was_behind_are_unknown(self):
        replaced = Event(60, SUPERVISOR, ApplicationReplaced(2, "new"))

        assert list(self.world(executed(0, NEW), executed(2, NEW, "diverged"), replaced).strayed) == [2]

    def test_replicas_are_named_with_their_builds(self):
        assert self.world().named(2) == "validator 2 (build old)"
        assert tell().named(2) == "validator 2"


class TestOfLives:
    def values(self, *events, each_start=False):
        """The value of replica 1 after each of these events; each is a list of its own."""
        world = tell()
        kept, router = OfLives(world, lambda node: [node], each_start=each_start), EventRouter(world.handlers)
        for event in events:
            router.route(event)
            yield kept.get(1)

    def test_a_value_lasts_as_long_as_a_life(self):
        first, second, none, third = self.values(
            Event(30, 1, BOOTED), Event(35, 1, Entered(9, 1)), CRASHED, Event(50, 1, BOOTED)
        )

        assert first == [1]
        assert first is second
        assert none is None
        assert third is not first

    @pytest.mark.parametrize("each_start", [False, True])
    def test_a_second_start_makes_a_new_value_only_on_request(self, each_start):
        first, second = self.values(Event(30, 1, BOOTED), Event(35, 1, BOOTED), each_start=each_start)

        assert (first is second) is not each_start


class TestPlan:
    @pytest.mark.parametrize(
        ("fault", "answers"),
        [
            ({"pauses": True}, (True, True)),
            ({"slows": True}, (False, True)),
            ({}, (False, False)),
        ],
    )
    def test_a_fault_hinders_the_replicas_that_it_names(self, fault, answers):
        world = tell(plan=NOT_PLANNED._replace(faults=(PlannedFault("fault", 0, 9, (1,), **fault),)))

        assert (world.is_paused(1), world.is_hindered(1)) == answers
        assert not world.is_hindered(0)

    def test_a_lost_application_hinders_its_replica_until_the_restart(self):
        lost = Event(40, SUPERVISOR, ApplicationLost(1, 7, "execute", "it hangs", 3))
        back = [Event(at_us, SUPERVISOR, Restarted(1)) for at_us in (50, 90)]
        world = tell(lost, CRASHED)

        assert (world.is_hindered(1), world.is_hindered(0), world.is_paused(1)) == (True, False, False)
        world = tell(lost, CRASHED, *back)
        assert not world.is_hindered(1)
        assert [(each.start_us, each.stop_us, each.nodes) for each in world.outages] == [(40, 50, (1,))]

    def test_the_fastest_clock_counts(self):
        clocks = [Event(0, SUPERVISOR, ClockSet(machine, None, ppm, 0)) for machine, ppm in ((1, -90), (2, 70), (2, 0))]
        world = tell(*clocks)

        assert (world.fastest_ppm, world.has_set_clocks) == (70, True)
        assert (tell(clocks[0]).fastest_ppm, tell().has_set_clocks) == (0, False)

    def test_the_plan_says_who_is_honest(self):
        assert [tell().is_honest(node) for node in range(4)] == [True, True, True, False]


class TestMessages:
    def test_a_message_comes_as_it_was_sent(self):
        assert tell(SENT, CAME).inbound(1) == Inbound(0, "Vote", is_whole=True)
        assert tell(SENT).inbound(1) == NO_MESSAGE

    @pytest.mark.parametrize(
        "came",
        [Delivered(0, 7, "Vote", 80, b"other"), Delivered(0, 7 + (1 << 48), "Vote", 80, b"sum")],
        ids=["damaged", "a copy"],
    )
    def test_a_damaged_message_and_a_copy_are_not_whole(self, came):
        world = tell(SENT, Event(20, 1, came))

        assert not world.inbound(1).is_whole
        assert list(world.harmed(1)) == [0]

    @pytest.mark.parametrize(
        "gone", [Event(15, 0, Dropped(1, 7, "loss", "")), Event(15, 1, Lost(0, 7, "reset"))], ids=["dropped", "lost"]
    )
    def test_a_message_that_is_gone_does_not_come(self, gone):
        assert not tell(SENT, gone, CAME).inbound(1).is_whole

    def test_a_message_comes_once(self):
        assert not tell(SENT, CAME, CAME).inbound(1).is_whole

    def test_a_byzantine_peer_harms_nobody(self):
        assert tell(Event(20, 1, Delivered(3, 7, "Vote", 80, b"sum"))).harmed(1) == {}

    @pytest.mark.parametrize(
        "other",
        [
            Event(20, 1, TimerElapsed("regossip")),
            Event(20, 1, WorkFinished("cpu", 0)),
            Event(20, SUPERVISOR, TransactionSubmitted("submitted", 1, b"")),
        ],
        ids=lambda event: event.kind,
    )
    def test_the_last_event_may_be_another_one(self, other):
        assert tell(SENT, CAME, other).inbound(1) == NO_MESSAGE


class Asking(Check):
    """A check that asks the world about each event that it sees."""

    name = "asking"
    sees_everybody = True

    def __init__(self, run):
        super().__init__(run)
        self.answers = []

    @property
    def handlers(self):
        return {
            Booted: self.ask,
            Crashed: lambda _event, _crashed: self.answers.append(self.run.world.life(1)),
            Delivered: lambda event, _delivered: self.answers.append(self.run.world.inbound(event.node).is_whole),
        }

    def ask(self, event, _booted):
        self.answers.append(self.run.world.life(event.node) is not None)

    def finish(self) -> CheckResult:
        return self.tally.result("")


def test_the_world_has_seen_an_event_before_the_checks_ask():
    """Also the events of a Byzantine replica."""
    run = make_run(honest=(0, 1, 2))
    suite = Suite(run, (Asking,))
    for event in (
        Event(5, 1, BOOTED),
        SENT,
        CAME,
        CRASHED,
        Event(50, 3, Sent(1, 0, "Vote", 80, b"sum")),
        Event(60, 1, Delivered(3, 0, "Vote", 80, b"sum")),
        Event(70, 0, Sent(3, 0, "Vote", 80, b"sum")),
        Event(80, 3, Delivered(0, 0, "Vote", 80, b"sum")),
    ):
        suite.observe(event)

    assert run.check(Asking).answers == [True, True, None, True, True]
