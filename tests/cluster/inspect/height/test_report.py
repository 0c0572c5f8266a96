"""One height of recorded runs: each row against what the run itself counted, under every policy and engine."""

from functools import cache

import msgspec
import pytest

from checker.record.run_directory import RecordReader
from cluster.inspect.height.recorded import ALONE, ShowError
from cluster.inspect.height.report import show_height
from cluster.inspect.height.rows import STATUS_WORDS
from cluster.inspect.height.timers import PAID_FROM_DEPOSIT, REASONS
from report.block import COLUMNS, height_lines
from scheduler import POLICIES
from scheduler.events import DeferralReason
from tests.support.cluster_runs import result_of
from tests.support.keystones import rest_in_soak
from validators.actors.calls import Status
from validators.execution import Transfer
from validators.execution.blocks import decode_block, decode_transaction

BY_POLICY = {
    "fifo": (
        "outage-storm",
        *("workload.storm.timers_per_actor=20", "workload.storm.timers_per_transaction=20", "workload.storm.actors=6"),
        *("workload.storm.unfunded_actors=2", "workload.storm.first_slot=8", "workload.storm.spread_slots=6"),
        *("workload.storm.ttl_slots=1", "chain.timers.gc_cycles_per_block=2_000", 'requires=["storm"]'),
        'faults={dark={kind="blackout", validators=[0, 1, 2, 3], at_ms=6_500, restart_ms=20_000}}',
        *("expect.storm={dead_timers_min=100, actors_min=6, drain_blocks_min=1}", "run.until_height=14"),
    ),
    "fifo-free": ("free-timers", "run.until_height=8"),
    "eip1559": ("gba-chaos", "run.until_height=14"),
    "gba-auction": ("auction-agents", "run.until_height=14"),
    "bias-auction": ("state-triggers", "run.until_height=12"),
    "aptos": ("aptos-boundaries", "run.until_height=22"),
}
"""By policy, a scenario that has its ways to leave and to wait, and how far it runs."""

SHOWN = ("aptos",)
"""A policy with a queue."""

BY_ENGINE = (
    ("simplex", ["notarization", "finalization"], 3, "view"),
    ("hotstuff", ["quorum-certificate", "commit"], 3, "view"),
    ("longest-chain", ["burial"], 1, "slot"),
)
"""Engines with the certificates of a final block, their signers among four validators, and the word for a view."""


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """Return a function that runs a scenario, once for all tests, and reads its record."""
    runs = tmp_path_factory.mktemp("runs")

    @cache
    def run(name, *settings, seed=0):
        return RecordReader(result_of(name, *settings, seed=seed, runs=runs).directory)

    return run


@pytest.fixture(scope="module")
def calm(read):
    return read("calm", "run.until_height=4")


@pytest.fixture(scope="module", params=rest_in_soak(BY_POLICY, SHOWN))
def shown(request, read):
    """Return each height of a policy's run as it is shown, with the summary that the run made."""
    reader = read(*BY_POLICY[request.param])
    assert show_height(reader, 1).block.header.policy == request.param
    return [(show_height(reader, height), summary) for height, summary in enumerate(reader.summaries(), start=1)]


class TestEveryPolicy:
    def test_counts_are_those_of_the_run(self, shown):
        for report, summary in shown:
            block, timers = report.block, report.block.timers
            statuses = [row.status for row in block.transactions]
            assert (block.source, block.refusal, report.notes) == (ALONE, "", [])
            assert block.summary == msgspec.structs.asdict(summary)
            assert (len(statuses), len(statuses) - statuses.count("ok")) == (
                summary.transactions,
                summary.transactions_reverted,
            )
            assert (len(timers.fired), [row.result for row in timers.fired].count("reverted")) == (
                summary.fired,
                summary.reverted,
            )
            assert len(timers.left) == summary.expired + summary.insolvent + summary.cancelled
        assert any(report.block.timers.fired for report, _ in shown)

    def test_fees_of_all_rows_are_what_the_block_took(self, shown):
        """Units that are burned and tipped, charges of timers that left among them."""
        for report, summary in shown:
            rows = (*report.block.transactions, *report.block.timers.fired)
            charged = sum(row.charged for row in report.block.timers.left)
            assert (sum(row.burned for row in rows) + charged, sum(row.tip for row in rows)) == (
                summary.burned,
                summary.tips,
            )
            assert all(row.fee == row.burned + row.tip for row in report.block.transactions)

    def test_all_that_are_due_are_listed_with_a_reason(self, shown):
        for report, _ in shown:
            timers = report.block.timers
            due = [row for row in timers.waiting if row.is_due]
            assert len(due) == timers.waiting_live + timers.waiting_dead + timers.triggered
            assert len(timers.waiting) - len(due) == timers.waiting_later
            assert sum(timers.held_back.values()) == timers.waiting_live
            assert "no reason given" not in [row.why for row in due]
            assert [(row.due, row.is_due) for row in timers.waiting] == sorted(
                ((row.due, row.is_due) for row in timers.waiting), key=lambda place: place[0]
            )

    def test_a_page_is_eighty_columns_wide(self, shown):
        for report, _ in shown:
            assert max(map(len, height_lines(report, shows_all=True))) <= COLUMNS

    def test_every_actor_of_the_scenario_has_its_name(self, shown):
        for report, _ in shown:
            timers = report.block.timers
            assert all(row.actor.name and row.fee_payer.name for row in (*timers.fired, *timers.left, *timers.waiting))


