"""One byte changed in what a validator holds in memory: the check of that structure says where, and no other check."""

from functools import cache

import pytest

from scheduler import CalendarProfile, TimerConfig
from scheduler.calendar import NO_HEIGHT
from scheduler.height_tree import EMPTY
from tests.support.chain_harness import advance, do, make_engine, make_genesis
from tests.support.checker_history import assert_only, write_history
from tests.support.cluster_runs import applied_blocks, check_named, result_of
from validators.execution.audit import audit_indexes
from validators.execution.heights import BranchHeights, scan_buckets
from validators.execution.timer_list import TimerList
from validators.execution.timers import Waiting
from validators.settings import ValidatorFactory
from validators.settings import make_engine as make_validators_engine
from validators.state import Deviation

HEIGHTS = 6
SETTINGS = (f"run.until_height={HEIGHTS}", "run.time_limit_ms=20_000")
VICTIM = 2


def flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def tamper_log(engine, key):
    store = engine.database._store
    location = store.locations[key]
    store.log[location - store.start] = flip(store.log[location - store.start])
    return f"operation {location}"


def tamper_bitmap(engine, key):
    row = engine.database._store.activity.rows[0]
    index = min(row)
    row[index] = flip(row[index])
    return f"chunk {index}"


def tamper_location(engine, key):
    engine.database._store.locations[key] ^= 1
    return "location of a key"


TAMPERED = {0: ("operation-log", tamper_log), 1: ("bitmap", tamper_bitmap), 3: ("indexes", tamper_location)}


@cache
def tampered_run():
    """A short run in which three validators of four have one byte of their memory changed after its last block."""
    run, applied = applied_blocks("calm", *SETTINGS)
    written = {key for _, executed in applied for key in executed.changes}
    # Written at genesis and never again, so that no root shows it.
    key = next(key for key, _ in run.slots[0].validator.layer.database.items() if key not in written)
    places = {}

    def tampering_factory(node, tamper):
        def make(*arguments):
            engine = make_validators_engine(*arguments)
            finalize = engine.finalize

            def finalize_then_tamper(digest):
                finalization = finalize(digest)
                if engine.finalized.height == HEIGHTS:
                    places[node] = tamper(engine, key)
                return finalization

            engine.finalize = finalize_then_tamper
            return engine

        return ValidatorFactory(layer=make)

    factories = {node: tampering_factory(node, tamper) for node, (_, tamper) in TAMPERED.items()}
    return result_of("calm", *SETTINGS, factories=factories), places


class TestClusterRun:
    @pytest.mark.parametrize("node", TAMPERED)
    def test_one_byte_is_named_by_the_check_of_its_structure_alone(self, node):
        """With validator, height and place; the other two checks name the other two validators."""
        result, places = tampered_run()
        check = check_named(result, TAMPERED[node][0])
        evidence = dict(check.evidence)

        assert (result.exit_code, check.status) == (1, "failed")
        assert (evidence["validator"], evidence["place"]) == (node, places[node])
        assert evidence["height"] >= HEIGHTS
        assert check.summary.startswith(f"validator {node}, height {evidence['height']}: {places[node]}")

    def test_nothing_else_fails(self):
        """But for the values, which live in the log alone, and the proofs that are made of all of them."""
        failed = [check.name for check in tampered_run()[0].checks if check.status == "failed"]

        assert failed == ["live-values", "operation-log", "bitmap", "indexes", "proofs"], failed


class TestAgainstHeaderAndDisk:
    def altered(self, **fields):
        history = write_history()
        history.readbacks[VICTIM] = history.readbacks[VICTIM]._replace(**fields)
        return history.judge()

    def test_a_log_that_is_sound_but_leads_to_another_root_is_found(self):
        """All of a validator's memory may agree with itself and still not be what was finalized."""
        results = self.altered(root=bytes(32))

        assert_only(results, "operation-log", "validator 2, height 4: it leads to the root")

    def test_an_operation_that_the_disk_holds_otherwise_is_found(self):
        """The first that differs is named by its location."""
        history = write_history()
        readback = history.readbacks[VICTIM]
        operations = list(readback.audit.operations)
        operations[3] = b"other"
        readback = readback._replace(audit=readback.audit._replace(operations=tuple(operations)))
        history.readbacks[VICTIM] = readback

        assert_only(history.judge(), "operation-log", "validator 2, height 4: operation 3 is 6f74686572 in memory and")

    def test_a_disk_that_starts_above_the_memory_is_compared_where_both_are(self):
        """And the other way round: a pruned validator against a whole log."""
        operations = write_history().readbacks[VICTIM].audit.operations
        pruned = write_history().readbacks[VICTIM].audit._replace(operations=operations[4:], start=4)

        assert {result.status for result in self.altered(audit=pruned).values()} == {"passed"}

    def test_an_empty_disk_is_found(self):
        """Nothing to compare with is no agreement."""
        results = self.altered(operations=[])

        assert "its disk holds no operation" in results["operation-log"].summary

    def test_a_deviation_names_its_key(self):
        """Decoded, so that a person knows whose it is."""
        history = write_history()
        audit = history.readbacks[VICTIM].audit
        wrong = Deviation("indexes", "location of a key", "7", "9", bytes([1]) + b"a" * 20 + bytes(11))
        history.readbacks[VICTIM] = history.readbacks[VICTIM]._replace(audit=audit._replace(deviations=(wrong,)))

        assert_only(history.judge(), "indexes", f"location of a key, account {(b'a' * 20).hex()}, is 7 and not 9")


