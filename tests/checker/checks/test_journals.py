"""The check `journals`: the records of an engine come to the disk in their order, and a start reads all of them."""

from pathlib import Path

import pytest

from checker.checks.journals import Journals, Said, said_by
from checker.oracle.consensus import calls
from checker.record.engine_calls import RecordedLife
from cluster.swarm.generator import draw_scenario
from tests.support.checks import make_run
from tests.support.cluster_runs import check_named, result_of
from tests.support.cluster_runs import judge as judge_run
from tests.support.keystones import third_of
from validators.consensus.interface import Append, AskAgain
from validators.consensus.registry import ENGINES
from validators.consensus.simplex import (
    Certification,
    Finalization,
    Notarization,
    Notarize,
    Nullify,
    Proposal,
)
from validators.consensus.simplex.kind import SIMPLEX

SIGNATURE = b"\x02" * 64
QUORUM = (b"\x07", (SIGNATURE,) * 3)


def block(view, parent_view):
    return Proposal(view, parent_view, bytes([view]) * 32)


def notarize(view, parent_view):
    return Notarize(0, block(view, parent_view), SIGNATURE)


def nullify(view):
    return Nullify(0, view, SIGNATURE)


def notarized(view, parent_view):
    return Notarization(block(view, parent_view), *QUORUM)


def finalized(view, parent_view):
    return Finalization(block(view, parent_view), *QUORUM)


RECORDS = [notarize(1, 0), notarized(1, 0), Certification(1, ok=True), nullify(2)]


def life(*appended, replayed=(), floor=None):
    """Return a life of an engine that was given a journal, and appended records in one step each."""
    recorded = RecordedLife(SIMPLEX, calls.Life(0, (), False, b"", {}))
    recorded.kept.append((0, "replay", (tuple(replayed), floor, "")))
    recorded.kept += [(1, "step", (AskAgain(), (Append(record),))) for record in appended]
    return recorded


def audited(*lives, view_retention=2):
    """Return the check and the audit of a validator's journal, which was empty as the run began."""
    check = Journals(make_run(view_retention=view_retention, engine_calls={0: list(lives)}))
    audit = check.audit(0)
    start(audit, [], is_judged=False)
    return check, audit


def start(audit, journal, floor=None, *, is_judged=True):
    """Let a replica start from a journal."""
    audit.begin_anew(floor)
    audit.read(journal)
    audit.end_rereading()
    audit.end_start(journal, floor, is_judged=is_judged)


def judge(appended, journal):
    check, audit = audited(life(*appended))
    audit.read(journal)
    return check.finish()


def test_records_as_their_engine_appended_them_pass():
    result = judge(RECORDS, RECORDS[:3])

    assert (result.status, result.compared) == ("passed", 3)


@pytest.mark.parametrize(
    "journal",
    [[*RECORDS[:2], RECORDS[1]], [RECORDS[1], RECORDS[0]], [RECORDS[0], RECORDS[2]], [*RECORDS, nullify(3)]],
    ids=["repeated", "in another order", "one left out", "one too many"],
)
def test_other_records_than_were_appended_fail(journal):
    assert judge(RECORDS, journal).status == "failed"


def test_a_failure_names_validator_record_and_view():
    assert judge(RECORDS, [*RECORDS[:2], RECORDS[1]]).summary == (
        "validator 0 has a notarization of view 1 in its journal where its engine appended another record, or none"
    )


def test_a_replica_whose_engine_is_not_recorded_is_taken_as_it_stands():
    check = Journals(make_run(view_retention=2))
    audit = check.audit(0)
    start(audit, [])
    audit.read([nullify(2), nullify(2)])

    assert check.finish().status == "passed"


def test_records_of_an_earlier_process_are_taken_as_they_stand():
    check = Journals(make_run(view_retention=2, engine_calls={0: [life(nullify(3), replayed=RECORDS)]}))
    audit = check.audit(0)
    start(audit, RECORDS)
    audit.read([nullify(3)])

    assert check.finish().status == "passed"