class TestCharges:
    def test_a_queue_returns_the_deposit_less_the_fee(self, read):
        reader = read(*BY_POLICY["aptos"])
        heights = [show_height(reader, height).block.timers for height in (15, 21)]
        fired = [row for timers in heights for row in timers.fired]
        (failed,) = heights[0].left

        assert all(row.deposit - row.burned == row.returned > 0 for row in fired)
        assert (failed.exit, failed.charged, failed.returned) == ("failed: AuthExpired", 0, 300_000)

    def test_an_auction_pays_out_of_the_bid(self, read):
        reader = read("bias-aging", "run.until_height=6")
        fired = [row for height in range(3, 7) for row in show_height(reader, height).block.timers.fired if row.deposit]

        assert all(row.deposit - row.tip == row.returned for row in fired)
        assert any(0 < row.tip < row.deposit for row in fired)

    def test_an_insolvent_one_says_what_it_needs(self, read):
        reader = read(*BY_POLICY["fifo"])
        left = [row for height in range(8, 15) for row in show_height(reader, height).block.timers.left]
        insolvent = [row for row in left if row.exit == "insolvent"]
        expired = [row for row in left if row.exit == "expired"]

        assert all(row.required > row.available == 0 for row in insolvent)
        assert all(row.required is None for row in expired)
        assert insolvent
        assert expired

    def test_a_penalty_is_charged_to_who_was_passed_over(self, read):
        reader = read("short-penalty")
        left = [
            row
            for height, _ in enumerate(reader.summaries(), start=1)
            for row in show_height(reader, height).block.timers.left
            if row.exit == "passed over too often"
        ]

        assert left
        assert any(row.charged for row in left)

    def test_words_cover_every_value(self):
        assert set(REASONS) == set(DeferralReason)
        assert set(STATUS_WORDS) == set(Status)
        assert set(PAID_FROM_DEPOSIT) <= set(POLICIES)


class TestWaiting:
    @pytest.mark.soak
    def test_reasons_are_those_of_the_run(self, read):
        """Watchers, timers that a change has triggered, full lanes; and expired ones that wait for their removal."""
        triggers = read(*BY_POLICY["bias-auction"])
        whys = {row.why for height in range(2, 13) for row in show_height(triggers, height).block.timers.waiting}
        assert {"not due", "watches 1 key", "watches 3 keys", "triggered in this block", "lane full"} <= whys

        storm = read(*BY_POLICY["fifo"])
        whys = {row.why for height in range(8, 15) for row in show_height(storm, height).block.timers.waiting}
        assert whys == {"not due", "expired, waits for its removal", "dead, waits for its removal"}

    def test_a_timer_held_back_before_has_the_height_of_its_first_reason(self, read):
        """A block names a timer once; later it counts reasons, and where there are two nobody knows whose is which."""
        reader = read(*BY_POLICY["eip1559"])
        found = [row.why for row in show_height(reader, 9).block.timers.waiting]

        assert "price above its greatest fee" in found or "lane full" in found
        held = show_height(reader, 10).block.timers
        assert len(held.held_back) == 1 or any(" at height " in row.why for row in held.waiting)


@pytest.mark.parametrize(("engine", "kinds", "signers", "word"), BY_ENGINE)
def test_certificates_of_every_engine_have_their_signers(read, engine, kinds, signers, word):
    reader = read("calm", f'consensus.engine="{engine}"', "run.until_height=4", seed=3)
    report = show_height(reader, 2)

    found = {each.certificate: each.signers for each in report.block.header.certificates}
    assert found == dict.fromkeys(kinds, signers)
    assert report.view_word == word


