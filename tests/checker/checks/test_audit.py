"""The audit of the test bed: no false alarm where all goes by the plan, and each way not to is named."""

import re
from collections import deque

import msgspec
import pytest

from checker.checks.audit.audit import Audit
from checker.checks.audit.fault_steps import KNOWN_KINDS
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario
from cluster.verdict.facts import context_of
from faults.events import ApplicationLost, Crashed, FaultEdge, Restarted, TransactionSubmitted
from faults.kinds.registry import FAULTS
from network.events import Delivered, Dropped, Event, Sent, TimerElapsed, WorkFinished
from network.lanes import Lanes
from network.types import SUPERVISOR
from tests.support.audited import audited, follow
from tests.support.checks import finish, make_run, show
from tests.support.keystones import first_of, third_of
from tests.support.mutation import WITH_CATALOGUE
from tools.mutation.catalogue import MUTANTS
from validators.events import Entered

SHORT = ("run.until_height=6", "run.time_limit_ms=20_000")


def with_fault(text):
    return (f"faults={{it={{{text}}}}}", *SHORT)


WINDOW = "start_ms=300, stop_ms=2_500"
CRASH = 'kind="crash", validator=1, at_ms=1_234, restart_ms=2_500'
TORN = (
    'kind="crash-at-boundary", boundary="after-append", restart_after_ms=500, validator=1, start_ms=600, stop_ms=4_000'
)

SHOWN = {
    "bus-loses-silently": ((), "has no event in the trace; expected: arrival"),
    "bus-delivers-twice": ((), "expected: no event"),
    "cut-leaks": (with_fault(f'kind="cut", links=[[0, 1], [2, 1]], {WINDOW}'), r"arrival at .* expected: drop \(cut\)"),
    "draws-of-another-key": ((), "arrival at .* expected: arrival at"),
    "corruption-corrupts-nothing": (
        with_fault(f'kind="links", corrupt_ppm=300_000, {WINDOW}'),
        "arrived with its own bytes",
    ),
    "held-never-released": (with_fault(f'kind="clog", validators=[1], {WINDOW}'), "expected: release by it"),
    "reset-loses-nothing": (
        with_fault('kind="partition", groups=[[0], [1, 2, 3]], in_flight="lost", start_ms=420, stop_ms=2_500'),
        "although it lost what was",
    ),
    "isolation-stays-behind": (with_fault(f'kind="isolate-leader", {WINDOW}'), "fault it had to move"),
    "pause-pauses-nothing": (with_fault(f'kind="pause", validator=1, {WINDOW}'), "while it was paused"),
    "crash-loses-nothing": (with_fault(TORN), "a start at .* durable was"),
    "restart-comes-late": (with_fault(CRASH), "came to stop at 2,750,000 us, after the run was whole at 2,500,000 us"),
    "one-stays-on": (
        with_fault('kind="blackout", validators=[1, 2], at_ms=1_234, restart_ms=2_500'),
        "validator 2 had to be switched off",
    ),
    "slow-machine-is-fast": (with_fault(f'kind="slow", validator=1, factor=50, {WINDOW}'), "of validator 1 took"),
    "clocks-stay-right": (
        with_fault(f'kind="clock-offset", validators=[1], offset_ms=60, {WINDOW}'),
        "its wall clock was 0 us ahead",
    ),
    "drift-moves-no-timer": (
        with_fault(f'kind="clock-drift", validators=[1], ppm=50_000, {WINDOW}'),
        "a timer of .* by its clock",
    ),
}
"""For each mutant of the test bed the settings of a short run that shows it, and what the audit says then."""

OF_TEST_BED = [mutant.name for mutant in MUTANTS if mutant.area == "test-bed"]

PLANS = [
    *(settings for settings, _ in SHOWN.values()),
    with_fault(f'kind="links", loss_ppm=200_000, {WINDOW}'),
    with_fault(f'kind="links", reorder_ppm=300_000, reorder_extra_ms=50, {WINDOW}'),
    with_fault(f'kind="links", bytes_per_second=20_000, {WINDOW}'),
    with_fault(CRASH.replace("crash", "wipe")),
    with_fault(f'kind="slow-disk", validator=1, factor=20, {WINDOW}'),
]
"""Settings of runs that the audit has nothing to say of, where no mutant is in place."""