class TestStart:
    """A start reads what the life before left on the disk, and goes on from there."""

    def judge(self, *, kept, replayed, appended, journal, is_judged=True):
        """Judge a second life, whose start finds `kept` and gives its engine `replayed`."""
        lives = [life(*RECORDS)]
        check = Journals(make_run(view_retention=2, engine_calls={0: lives}))
        audit = check.audit(0)
        start(audit, [], is_judged=False)
        audit.read(RECORDS[:2])
        lives.append(life(*appended, replayed=replayed))
        start(audit, kept, is_judged=is_judged)
        audit.read(journal)
        return check.finish()

    def test_a_crash_may_take_the_last_records(self):
        result = self.judge(kept=RECORDS[:3], replayed=RECORDS[:3], appended=[nullify(3)], journal=[nullify(3)])

        assert result.status == "passed"

    def test_what_was_lost_may_be_appended_again(self):
        kept, again = RECORDS[:2], RECORDS[2:]

        assert self.judge(kept=kept, replayed=kept, appended=again, journal=again).status == "passed"

    def test_what_was_durable_may_not_be_lost(self):
        result = self.judge(kept=RECORDS[:1], replayed=RECORDS[:1], appended=[], journal=[])

        assert result.summary == "validator 0 lost the notarization of view 1 from its journal, whose floor is view 0"

    def test_an_engine_that_is_given_less_than_the_journal_fails(self):
        result = self.judge(kept=RECORDS[:3], replayed=RECORDS[:2], appended=[], journal=[])

        assert result.summary == ("validator 0 gave its engine other entries (2) at its start than its journal has (3)")

    def test_a_start_from_a_disk_that_a_fault_touches_is_not_compared(self):
        kept = RECORDS[:3]

        assert self.judge(kept=kept, replayed=[], appended=[], journal=[], is_judged=False).status == "passed"

    def test_a_floor_that_an_engine_is_not_given_fails(self):
        lives = [life(*FINALS, replayed=[])]
        check, audit = audited(*lives)
        audit.read(FINALS)
        audit.begin_anew(finalized(6, 5))
        audit.read(FINALS[6:])
        audit.end_rereading()
        audit.end_start([], finalized(6, 5), is_judged=True)

        assert check.finish().summary == (
            "validator 0 gave its engine another floor at its start than its journal has: view 6"
        )


def test_an_observers_disk_is_taken_as_it_stands_at_each_start():
    """Its replica mode restarts it, or gives it another disk; found by the swarm (seed 426605)."""
    lives = [life(*RECORDS)]
    check = Journals(make_run(view_retention=2, engine_calls={0: lives}))
    audit = check.audit(0)
    start(audit, [], is_judged=False)
    audit.read(RECORDS)
    lives.append(life(nullify(3), replayed=RECORDS))
    audit.forget()
    start(audit, RECORDS)
    audit.read([nullify(3)])

    assert check.finish().status == "passed"


def test_validators_are_judged_apart():
    check = Journals(make_run(view_retention=2, engine_calls={0: [life(nullify(1))], 1: [life(nullify(2))]}))
    for node, record in ((0, nullify(1)), (1, nullify(2))):
        start(check.audit(node), [], is_judged=False)
        check.audit(node).read([record])

    assert check.finish().status == "passed"


def test_an_entry_that_is_none_fails():
    check, audit = audited(life())
    audit.refuse("tag 9")

    assert check.finish().summary == "validator 0 wrote a journal entry that cannot be decoded: tag 9"


def test_records_have_the_names_of_their_events():
    codec = ENGINES["simplex"].records

    assert said_by(codec, nullify(2)) == Said("nullify", 2, b"")
    assert said_by(codec, notarized(1, 0)) == Said("notarization", 1, bytes([1]) * 32)
    assert said_by(codec, Certification(3, ok=True)) == Said("certification", 3, b"")


FINALS = [entry for view in range(1, 7) for entry in (notarized(view, view - 1), finalized(view, view - 1))]
"""Six views, each finalized before it is certified; a journal with the floor 6 keeps views 4, 5 and 6."""


