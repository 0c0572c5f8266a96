"""A check passes by comparisons that could have failed: a lone report, or an event that did not happen, is no proof."""

import hashlib
from types import SimpleNamespace
from typing import Literal, get_args, get_origin
from unittest.mock import create_autospec

import msgspec
import pytest

from checker.checks import CHECKS
from checker.checks.audit.plan import TestBedPlan
from checker.checks.context import RunEnd
from checker.checks.suite import Suite
from checker.checks.workloads_effective import WorkloadsEffective
from checker.expected import Expectations, ExpectedStorm, ExpectedWorkload, ReorgCounts
from checker.results import verdict_of
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import scenario_type
from faults.anchors.anchor import Anchor
from faults.kinds.partition import Partition
from scheduler import TimerFired
from scheduler.events import TimerCancelled, TimerCancelledByGovernance, TimerTriggered
from tests.support.chain_harness import make_genesis
from tests.support.checker_history import ACTOR, ALICE, FIRES, NODES, Fault, call_receipt, scheduled, write_history
from tests.support.checks import make_run
from tests.support.cluster_runs import check_named, result_of
from validators.execution import Engine
from validators.execution.block_tree import BlockTree
from validators.execution.receipts import TransactionReceipt


def history_of(*nodes):
    """Return a history in which none but these applied or finalized anything; the others started."""
    history = write_history()
    history.steps = [step for step in history.steps if step.node in {*nodes, -1}]
    for node in NODES:
        if node not in nodes:
            history.add(node, "boot", 1, 1, 0, history.rules.genesis_root)
    return history


class TestOfOneValidator:
    def test_one_that_finalized_alone_agrees_with_nobody(self):
        """Three that only started are no company."""
        result = history_of(0).judge()["agreement"]

        assert (result.status, result.summary) == ("inconclusive", "only 1 validator finalized a block")

    def test_validators_that_only_started_do_not_count(self):
        """Two finalized, two started: two agree."""
        assert history_of(0, 1).judge()["agreement"].summary == "2 validators agree on 4 heights"

    def test_writes_of_one_validator_are_the_same_as_nobodys(self):
        """The receipts are those of the headers, and this is all."""
        result = history_of(0).judge()["write-sets"]

        assert (result.status, result.summary) == ("inconclusive", "no height was applied by two validators")

    def test_a_cluster_of_one_says_that_it_is_one(self):
        """There the header is what its receipts are held against."""
        history = history_of(0)
        history.honest = (0,)

        assert history.judge()["write-sets"].summary.endswith("no other validator wrote the same")

    def test_a_root_that_was_said_once_was_not_compared(self):
        """An execution, and nothing else said of its block."""
        history = write_history()
        place = history.position(0, "executed", 1)
        history.steps = [history.steps[place]]
        result = history.judge()["equal-roots"]

        assert (result.status, result.compared) == ("inconclusive", 0)

    def test_a_first_vote_is_against_no_other(self):
        """One vote of each validator shows nothing."""
        history = write_history()
        history.steps = [history.steps[history.position(node, "vote")] for node in NODES]

        assert history.judge()["no-double-vote"].status == "inconclusive"


ACTIVATION = ('chain.policy="eip1559"', 'chain.activation={previous="fifo", height=5}')


@pytest.mark.parametrize(("until", "status"), [(3, "inconclusive"), (6, "passed")])
def test_a_run_that_ends_before_an_activation_says_so(until, status):
    """Nothing of the second policy was compared."""
    result = check_named(result_of("calm", *ACTIVATION, f"run.until_height={until}"), "oracle")

    assert result.status == status
    if status == "inconclusive":
        assert result.summary == "the policy eip1559 is active from height 5 on, and the run ended at 3"


EXPECTED = Expectations(
    requires=["blackout"],
    workloads=[ExpectedWorkload("some", is_enabled=True, is_required=True, digests=(b"o",))],
    storm=ExpectedStorm(1, 1, 1),
    reorg=ReorgCounts(rolled_back=1),
    counts={"fired": 1},
    at_most={"fired": 1},
    recovery={"damaged": 1},
    reports={"LeaderTimeout": 1},
    answers_from={"1": 1},
    replica_modes={"early": 1},
    rules={"fired": 1},
    arrival=Anchor(event="view", by_ms=1_000),
)
"""Something of everything that a scenario can expect."""

TEST_BED = TestBedPlan(
    seed=0,
    nodes=4,
    validators=4,
    network={
        "regions": [],
        "latency_ms": 40,
        "jitter_ms": 0,
        "distribution": "fixed",
        **dict.fromkeys(("loss_ppm", "reorder_ppm", "reorder_extra_ms", "uplink_bytes_per_second"), 0),
        "order": "none",
        "uplink_shares": {},
    },
    faults={},
    observers=(),
    payload_bytes_max=1,
)
"""A cluster without faults."""