class TestMutants:
    """A test bed that does not do as planned, and one that does, in the same run."""

    @pytest.mark.parametrize("name", first_of(OF_TEST_BED))
    def test_a_mutant_of_the_test_bed_is_named(self, name):
        settings, pattern = SHOWN[name]

        result = audited("calm", *(settings or SHORT), WITH_CATALOGUE, f"mutants.{name}=[0, 1, 2, 3]")

        assert result.status == "failed"
        assert re.search(pattern, result.summary), result.summary

    @pytest.mark.parametrize("settings", third_of(dict.fromkeys((each,) for each in PLANS)))
    def test_the_same_run_without_it_passes(self, settings):
        result = audited("calm", *(settings or SHORT))

        assert result.status == "passed", result.summary
        assert result.compared > 100

    def test_a_mutant_is_taken_out_after_its_run(self):
        audited("calm", "mutants.bus-loses-silently=[0, 1, 2, 3]", *SHORT)

        assert audited("calm", *SHORT).status == "passed"


def changed(event, kind, **values):
    """Return the event with some values changed, if it is of a kind."""
    if not isinstance(event.body, kind):
        return [event]
    return [Event(event.at_us, event.node, msgspec.structs.replace(event.body, **values))]


LOGS = {
    "a send out of turn": (lambda event: changed(event, Sent, ordinal=7), "was sent as number"),
    "a delivery from nowhere": (lambda event: changed(event, Delivered, ordinal=999_999), "expected: no event"),
    "another payload": (lambda event: changed(event, Delivered, checksum=b"other"), "arrived with other bytes"),
    "no drops": (lambda event: [] if isinstance(event.body, Dropped) else [event], "has no event in the trace"),
    "another reason": (
        lambda event: changed(event, Dropped, reason="rule"),
        r"drop \(rule\) by it .* expected: drop \(loss\)",
    ),
    "work too long": (lambda event: changed(event, WorkFinished, extra_us=5), "by its pace"),
    "a wrong clock": (lambda event: changed(event, TimerElapsed, lead_us=1_000), "its wall clock was 1,000 us ahead"),
    "a client out of turn": (lambda event: changed(event, TransactionSubmitted, validator=3), "the turn was validator"),
    "a client that gives up": (
        lambda event: changed(event, TransactionSubmitted, outcome="refused"),
        "was refused, and not handed to validator",
    ),
    "a timer too long": (lambda event: changed(event, TimerElapsed, extra_us=-5), "by its clock"),
}


def _begin_backwards(self, _at_us, events):
    for event in sorted(events, key=lambda event: event[:4], reverse=True):
        self.by_node.setdefault(event[0], deque()).append(event)


def test_an_instant_out_of_its_order_is_named(monkeypatch):
    monkeypatch.setattr(Lanes, "begin", _begin_backwards)

    summary = audited("held-in-one-instant", *SHORT).summary

    assert "behind a message of that instant" in summary or "behind one of a later place" in summary, summary


@pytest.mark.parametrize("name", third_of(LOGS))
def test_a_log_that_does_not_follow_from_the_plan_fails(name):
    change, pattern = LOGS[name]
    settings = with_fault(f'kind="links", loss_ppm=200_000, {WINDOW}')

    result = follow(Cluster(load_scenario("calm", settings), 0), change)

    assert result.status == "failed"
    assert re.search(pattern, result.summary), result.summary


class TestAsked:
    """The runs that are audited."""

    def test_every_kind_of_fault_of_this_package_is_known(self):
        assert sorted(kind.__struct_config__.tag for kind in FAULTS.kinds()) == sorted(KNOWN_KINDS)

    def test_a_run_without_a_plan_has_no_result(self):
        assert Audit(make_run()).not_asked()

    def test_byzantine_validators_are_followed_as_well(self):
        cluster = Cluster(load_scenario("equivocating-leader", SHORT), 0)
        byzantine = [node for node in range(4) if node not in context_of(cluster).honest]
        seen = []

        follow(cluster, lambda event: [seen.append(event.node), event][1:])

        assert byzantine
        assert byzantine[0] in seen


LOSS_US = 300


def lose(at_us=LOSS_US, call="execute", height=3):
    """Return the loss of validator 2's application, and the loss of its power."""
    body = ApplicationLost(2, 7, call, "it hangs", height)
    return Event(at_us, SUPERVISOR, body), Event(at_us, SUPERVISOR, Crashed(2, 0))


def return_(after_us=1_000_000):
    return Event(LOSS_US + after_us, SUPERVISOR, Restarted(2))


def settle(at_us):
    """Return an event that ends the instants before it."""
    return Event(at_us, 0, Entered(1, 1))