class TestPruning:
    """A journal that was pruned is read again from its floor; the check remembers what went."""

    def judge(self, before, floor, after, *, appended=None):
        check, audit = audited(life(*(FINALS if appended is None else appended)))
        audit.read(before)
        audit.begin_anew(floor)
        audit.read(after)
        audit.end_rereading()
        return check.finish()

    def test_what_lies_below_the_retention_may_go(self):
        appended = [*FINALS, notarize(7, 6)]
        result = self.judge(FINALS, finalized(6, 5), [*FINALS[6:], notarize(7, 6)], appended=appended)

        assert (result.status, result.compared) == ("passed", 13)

    def test_what_a_pruning_drops_need_not_have_been_durable(self):
        appended = [*FINALS, nullify(1), notarize(7, 6)]

        result = self.judge(FINALS, finalized(6, 5), [*FINALS[6:], notarize(7, 6)], appended=appended)
        assert result.status == "passed"

    def test_a_floor_one_too_high_is_seen(self):
        result = self.judge(FINALS, finalized(6, 5), FINALS[8:])

        assert result.summary == (
            "validator 0 lost the notarization of view 4 from its journal, whose floor is view 6 (and 1 more)"
        )

    def test_an_entry_above_the_floor_that_went_is_seen(self):
        before = [*FINALS, notarize(7, 6)]

        result = self.judge(before, finalized(6, 5), FINALS[6:], appended=before)
        assert "lost the notarize of view 7" in result.summary

    def test_a_floor_that_was_no_finality_is_seen(self):
        result = self.judge(FINALS[:8], finalized(6, 5), FINALS[6:8])

        assert "has the floor view 6, a finality that it did not have" in result.summary

    def test_a_pruning_that_was_not_due_is_seen(self):
        result = self.judge(FINALS[6:], finalized(6, 5), FINALS[6:], appended=FINALS[6:])

        assert "the floor view 6, and was pruned although its oldest entry is of view" in result.summary

    def test_a_floor_that_moves_back_is_seen(self):
        check, audit = audited(life(*FINALS))
        audit.read(FINALS)
        audit.begin_anew(finalized(6, 5))
        audit.begin_anew(finalized(5, 4))

        assert "has the floor view 5, below the one before, view 6" in check.finish().summary

    @pytest.mark.parametrize(("given_up", "after", "status"), [(5, FINALS, "passed"), (5, FINALS[:9], "failed")])
    def test_a_pruning_may_be_given_up_with_all_entries_back(self, given_up, after, status):
        """Both copies differ, and the disk shows a start the older one alone."""
        check, audit = audited(life(*FINALS), view_retention=1)
        audit.read(FINALS)
        audit.begin_anew(finalized(5, 4))
        audit.read(FINALS[6:])
        audit.begin_anew(finalized(6, 5))
        audit.read(FINALS[8:])
        audit.given_up_view = given_up
        audit.begin_anew(finalized(5, 4))
        audit.read(after[6:])
        audit.end_rereading()

        assert check.finish().status == status

    def test_a_pruning_that_a_stale_read_hides_from_the_start_is_given_up(self):
        result = result_of(str(Path(__file__).with_name("given-up-pruning.toml")), seed=456)

        assert check_named(result, "journals").status == "passed"

    @pytest.mark.parametrize("seed", third_of([411042, 411101]))
    def test_a_repair_that_the_disk_refuses_half_way_loses_nothing(self, seed):
        """One copy has a part of its entries again, and the other one all; found by the swarm."""
        result = judge_run(draw_scenario(seed), seed=seed)

        assert check_named(result, "journals").status == "passed"

    def test_a_journal_that_another_process_pruned_is_taken_as_it_stands(self):
        above = [notarize(7, 6), notarized(7, 6), Certification(7, ok=True)]
        check = Journals(make_run(view_retention=2, engine_calls={0: []}))
        audit = check.audit(0)
        audit.begin_anew(finalized(6, 5))
        audit.read([*FINALS[6:], *above])
        audit.end_rereading()

        assert check.finish().status == "passed"
