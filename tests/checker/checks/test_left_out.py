"""A fault of a plug-in in a run that is audited: what it may reach is left out from then on, all else is not."""

import msgspec
import pytest

from checker.checks.audit.plan import TestBedPlan
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario
from cluster.verdict import facts
from faults.events import TransactionSubmitted
from faults.kinds.base import EVERYTHING
from faults.kinds.registry import FAULTS
from network.events import Delivered, Event
from tests.support import injector_self_test
from tests.support.audited import follow
from tests.support.injector_self_test import PLAN, find_deviations
from tests.support.keystones import first_of, rest_in_soak
from tests.support.mutation import WITH_CATALOGUE

KINDS = {kind.__struct_config__.tag: kind for kind in FAULTS.kinds()}
PLANNED = dict.fromkeys(fault.__struct_config__.tag for fault in PLAN.values())
PAIRS = [(name, part) for name in PLANNED for part in KINDS[name].reaches if name != "pause"]
"""Kinds and what they reach. A pause that nobody expects contradicts nothing."""

ONE_OF_EACH_ROOM = ("partition", "rule", "crash", "clock-drift", "torn-writes")

WINDOW = "start_ms=300, stop_ms=2_500"
OF_VALIDATORS = {
    "bit-rot": f'validator=1, ppm=200_000, files=["blocks"], {WINDOW}',
    "stale-read": f"validator=1, ppm=200_000, {WINDOW}",
    "misdirected-write": f"validator=1, ppm=200_000, {WINDOW}",
    "io-error": f"validator=1, sync_ppm=300_000, {WINDOW}",
    "disk-full": f"validator=1, {WINDOW}",
    "byzantine": f'validator=1, behaviour="amnesia", every_ms=900, {WINDOW}',
}
"""Kinds that have no meaning without a validator, with their keys."""

SHORT = ("run.until_height=6", "run.time_limit_ms=20_000")
CRASH = 'crash={kind="crash", validator=1, at_ms=1_234, restart_ms=2_500}'
TORN = (
    'kind="crash-at-boundary", boundary="after-append", restart_after_ms=500, validator=1, start_ms=600, stop_ms=4_000'
)


@pytest.fixture
def foreign(monkeypatch):
    """A function that has the audit take kinds for those of a plug-in, by what they say that they reach."""

    def estrange(reaches):
        def plan_with(*, faults, **given):
            strange = {name: fault for name, fault in faults.items() if fault["kind"] in reaches}
            others = {name: {**fault, "kind": f"other-{fault['kind']}"} for name, fault in strange.items()}
            told = {name: reaches[fault["kind"]] for name, fault in strange.items()}
            return TestBedPlan(**{**given, "faults": {**faults, **others}, "reaches": told})

        for module in (injector_self_test, facts):
            monkeypatch.setattr(module, "TestBedPlan", plan_with)

    return estrange


def unchanged(event):
    return [event]


def silent_until(end_us):
    return lambda event: [] if isinstance(event.body, Delivered) and event.at_us < end_us else [event]


def out_of_turn(event):
    if not isinstance(event.body, TransactionSubmitted):
        return [event]
    return [Event(event.at_us, event.node, msgspec.structs.replace(event.body, validator=3))]


def followed(faults, change=unchanged, *settings):
    """Return the audit of a short run with faults, some of whose events are changed."""
    return follow(Cluster(load_scenario("calm", [f"faults={{{faults}}}", *SHORT, *settings]), 0), change)


class TestReaches:
    """Each kind of this package, audited as if it were a plug-in's, by the parts that it says it reaches."""

    @pytest.mark.parametrize("name", rest_in_soak(PLANNED, ONE_OF_EACH_ROOM[:1]))
    def test_a_kind_touches_no_more_than_it_says(self, name, foreign):
        foreign({name: KINDS[name].reaches})

        assert [found for seed in range(0, 25, 5) for found in find_deviations(seed)] == []

    @pytest.mark.parametrize("name", first_of(OF_VALIDATORS))
    def test_nor_does_a_kind_that_needs_a_validator(self, name, foreign):
        foreign({name: KINDS[name].reaches})

        found = followed(f'it={{kind="{name}", {OF_VALIDATORS[name]}}}, {CRASH.replace("=1,", "=2,")}')

        assert found.status == "passed", found.summary

    @pytest.mark.parametrize(("name", "part"), first_of(PAIRS))
    def test_a_kind_that_says_too_little_is_found(self, name, part, foreign):
        foreign({name: [each for each in KINDS[name].reaches if each != part]})

        assert any(find_deviations(seed) for seed in range(0, 25, 5))

    def test_a_plan_of_nothing_but_foreign_kinds_is_audited(self, foreign):
        foreign(dict.fromkeys(PLANNED, EVERYTHING))

        assert find_deviations(0) == []


class TestTheRest:
    """The parts that are audited beside a fault of a plug-in, and the result's sentence about the others."""

    CUT = f'it={{kind="cut", links=[[0, 1]], {WINDOW}}}'

    def test_what_is_left_out_is_named_with_its_fault(self, foreign):
        foreign({"cut": ("links", "clocks")})

        found = followed(self.CUT)

        left_out = "links from 300,000 us on (fault it), clocks from 300,000 us on (fault it)"
        assert (found.status, found.summary.partition("; not audited: ")[2]) == ("passed", left_out)

    def test_nothing_is_left_out_before_its_first_edge(self, foreign):
        foreign({"cut": EVERYTHING})

        found = followed(self.CUT, silent_until(290_000))

        assert found.status == "failed"
        assert "has no event in the trace; expected: arrival at" in found.summary

    @pytest.mark.parametrize(
        ("mutant", "fault", "pattern"),
        [
            ("slow-machine-is-fast", f'kind="slow", validator=1, factor=50, {WINDOW}', "of validator 1 took"),
            ("one-stays-on", 'kind="blackout", validators=[1, 2], at_ms=1_234, restart_ms=2_500', "to be switched off"),
            ("clocks-stay-right", f'kind="clock-offset", validators=[1], offset_ms=60, {WINDOW}', "0 us ahead"),
            ("crash-loses-nothing", TORN, "on its disk; durable was"),
        ],
    )
    def test_a_part_that_it_does_not_reach_is_audited(self, mutant, fault, pattern, foreign):
        foreign({"cut": ("links",)})

        found = followed(f"{self.CUT}, other={{{fault}}}", unchanged, WITH_CATALOGUE, f"mutants.{mutant}=[0, 1, 2, 3]")

        assert found.status == "failed"
        assert pattern in found.summary

    def test_clients_are_audited_always(self, foreign):
        foreign({"cut": EVERYTHING})

        found = followed(self.CUT.replace("300", "0"), out_of_turn)

        assert found.status == "failed"
        assert "the turn was validator" in found.summary