@cache
def waiting_engine():
    """An engine with timers that wait, far behind what has become due."""
    config = TimerConfig(max_cells_per_fire=0, lane_timer_cycles=10_000)
    engine = make_engine(make_genesis(timer_config=config))
    blocker = ["timer", 1, [["compute", 9_000]], 10_000]
    advance(engine, [do(0, 0, blocker, blocker, ["timer", 40, [], 1_000])])
    assert advance(engine).summary.waiting_live > 0
    return engine


class TestEngine:
    def test_nothing_deviates_in_a_sound_engine(self):
        """With timers waiting, heights indexed and blocks finalized."""
        engine = waiting_engine()
        audit = engine.audit()

        assert audit.deviations == ()
        assert audit.canonical_root == engine.finalized.state_root
        assert audit.compared["indexes"] > engine.database.audit().compared["indexes"]

    def test_a_timer_that_is_missing_from_the_waiting_set_is_named(self):
        """It would never leave."""
        engine = waiting_engine()
        waiting = engine._tree.finalized.waiting
        audit = engine.database.audit()
        first, *rest = waiting.timers

        (found,) = audit_indexes(
            audit, engine._tree.finalized.heights, Waiting(TimerList.of(rest), waiting.through)
        ).deviations
        assert (found.structure, found.place) == ("indexes", "timer 0 of the waiting set")
        assert first.timer_id.hex() in found.expected

    def test_an_index_that_lost_everything_is_told_and_breaks_nothing(self):
        """There is no first height to speak of."""
        engine = waiting_engine()
        audit = engine.database.audit()

        branch = engine._tree.finalized
        empty = BranchHeights(branch.heights.profile, branch.heights.now)

        (found, *_) = audit_indexes(audit, empty, branch.waiting).deviations
        assert (found.structure, found.kept, found.expected) == ("indexes", "0 times", "1 times")

    def test_a_height_that_is_indexed_twice_is_named(self):
        """Equal as sets is not equal."""
        engine = waiting_engine()
        audit = engine.database.audit()
        heights = scan_buckets(audit.values.items())
        first = min(heights)
        branch = engine._tree.finalized
        twice = BranchHeights(branch.heights.profile, branch.heights.now, [*heights.items(), (first, heights[first])])

        (found,) = audit_indexes(audit, twice, branch.waiting).deviations
        assert (found.place, found.kept) == (f"height {first} in the index of heights", "2 times")

    def test_what_is_no_height_is_named(self):
        """An empty place of the ring that was taken for a due height."""
        engine = waiting_engine()
        audit, branch = engine.database.audit(), engine._tree.finalized
        heights, _ = branch.heights.next_block(branch.heights.now)
        heights._overdue.insert(0, NO_HEIGHT)

        (found,) = audit_indexes(audit, heights, branch.waiting).deviations
        assert (found.place, found.kept) == ("height -1 in the index of heights", "1 times")

    def test_a_flag_that_is_misread_is_named(self, monkeypatch):
        """The queue and its rebuilding read it by one function, so both would be wrong alike."""
        engine = waiting_engine()
        audit, branch = engine.database.audit(), engine._tree.finalized
        monkeypatch.setattr("validators.execution.audit.is_queued", lambda _record: True)

        found, *_ = audit_indexes(audit, branch.heights, branch.waiting).deviations
        assert (found.place.partition(" of height")[0], found.kept) == ("the flag of the bucket", "True")

    def test_a_height_in_the_wrong_tier_is_named(self):
        """The queue believes in another present: what lies in its epochs lies in the ring."""
        engine = waiting_engine()
        audit, branch = engine.database.audit(), engine._tree.finalized
        heights = scan_buckets(audit.values.items())
        profile = CalendarProfile(ring_size=4, epoch_length=8, epoch_horizon=1)
        sound = BranchHeights(profile, branch.heights.now, heights.items())
        assert audit_indexes(audit, sound, branch.waiting).deviations == ()
        sound._queue._overflow = EMPTY.put(77, b"")

        places = [deviation.place for deviation in audit_indexes(audit, sound, branch.waiting).deviations]
        assert places == ["height 41 in the index of heights", "root of the overflow tree"]