class TestLostApplications:
    """A machine whose application is lost: it stops at once, and starts a second later or never."""

    def result(self, *events):
        audit = Audit(context_of(Cluster(load_scenario("calm", SHORT), 0)))
        show(audit, *events)
        return finish(audit)

    def test_a_loss_is_a_cause_of_a_crash_and_of_a_start(self):
        again = [*lose(5_000_000, "finalize"), settle(9_000_000)]

        assert self.result(*lose(), return_()).status == "passed"
        assert self.result(*lose(), return_(), *again[:2]).status == "passed"
        assert "had to be switched on: its application" in self.result(*lose(), return_(), *again).summary

    @pytest.mark.parametrize(
        ("events", "words"),
        [
            (lose()[1:], "validator 2 lost its power at 300 us, not by the plan"),
            ((lose()[0], settle(301)), "validator 2 had to be switched off: its application was lost at 300 us"),
            ((*lose(), return_(999_999)), "validator 2 was switched on at 1,000,299 us, not by the plan"),
            ((*lose(), return_(1_000_001)), "validator 2 was switched on at 1,000,301 us, not by the plan"),
            (
                (*lose(), settle(1_000_301)),
                "validator 2 had to be switched on: its application was lost a second before at 1,000,300 us",
            ),
            ((*lose(), lose(301)[0]), "validator 2 lost its application at 301 us while it was off"),
        ],
    )
    def test_any_other_course_is_named(self, events, words):
        result = self.result(*events)

        assert result.status == "failed"
        assert result.summary.startswith(words)

    @pytest.mark.parametrize(
        "losses",
        [
            [("execute", 3), ("execute", 3)],
            [("execute", 3), ("finalize", 3), ("execute", 4)],
        ],
        ids=["twice at one call and block", "three times"],
    )
    def test_an_application_that_is_lost_for_good_does_not_return(self, losses):
        events = []
        for at_us, place in zip(range(0, 9_000_000, 2_000_000), losses, strict=False):
            events += [*lose(at_us, *place), Event(at_us + 1_000_000, SUPERVISOR, Restarted(2))]

        assert self.result(*events[:-1], settle(20_000_000)).status == "passed"
        assert "was switched on at" in self.result(*events).summary
        assert self.result(*events[:-1]).status == "passed"
        assert self.result(*events[:-4], settle(20_000_000)).status == "failed"


class TestAnchored:
    """Faults whose times count from a moment of the run."""

    @pytest.mark.parametrize(
        "fault",
        [
            'kind="slow", validator=2, factor=50, start_ms=0, stop_ms=1_500',
            'kind="clock-drift", validators=[2], ppm=50_000, start_ms=0, stop_ms=1_500',
            'kind="pause", validator=2, start_ms=0, stop_ms=900',
            'kind="isolate-leader", start_ms=0, stop_ms=1_500',
            'kind="crash", validator=2, at_ms=0, restart_ms=700',
        ],
    )
    def test_their_steps_count_from_the_anchor(self, fault):
        result = audited("calm", *with_fault(f'{fault}, anchor={{event="view", of=2, nth=2, by_ms=9_000}}'))

        assert result.status == "passed", result.summary
        assert "and 3 edges" in result.summary or "isolate" in fault

    def test_an_anchor_that_is_not_awaited_any_more_fails(self):
        settings = with_fault('kind="pause", validator=2, start_ms=0, stop_ms=900, anchor={event="view", by_ms=9_000}')
        late = Event(9_000_001, SUPERVISOR, FaultEdge("it", "anchor"))
        audit = Audit(context_of(Cluster(load_scenario("calm", settings), 0)))

        show(audit, late)

        assert finish(audit).summary.startswith("the anchor of fault it came at 9,000,001 us")

    @pytest.mark.parametrize(
        ("moment", "fault"),
        [
            (Event(500, 1, Entered(1, 1)), "no 'enter' of validator 2 is there"),
            (Event(400, 2, Entered(1, 1)), "no 'enter' of validator 2 is there"),
            (Event(500, 2, Entered(1, 1)), "it counts 2 of them, and there were 1"),
        ],
    )
    def test_an_anchor_without_its_moment_fails(self, moment, fault):
        """The moment of another validator, or of another instant, is none of its own."""
        plan = 'kind="pause", validator=2, start_ms=0, stop_ms=900, anchor={event="view", of=2, nth=2, by_ms=9_000}'
        audit = Audit(context_of(Cluster(load_scenario("calm", with_fault(plan)), 0)))

        show(audit, moment, Event(500, SUPERVISOR, FaultEdge("it", "anchor")))

        assert finish(audit).summary.startswith(f"the anchor of fault it came at 500 us, and {fault}")