NOTHING = RunEnd(
    reason="stopped",
    recoveries={"damaged": 0},
    replica_modes={"early": 0},
    duties={"observer early applied early": 0},
)
"""The end of a run in which nothing happened."""


SILENT = (
    "budgets",
    "timer-delivery",
    "storm-accounting",
    "message-delivery",
    "supply",
    "inclusion",
    "spread",
    "repairs",
    "requests",
    "timer-lengths",
    "work",
    "oracle/differential",
    "mutants-effective",
)
"""Checks without a result where nothing happened: no block used or moved anything, there was no timer, lane or message,
no leader had a transaction, no mempool lacked one, nothing was
repaired, nobody started again, the chain has no auction with books and no queue with deposits, no timer watches,
nobody answered, executed or had a timer that fired, and the run has no mutants."""


class TestOfEveryCheck:
    @pytest.mark.parametrize("check", CHECKS)
    def test_a_run_without_an_event_is_inconclusive(self, check):
        """Whatever is expected of it."""
        run = make_run(expect=EXPECTED, genesis=make_genesis(), test_bed=TEST_BED)
        (result,) = Suite(run, [check]).finish(NOTHING) or [None]

        assert (result is None) == (check.name in SILENT or check.why_left_out(run) != "")
        assert result is None or result.status == "inconclusive"

    @pytest.mark.parametrize("check", CHECKS)
    def test_what_no_scenario_asks_has_no_result(self, check):
        """Or one that is inconclusive, never a pass."""
        results = Suite(make_run(), [check]).finish(RunEnd(reason="stopped"))

        assert [result.status for result in results] in ([], ["inconclusive"])


OK, BAD = (TransactionReceipt(digest, status, "", 0, 0, 0, 0, ()) for digest, status in ((b"o", 0), (b"b", 1)))


def came_to(*, must=(), may=(), is_required=False):
    expected = ExpectedWorkload("some", is_enabled=True, is_required=is_required, digests=must, uncertain=may)
    check = WorkloadsEffective(make_run(expect=Expectations(workloads=[expected])))
    check.settle(SimpleNamespace(receipts=[OK, BAD]))
    return check.finish().status


def storm_of(actor, *, is_required=False):
    """Return what is expected of a workload of one transaction, with timers of an actor."""
    return ExpectedWorkload("storm", is_enabled=True, is_required=is_required, digests=(bytes(32),), firing=(actor,))


def plan_one_timer(plans, due, later):
    """Let the only timer of a history be due at a slot; these events follow in block 3."""
    plans[1].receipts, plans[2].receipts, plans[3].receipts = (
        [call_receipt(scheduled(FIRES, due, 0, 10))],
        [],
        [call_receipt(*later)],
    )