class TestBlock:
    def test_the_header_is_the_recorded_one(self, calm):
        report = show_height(calm, 3)
        recorded = list(calm.blocks())[2]
        header = decode_block(recorded.block).header

        shown = report.block.header
        assert (shown.block, shown.state_root) == (recorded.digest.hex(), recorded.root.hex())
        assert (shown.view, shown.proposer, shown.parent) == (header.view, header.proposer, header.parent.hex())
        assert (shown.timestamp_ms, shown.slot) == (header.timestamp_ms, header.slot)
        assert report.block.root == recorded.root.hex()
        assert [(each.status, each.final_on) for each in report.blocks] == [("final", [0, 1, 2, 3])]

    def test_transactions_stand_in_order_with_names(self, calm):
        report = show_height(calm, 3)
        encoded = decode_block(list(calm.blocks())[2].block).transactions
        calls = [decode_transaction(each).call for each in encoded]

        assert [row.index for row in report.block.transactions] == list(range(len(calls)))
        for row, call in zip(report.block.transactions, calls, strict=True):
            assert isinstance(call, Transfer)
            assert row.sender.name.startswith("payments/client-")
            assert (row.kind, row.arguments) == ("Transfer", {"to": call.to.hex(), "amount": call.amount})
            assert row.call.startswith("transfer of 1,000 to payments/client-")

    def test_a_refusal_is_told_with_its_transaction(self, read):
        report = show_height(read(*BY_POLICY["aptos"]), 21)
        refused = {row.refusal for row in report.block.transactions if row.status == "reverted"}

        assert refused == {
            *("Unauthorized", "InvalidInput", "ESHUTDOWN_IN_PROGRESS", "EINVALID_PAUSE_ATTEMPT"),
            "EINVALID_SHUTDOWN_START",
        }
        assert all(not row.refusal for row in report.block.transactions if row.status == "ok")

    def test_events_stand_in_order_with_their_transaction(self, read):
        """A queue fires before the transactions of its block, so receipts of both kinds are mixed."""
        events = show_height(read(*BY_POLICY["aptos"]), 21).block.events

        assert [row.index for row in events] == list(range(len(events)))
        assert [row.receipt for row in events] == sorted(row.receipt for row in events)
        assert [(row.event, row.transaction) for row in events if row.event == "ServiceStatusChanged"] == [
            ("ServiceStatusChanged", 4),
            ("ServiceStatusChanged", 8),
        ]
        assert events[-1].event == "TimerFired"
        assert events[-1].fields["actor"] in events[-1].fields.values()
        assert "actor=lone/heartbeat-0" in events[-1].text

    @pytest.mark.soak
    def test_budgets_are_those_that_the_block_read(self, read):
        """Governance lowers the lane, which holds from the next block on."""
        reader = read(*BY_POLICY["eip1559"])
        changes = [
            height
            for height in range(1, 15)
            if any(row.event == "TimerConfigUpdated" for row in show_height(reader, height).block.events)
        ]
        limits = [show_height(reader, height).block.timers.lane_limit for height in range(1, 15)]

        assert set(limits) == {12_000, 9_000}
        assert limits.index(9_000) in changes

    @pytest.mark.parametrize(
        ("height", "options", "said"),
        [
            (5, {}, "has no block at height 5; it has heights 1 to 4"),
            (2, {"replica": 4}, "has no replica 4; it has replicas 0 to 3"),
            (2, {"prefix": "abc"}, "has no block that begins with abc at height 2; there: "),
        ],
    )
    def test_what_is_not_there_is_refused_with_what_is(self, calm, height, options, said):
        with pytest.raises(ShowError, match=said):
            show_height(calm, height, **options)

    def test_a_run_without_blocks_says_so(self, read):
        reader = read("calm", "run.time_limit_ms=600", seed=9)

        with pytest.raises(ShowError, match="has no blocks: the run ended before one was executed"):
            show_height(reader, 1)

    def test_a_block_that_nothing_made_final_is_open(self, read):
        reader = read("calm", "run.time_limit_ms=1_060", seed=8)
        report = show_height(reader, 1)

        assert [each.status for each in report.blocks] == ["open"]
        assert {each.reason for each in report.absent} == {
            "final up to height 0",
            "final up to height 0; executed a block of this one",
        }
