"""The watch over anchors: which events count, for whom, from when on."""

from faults.anchors.anchor import Anchor
from faults.anchors.catalogue import MOMENTS, BlockFacts
from faults.anchors.watch import AnchorWatch
from network.events import Event, EventRouter
from validators.events import BlockFinalized, BlockUndone, Entered

QUIET = BlockFacts(0, 0, 0)


class Bench:
    def __init__(self, **anchors):
        self.reached = []
        self.watch = AnchorWatch(
            {name: Anchor(by_ms=100, **each) for name, each in anchors.items()}, self.reached.append
        )
        self._router = EventRouter(self.watch.handlers)

    def see(self, at_ms, node, body):
        self._router.route(Event(at_ms * 1_000, node, body))
        return self.reached

    def finalize(self, at_ms, node, height, facts=QUIET):
        self.watch.see_block(height, facts)
        return self.see(at_ms, node, BlockFinalized(height, height, b"", b""))


def test_occurrences_of_one_validator_are_counted():
    bench = Bench(it={"event": "view", "of": 1, "nth": 2})

    assert bench.see(1, 1, Entered(1, 0)) == []
    assert bench.see(2, 0, Entered(2, 0)) == []
    assert bench.see(3, 1, Entered(2, 0)) == ["it"]
    assert bench.see(4, 1, Entered(3, 0)) == ["it"]


def test_occurrences_before_and_after_the_time_of_an_anchor_do_not_count():
    bench = Bench(late={"event": "view", "from_ms": 50}, early={"event": "view", "nth": 2})

    assert bench.see(49, 0, Entered(1, 0)) == []
    assert bench.see(100, 0, Entered(2, 0)) == []
    assert bench.see(99, 0, Entered(3, 0)) == ["late", "early"]


def test_occurrences_count_after_the_first_of_another_moment():
    bench = Bench(it={"event": "view", "nth": 2, "after": "rewind"})

    for at_ms in (1, 2, 3):
        bench.see(at_ms, 0, Entered(at_ms, 0))
    bench.see(4, 1, BlockUndone(5, b""))
    assert bench.see(5, 0, Entered(5, 0)) == []
    assert bench.see(6, 0, Entered(6, 0)) == ["it"]


def test_blocks_that_are_taken_back_in_one_instant_are_one_rewind():
    bench = Bench(it={"event": "rewind", "nth": 2})

    assert bench.see(1, 0, BlockUndone(5, b"")) == []
    assert bench.see(1, 0, BlockUndone(4, b"")) == []
    assert bench.see(1, 1, BlockUndone(5, b"")) == ["it"]


def test_a_moment_of_the_chain_counts_once_a_height():
    bench = Bench(any={"event": "finalized", "nth": 2}, one={"event": "finalized", "of": 1, "nth": 2})

    bench.finalize(1, 0, 1)
    assert bench.finalize(2, 1, 1) == []
    assert bench.finalize(3, 0, 2) == ["any"]
    assert bench.finalize(4, 1, 2) == ["any", "one"]


def test_a_storm_begins_halves_and_ends():
    storm = {name: {"event": name} for name in ("storm", "half-drained", "drained")}
    bench = Bench(**storm)

    assert bench.finalize(1, 0, 1) == []
    assert bench.finalize(2, 0, 2, BlockFacts(3, 10, 0)) == ["storm"]
    assert bench.finalize(3, 0, 3, BlockFacts(3, 7, 0)) == ["storm"]
    assert bench.finalize(4, 0, 4, BlockFacts(3, 4, 0)) == ["storm", "half-drained"]
    assert bench.finalize(5, 0, 5, BlockFacts(4, 0, 0)) == ["storm", "half-drained", "drained"]


def test_an_epoch_is_a_moment_only_with_heights_to_promote():
    bench = Bench(it={"event": "epoch"})

    assert bench.finalize(1, 0, 1) == []
    assert bench.finalize(2, 0, 2, BlockFacts(0, 0, 1)) == ["it"]


def test_events_that_no_anchor_names_are_not_read():
    assert list(Bench(it={"event": "view"}).watch.handlers) == [Entered]
    assert list(Bench().watch.handlers) == []


def test_every_moment_has_a_clause_that_names_the_validator():
    assert [name for name, moment in MOMENTS.items() if "validator 7" not in moment.clause("validator 7")] == []