class TestOfWorkloads:
    def test_one_success_is_enough_where_nothing_is_required(self):
        assert came_to(must=(b"o", b"b", b"x")) == "passed"
        assert came_to(must=(b"o", b"b", b"x"), is_required=True) == "inconclusive"

    @pytest.mark.parametrize("place", ["transactions", "included"])
    def test_a_transaction_in_a_block_of_an_application_has_succeeded(self, place):
        encoded, digest = b"any bytes", hashlib.sha256(b"any bytes").digest()
        expected = ExpectedWorkload("calls", is_enabled=True, is_required=True, digests=(digest,))
        content = {"transactions": (), "included": (), place: (encoded if place == "transactions" else digest,)}
        run = make_run(expect=Expectations(workloads=[expected]), offers=("trace", "events"))
        check, empty = WorkloadsEffective(run), WorkloadsEffective(run)
        check.settle(SimpleNamespace(receipts=(), **content))
        empty.settle(SimpleNamespace(receipts=(), transactions=(), included=()))

        assert (check.finish().status, empty.finish().status) == ("passed", "inconclusive")

    def test_a_workload_of_which_nothing_succeeded_is_inconclusive(self):
        assert came_to(must=(b"b", b"x")) == "inconclusive"

    def test_one_that_tries_limits_has_to_be_in_the_chain(self):
        assert came_to(may=(b"b",)) == "passed"
        assert came_to(may=(b"x",)) == "inconclusive"

    @pytest.mark.parametrize(("ok", "status"), [(True, "passed"), (False, "inconclusive")])
    def test_actors_that_schedule_themselves_have_to_fire(self, ok, status):
        fire = SimpleNamespace(event=create_autospec(TimerFired, instance=True, ok=ok, actor=b"a" * 20))
        expected = ExpectedWorkload("some", is_enabled=True, is_required=True, digests=(b"o",), recurring=(b"a" * 20,))
        check = WorkloadsEffective(make_run(expect=Expectations(workloads=[expected])))
        check.settle(SimpleNamespace(receipts=[OK, fire]))

        assert check.finish().status == status

    @pytest.mark.parametrize(
        ("due", "later", "is_required", "lack"),
        [
            (6, [], False, "storm: no timer came due, was cancelled or was removed, of 1 scheduled"),
            (6, [], True, "required: storm: no timer came due, was cancelled or was removed, of 1 scheduled"),
            (5, [], False, ""),
            (6, [TimerCancelled(FIRES, ACTOR)], False, ""),
            (6, [TimerCancelledByGovernance(FIRES, True)], False, ""),
            (6, [TimerTriggered(FIRES, 3, 1, b"k")], False, ""),
        ],
    )
    def test_timers_have_to_come_due_or_leave(self, due, later, is_required, lack):
        """The last block is of slot 5."""
        history = write_history(lambda plans: plan_one_timer(plans, due, later))
        history.workloads = [storm_of(ACTOR, is_required=is_required)]
        result = history.judge()["workloads-effective"]

        assert (result.status, result.summary) == (("inconclusive", lack) if lack else ("passed", result.summary))

    @pytest.mark.parametrize(
        ("timebase", "end_us", "status"),
        [("slot", 5_999_999, "inconclusive"), ("slot", 6_000_000, "passed"), ("height", 6_000_000, "inconclusive")],
    )
    def test_timers_come_due_where_no_block_becomes_final(self, timebase, end_us, status):
        """They may be what keeps blocks from becoming final."""
        history = write_history(lambda plans: plan_one_timer(plans, 6, []))
        history.workloads, history.end_us = [storm_of(ACTOR)], end_us
        history.rules = history.rules._replace(timebase=timebase)

        assert history.judge()["workloads-effective"].status == status

    def test_a_storm_whose_timers_are_all_refused_tried_something(self):
        history = write_history(lambda plans: plan_one_timer(plans, 6, []))
        history.workloads = [storm_of(ALICE)]

        assert history.judge()["workloads-effective"].status == "passed"

    @pytest.mark.parametrize(
        ("keys", "status"),
        [("first_slot=50", "inconclusive"), ("first_slot=50, cancel_ms=2_000, cancels_per_actor=1", "passed")],
    )
    def test_a_storm_that_never_comes_due_is_no_pass(self, keys, status):
        late = f'workload.late={{kind="storm", actors=2, timers_per_actor=3, spread_slots=1, ttl_slots=9, {keys}}}'
        result = result_of("calm", late, "run.until_height=5")

        assert check_named(result, "workloads-effective").status == status

    def test_a_run_whose_timers_never_come_due_is_inconclusive(self):
        result = result_of("calm", "chain.slot_ms=100_000", "run.until_height=4")

        assert result.headline == "test-bed/workloads-effective: required: pulse: no fire of its actors succeeded"

    def test_a_limit_beyond_every_ceiling_makes_the_run_inconclusive(self):
        """The workload was not required, but none of its timers was admitted."""
        result = result_of("calm", "requires=[]", "run.until_height=4", "workload.pulse.gas_limit=2_000_000_000_000")

        assert result.exit_code == 3
        lacking = "pulse: 0 transactions succeeded, 10 failed, 0 not there"
        assert result.headline == f"test-bed/workloads-effective: {lacking}"

    def test_a_workload_that_may_be_idle_is_not_asked(self):
        settings = ("workload.pulse.gas_limit=2_000_000_000_000", "workload.pulse.may_be_idle=true")
        result = result_of("calm", "requires=[]", "run.until_height=4", *settings)

        assert check_named(result, "workloads-effective").summary.endswith("of a required workload: payments 20")


class TestOfFaultsAndModes:
    def test_a_kind_that_is_not_injected_makes_the_run_inconclusive(self, monkeypatch):
        """Listed, enabled, and without an edge."""
        monkeypatch.setattr(Partition, "inject", lambda *_: iter(()))
        result = result_of("partition-heal", "requires=[]", "run.until_height=4")

        assert result.headline.startswith("test-bed/audit: fault split did not come to start at 8,000,000 us")
        assert check_named(result, "faults-effective").status == "inconclusive"

    def test_an_observer_that_never_applies_early_makes_the_run_inconclusive(self, monkeypatch):
        """It follows, and its roots are right; what it is there for it did not do."""
        monkeypatch.setattr(BlockTree, "apply_certified", lambda *_: 0)
        result = result_of("calm", 'observers.early.kind="apply-early"', "run.until_height=4")

        less = "less than expected: observer early applied early 0 (at least 1)"
        assert result.headline == f"test-bed/replica-modes-effective: {less}"

    def test_a_validator_that_never_applies_early_makes_the_run_inconclusive(self, monkeypatch):
        monkeypatch.setattr(Engine, "certify", lambda *_: 0)
        result = result_of("calm", 'validators.2={apply="certified"}', "run.until_height=4")

        assert "validator 2 applied early 0" in check_named(result, "replica-modes-effective").summary

    def test_an_idle_fault_is_no_promise(self):
        """A fault cannot be required and be allowed to be idle."""
        with pytest.raises(ScenarioError, match="'split' may be idle by its own words"):
            load_scenario("partition-heal", ["faults.split.may_be_idle=true"])

    def test_one_idle_fault_beside_an_effective_one_is_inconclusive(self):
        history = write_history()
        history.faults = (Fault("blackout"), Fault("other", count=0))

        assert verdict_of(history.judge().values()).exit_code == 3


