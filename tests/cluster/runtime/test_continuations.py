"""Continuations: a run with other chance from a turn on, which is the same run until then."""

import msgspec
import pytest

from checker.record.streams import iterate_events
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario, with_reseeds
from faults.events import FaultEdge
from network.chance import Chance
from network.events import Delivered, Reseeded, Sent, events_of_type
from tests.support.audited import follow

SHORT = ("run.until_height=6", "run.time_limit_ms=30_000")
DRAWN = """faults={
storm={kind="restart-storm", start_ms=200, stop_ms=4_000, every_ms=[200, 900], down_ms=[50, 300], is_drawn=true},
splits={kind="partitions", start_ms=300, stop_ms=4_000, every_ms=400, length_ms=300},
clogs={kind="swizzle-clog", start_ms=500, stop_ms=4_500, pairs=2},
twin={kind="twin", validator=3, start_ms=100, stop_ms=4_000, round_ms=500}}""".replace("\n", "")
"""All kinds of faults that are drawn when they begin."""


@pytest.fixture(scope="module")
def drawn():
    """Return a plan whose moments are drawn, and the log and the edges of its run."""
    scenario = load_scenario("calm", (DRAWN, *SHORT))
    return scenario, Cluster(scenario, 1).run().trace.log


def edges_of(log):
    return [(event.at_us, body) for event, body in events_of_type(iterate_events(log), FaultEdge)]


class TestReseed:
    @pytest.mark.parametrize("turns", [(1,), (70,), (70, 140)])
    def test_a_run_is_the_same_up_to_the_turn_and_new_from_there_on(self, drawn, turns):
        """The bytes of the log before the turn are the record's, and the audit finds every later draw in the list."""
        scenario, log = drawn
        cluster = Cluster(with_reseeds(scenario, [(turn, turn + 7) for turn in turns]), 1)
        result = follow(cluster)
        continued = cluster._kernel._trace.log
        events, others = list(iterate_events(log)), list(iterate_events(continued))
        place = next(place for place, event in enumerate(others) if event.kind == Reseeded.kind)

        assert result.status == "passed", result.summary
        assert events[:place] == others[:place]
        assert (place > 50) == (turns[0] > 1)
        later = others[place + 1 :]
        assert events[place : place + 1_000] != later[:1_000], "no draw after the turn is the record's"
        assert edges_of(continued) != edges_of(log), "faults that are drawn ahead are drawn again"
        reseeds = [body for _, body in events_of_type(iterate_events(continued), Reseeded)]
        assert [(body.turn, body.seed) for body in reseeds] == [(turn, turn + 7) for turn in turns]

    def test_the_caller_of_handlers_does_not_show(self, drawn):
        """A turn is the same turn where tasks take their events themselves."""
        scenario = with_reseeds(drawn[0], [(70, 7)])
        runs = [Cluster(scenario, 1, delivery=delivery).run() for delivery in ("direct", "by tasks")]
        assert runs[0].trace.digest == runs[1].trace.digest

    def test_the_audit_sees_a_seed_that_the_plan_does_not_have(self, drawn):
        """It reads the list itself and does not believe the event."""
        cluster = Cluster(with_reseeds(drawn[0], [(70, 7)]), 1)

        def change(event):
            is_reseed = event.kind == Reseeded.kind
            return [msgspec.structs.replace(event, body=Reseeded(70, 8)) if is_reseed else event]

        result = follow(cluster, change)
        assert "draws had seed 8 from turn 70 on; the plan has seed 7 from turn 70 on" in str(result)


class TestSingleDraws:
    def test_one_draw_has_another_value_and_no_other_changes(self):
        """The message is late by as much as its draw says; the audit reads the same list."""
        scenario = load_scenario("calm", SHORT)
        draws = []
        first = Cluster(scenario, 1, draws=draws).run()
        taken = {(each.purpose, each.subject, each.ordinal): each.value for each in draws}
        assert first.trace.digest == Cluster(scenario, 1).run().trace.digest, "a log of draws changes nothing"
        assert len(taken) == len(draws) == len(list(events_of_type(iterate_events(first.trace.log), Sent)))
        assert all(Chance(1).draw(*key) == value for key, value in taken.items())
        assert [each.turn for each in draws] == sorted(each.turn for each in draws)

        key = ("latency", "2->0", 9)
        changed = msgspec.structs.replace(scenario.run, redraw=((*key, (1 << 64) - 1),))
        cluster = Cluster(msgspec.structs.replace(scenario, run=changed), 1)
        result = follow(cluster)
        assert result.status == "passed", result.summary
        before, after = delay_of(first.trace.log, 2, 0, 9), delay_of(cluster._kernel._trace.log, 2, 0, 9)
        assert after > before + 30_000
        assert delay_of(first.trace.log, 2, 0, 8) == delay_of(cluster._kernel._trace.log, 2, 0, 8)


def delay_of(log, source, destination, ordinal):
    """Return how long a message was on its way."""
    events = list(iterate_events(log))
    sent = {(event.node, body.destination, body.ordinal): event.at_us for event, body in events_of_type(events, Sent)}
    came = {(body.source, event.node, body.ordinal): event.at_us for event, body in events_of_type(events, Delivered)}
    return came[source, destination, ordinal] - sent[source, destination, ordinal]