def test_a_tier_that_nobody_knows_is_refused():
    with pytest.raises(ScenarioError, match="it can be economy or standard or fast or urgent"):
        load_scenario("calm", ['workload.pulse.tier="fastest"'])


FREE_WORDS = {
    *("Scenario.name", "Scenario.title", "Scenario.requires", "Scenario.plugins"),
    *("Scenario.mutants", "Scenario.mutants_from_height"),
    *("Scenario.not_for", "Scenario.for_engine"),
    *("Scenario.validators", "Scenario.observers", "Scenario.workload", "Scenario.faults", "ChainSection.id"),
    *("ExpectSection.fails", "ExpectSection.counts", "ExpectSection.at_most", "ExpectSection.fired_by"),
    *("ExpectSection.recovery", "ExpectSection.reports", "ExpectSection.replica_modes"),
    *("ExpectSection.answers_from", "ExpectSection.rules", "RunSection.redraw"),
    *("ApplicationSection.builds", "BuildSection.command", "BuildSection.folder"),
    *("ReplicaBuild.build", "ReplicaBuild.command", "Replace.build"),
    *("Configure.set", "Govern.set", "CancelTimers.workload", "ExtendTimers.workload"),
    *("Heartbeats.feed", "Resubmitters.feed", "Storm.feed"),
    *("Scripts.actors", "Scripts.accounts", "ScriptEntry.actor", "ScriptEntry.sender"),
    *("ScheduleStep.fee_payer", "ScheduleStep.agent", "WatchStep.fee_payer", "WatchStep.agent", "Watched.address"),
    *("WeighStep.address", "ReadStep.address", "PayStep.to", "SendStep.to", "HandStep.to"),
    *(
        "ScheduleStep.name",
        "WatchStep.name",
        "ExtendStep.name",
        "CancelStep.name",
        "HandStep.name",
        "CopyStep.source",
        "CopyStep.target",
    ),
    # What the chain itself takes any bytes or any text for.
    *(
        "PutStep.key",
        "PutStep.value",
        "DeleteStep.key",
        "WeighStep.key",
        "ReadStep.key",
        "Watched.key",
        "ScheduleStep.payload",
        "WatchStep.payload",
    ),
    *(
        "SendStep.payload",
        "ScheduleStep.handler",
        "SendStep.handler",
        "TellStep.topic",
        "TellStep.data",
        "FailStep.reason",
    ),
    *("Rule.kinds", "Byzantine.what", "Byzantine.kinds", "Anchor.event", "Anchor.after"),
    *("ActivationSection.previous", "ChainSection.policy_parameters"),
    *("ApplicationSection.command", "ApplicationSection.folder", "ApplicationSection.parameters", "Lines.path"),
}
"""Keys that take any word by their type: names, texts, and names that the scenario's own rules look up."""


def words_of(kind, place="", seen=None):
    """Yield the keys of a section that take any word, those of the sections within it included."""
    seen = {} if seen is None else seen
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if kind not in seen:
            seen[kind] = None
            for field in msgspec.structs.fields(kind):
                yield from words_of(field.type, f"{kind.__name__}.{field.encode_name}", seen)
    elif kind is str:
        yield place
    elif get_origin(kind) is not Literal:
        for inner in get_args(kind):
            yield from words_of(inner, place, seen)


def test_every_other_key_that_takes_a_word_says_which():
    """A key whose type is any text would let a slip pass, as `tier` once did."""
    assert set(words_of(scenario_type())) == FREE_WORDS


@pytest.mark.parametrize(
    "setting",
    [
        "expect.counts={fyred=1}",
        "expect.replica_modes={nobody=1}",
        "mutants.no-such-bug=[0]",
    ],
)
def test_a_name_that_is_looked_up_is_refused_where_there_is_none(setting):
    with pytest.raises(ScenarioError):
        load_scenario("partition-heal", [setting])
