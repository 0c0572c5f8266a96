"""A small history of four validators and four heights that every check passes; tests break it in one place at a time.

Heights 1 to 3 are final in views 1 to 3, height 4 in view 5, because view 4 was nullified. Three timers are scheduled
at height 1: one fires, one expires, one cannot be paid. Validator 1 crashes after height 2 and comes back.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from checker.checks import CHECKS
from checker.checks.context import RunContext, RunEnd
from checker.checks.faults_effective import FaultsEffective
from checker.checks.proofs import prove_database
from checker.checks.suite import Suite
from checker.checks.workloads_effective import WorkloadsEffective
from checker.expected import Expectations, ExpectedWorkload
from checker.observations import AppliedBlock, ChainRules, DiskFaults, ReadBack
from checker.record.cold_replay import ColdReplay
from checker.results import CheckResult
from checker.tables import BURNED_KEY, TIMER_CONFIG_KEY
from network.events import Event
from scheduler import TimerConfig
from scheduler.events import (
    DeferralReason,
    DeferredSummary,
    TimerCancelledInsufficientFunds,
    TimerDeferred,
    TimerExpired,
    TimerFired,
    TimerScheduled,
)
from tests.support.events import logged
from validators.actors import MessageSent
from validators.execution import PolicyEntry
from validators.execution.blocks import Block, Header, encode_block, header_digest
from validators.execution.phases import PhaseEntry
from validators.execution.receipts import (
    MessageDelivered,
    TimerReceipt,
    TransactionReceipt,
    encode_receipt,
    is_cancellation,
)
from validators.execution.summary import BlockSummary
from validators.state import Database, StateAudit, mmr_root
from validators.state.operations import choose_codec

NODES = (0, 1, 2, 3)
QUORUM = (0, 1, 2)
VIEWS = {1: 1, 2: 2, 3: 3, 4: 5}
SKIPPED_VIEW = 4
LAST_HEIGHT = 4
OF_A_HISTORY = [check for check in CHECKS[: CHECKS.index(FaultsEffective) + 1] if check.applies_to("simplex")]
"""The checks that a history has something for: it has neither disks nor mempools, and leaders take no turns in it."""

ALICE, BOB, ACTOR = b"a" * 20, b"b" * 20, b"c" * 20
FIRES, EXPIRES, BROKE = b"f" * 32, b"e" * 32, b"i" * 32
CONFIG = TimerConfig(gc_cycles_per_block=400, gc_cost_per_timer=200, lane_timer_cycles=1_000, max_cycles_per_fire=500)


def digest_of(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def pack(*fields: object) -> bytes:
    return msgspec.msgpack.encode(fields)


def account_key(address: bytes) -> bytes:
    return (b"\x01" + address).ljust(32, b"\0")


def timer_key(timer_id: bytes) -> bytes:
    return b"\x05" + timer_id[:31]


def timer_record(timer_id: bytes, due: int, sequence: int, expires_at: int, gas_limit: int = 500) -> bytes:
    return pack(timer_id, ACTOR, due, sequence, b"", "handle_timer", ACTOR, gas_limit, False, expires_at)


GENESIS_VALUES = {
    account_key(ALICE): pack(1_000, 0),
    account_key(BOB): pack(500, 0),
    BURNED_KEY: pack(0),
    TIMER_CONFIG_KEY: msgspec.msgpack.encode(CONFIG),
}


def make_provable() -> Database:
    """Return a small state: what the last block's root stands for, so that something can be proved of it."""
    database = Database()
    for turn in range(3):
        batch = database.batch()
        for index in range(7):
            batch.write(digest_of(f"key {index + turn}"), b"%d" % turn)
        batch.merkleize()
        database.apply(batch)
    return database


PROVABLE = make_provable()

RULES = ChainRules(
    genesis_digest=digest_of("genesis"),
    genesis_root=digest_of("root 0"),
    timebase="slot",
    policies=(PolicyEntry(1, "fifo"),),
    block_cycles=5_000,
    block_cells=5_000,
    mailbox_cycles=1_000,
    slot_ms=1_000,
)


def call_receipt(*events: Any, cycles: int = 1_000) -> TransactionReceipt:
    return TransactionReceipt(bytes(32), 0, "", cycles, 100, 0, 0, events)


def scheduled(timer_id: bytes, due: int, sequence: int, expires_at: int, gas_limit: int = 500) -> TimerScheduled:
    return TimerScheduled(timer_id, ACTOR, due, sequence, ACTOR, gas_limit, expires_at)


def fired(timer_id: bytes, due: int, cycles: int = 300) -> TimerFired:
    return TimerFired(timer_id, ACTOR, due, True, cycles, 0, 10, 0)


@dataclass
class Plan:
    """The content of one block; tests change it before the history is written.

    `root` is the root that validators report, where it is not the header's.
    """

    slot: int
    view: int
    receipts: list[Any] = field(default_factory=list)
    changes: dict[bytes, bytes | None] = field(default_factory=dict)
    summary: dict[str, int] = field(default_factory=dict)
    parent: bytes | None = None
    root: bytes | None = None
    receipts_root: bytes | None = None
    phases: dict[str, dict[str, int]] | None = None


def default_plans() -> dict[int, Plan]:
    return {
        1: Plan(
            slot=1,
            view=1,
            receipts=[
                call_receipt(scheduled(FIRES, 3, 0, 10), scheduled(EXPIRES, 2, 0, 2, 1_500), scheduled(BROKE, 3, 1, 10))
            ],
            changes={
                account_key(ALICE): pack(990, 1),
                account_key(BOB): pack(510, 0),
                timer_key(FIRES): timer_record(FIRES, 3, 0, 10),
                timer_key(EXPIRES): timer_record(EXPIRES, 2, 0, 2, 1_500),
                timer_key(BROKE): timer_record(BROKE, 3, 1, 10),
            },
            summary={"cycles_used": 1_000, "cells_used": 100},
        ),
        2: Plan(
            slot=2,
            view=2,
            receipts=[
                TimerReceipt(TimerDeferred(EXPIRES, DeferralReason.OVER_CAP)),
                TimerReceipt(DeferredSummary(((DeferralReason.OVER_CAP, 1),))),
            ],
            changes={account_key(ALICE): pack(985, 2), BURNED_KEY: pack(5)},
            summary={"waiting_live": 1},
        ),
        3: Plan(
            slot=3,
            view=3,
            receipts=[
                TimerReceipt(TimerExpired(EXPIRES, 2, 3)),
                TimerReceipt(TimerCancelledInsufficientFunds(BROKE, ACTOR, 900, 12)),
                TimerReceipt(fired(FIRES, 3)),
            ],
            changes={
                account_key(ALICE): pack(975, 2),
                BURNED_KEY: pack(15),
                timer_key(FIRES): None,
                timer_key(EXPIRES): None,
                timer_key(BROKE): None,
            },
            summary={"lane_cycles": 300, "gc_cycles": 400, "fired": 1, "expired": 1, "insolvent": 1},
        ),
        4: Plan(slot=5, view=5, changes={account_key(BOB): None, account_key(ALICE): pack(1_485, 3)}),
    }


@dataclass(frozen=True)
class Fault:
    name: str
    is_enabled: bool = True
    count: int = 1
    is_past: bool = False
    may_be_idle: bool = False


@dataclass
class History:
    """A run as the suite is fed it: steps in order, then what is read at the end."""

    blocks: dict[int, AppliedBlock]
    steps: list[Event | AppliedBlock] = field(default_factory=list)
    readbacks: list[ReadBack] = field(default_factory=list)
    cold: ColdReplay | None = None
    run_reason: str = "stopped"
    requires: Sequence[str] = ("blackout",)
    faults: Sequence[Fault] = (Fault("blackout"),)
    honest: Sequence[int] = NODES
    views_max: int = 3
    finality_gap_max_us: int | None = None
    max_skew_ms: int = 60_000
    disk_faulted: Sequence[int] = ()
    disk_destroyed: Sequence[int] = ()
    workloads: Sequence[ExpectedWorkload] = ()
    end_us: int = 0
    rules: ChainRules = RULES

    def add(self, node: int, kind: str, *values: Any) -> None:
        self.steps.append(logged(1_000 * len(self.steps), node, kind, *values))

    def position(self, node: int, kind: str, *values: Any) -> int:
        """Return where the first such event stands; only its leading values are compared."""
        for index, step in enumerate(self.steps):
            is_kind = isinstance(step, Event) and (step.node, step.kind) == (node, kind)
            if is_kind and step.values[: len(values)] == values:
                return index
        raise LookupError((node, kind, values))

    def replace(self, place: int, *values: Any) -> None:
        """Give the event at a place other values."""
        step = self.steps[place]
        assert isinstance(step, Event)
        self.steps[place] = logged(step.at_us, step.node, step.kind, *values)

    def alter_applied(self, node: int, height: int, **fields: Any) -> None:
        """Give one validator's application of a block other fields."""
        index = self.steps.index(self.blocks[height]._replace(node=node))
        step = self.steps[index]
        assert isinstance(step, AppliedBlock)
        self.steps[index] = step._replace(**fields)

    def judge(self) -> dict[str, CheckResult]:
        expect = Expectations(
            requires=self.requires,
            workloads=self.workloads,
            finality_views_max=self.views_max,
            finality_gap_max_us=self.finality_gap_max_us,
        )
        run = RunContext(
            genesis_values=GENESIS_VALUES,
            rules=self.rules,
            validators=len(NODES),
            engine="simplex",
            honest=self.honest,
            max_skew_ms=self.max_skew_ms,
            expect=expect,
            disk_faults=DiskFaults(self.disk_faulted, self.disk_destroyed),
        )
        suite = Suite(run, [*OF_A_HISTORY, WorkloadsEffective])
        for step in self.steps:
            if isinstance(step, AppliedBlock):
                suite.applied(step)
            else:
                suite.observe(step)
        end = RunEnd(
            reason=self.run_reason,
            now_us=self.end_us,
            readbacks=self.readbacks,
            cold=self.cold,
            faults=self.faults,
        )
        results = suite.finish(end)
        return {result.name: result for result in results}


def write_history(change: Callable[[dict[int, Plan]], Any] = lambda plans: None) -> History:
    """Return the history, with its blocks planned otherwise if `change` does so."""
    plans = default_plans()
    change(plans)
    history = History(make_blocks(plans))
    for height in (1, 2):
        _write_height(history, height, NODES)
    history.add(-1, "crash", 1, 0)
    history.add(-1, "restart", 1)
    history.add(1, "boot", 1, 3, 2, history.blocks[2].root)
    _write_height(history, 3, NODES)
    history.add(-1, "healed")
    _write_skip(history)
    _write_height(history, 4, NODES)
    _write_end(history)
    return history


def make_blocks(plans: Mapping[int, Plan]) -> dict[int, AppliedBlock]:
    """Return the blocks of validator 0."""
    blocks: dict[int, AppliedBlock] = {}
    parent, messages = RULES.genesis_digest, 0
    for height, plan in plans.items():
        receipts = tuple(encode_receipt(receipt) for receipt in plan.receipts)
        header = Header(
            version=1,
            height=height,
            consensus_epoch=0,
            view=plan.view,
            parent=plan.parent or parent,
            proposer=0,
            slot=plan.slot,
            timestamp_ms=plan.slot * 1_000,
            state_root=PROVABLE.canonical_root if height == LAST_HEIGHT else digest_of(f"root {height}"),
            tx_root=mmr_root(()),
            receipts_root=plan.receipts_root or mmr_root(receipts),
        )
        parent = header_digest(header)
        blocks[height] = AppliedBlock(
            node=0,
            height=height,
            view=plan.view,
            digest=parent,
            root=plan.root or header.state_root,
            block=encode_block(Block(header, ())),
            changes=plan.changes,
            receipts=receipts,
            summary=make_summary(plan),
            phases=[PhaseEntry(*entry) for entry in (plan.phases or ledger_of(plan, messages)).items()],
        )
        messages += sum(isinstance(event, MessageSent) for event in events_of(plan))
        messages -= sum(isinstance(event, MessageDelivered) for event in events_of(plan))
    return blocks


def events_of(plan: Plan) -> list[object]:
    """Return all events of a block, in their order."""
    parts = [it.events if isinstance(it, TransactionReceipt) else (it.event,) for it in plan.receipts]
    return [event for part in parts for event in part]


def ledger_of(plan: Plan, messages: int = 0) -> dict[str, dict[str, int]]:
    """Return the ledger of a block that matches its receipts, before which `messages` messages waited."""
    calls = [receipt for receipt in plan.receipts if isinstance(receipt, TransactionReceipt)]
    events = [receipt.event for receipt in plan.receipts if isinstance(receipt, TimerReceipt)]
    fires = [event for event in events if isinstance(event, TimerFired)]
    removed = sum(isinstance(event, TimerExpired | TimerCancelledInsufficientFunds) for event in events)
    left = plan.summary.get("waiting_live", 0) + plan.summary.get("waiting_dead", 0)
    delivered = [index for index, event in enumerate(events) if isinstance(event, MessageDelivered)]
    meanwhile = sum(isinstance(event, MessageSent) for event in (events[delivered[0] :] if delivered else ()))
    found = messages + sum(isinstance(event, MessageSent) for event in events_of(plan)) - meanwhile
    mailbox = {"found": found, "delivered": len(delivered), "left": found - len(delivered)}
    cycles = sum(call.cycles for call in calls) + sum(fire.used_cycles for fire in fires)
    return {
        "promotion": {"promoted": 0, "left_overflow": 0},
        "transactions": {"included": len(calls), "reverted": sum(call.status != 0 for call in calls)},
        "timers": {"due": len(fires) + removed + left, "fired": len(fires), "removed": removed, "left": left},
        "mailbox": {**mailbox, "sent_meanwhile": meanwhile},
        "prices": {"cycles": cycles, "cells": 0},
        "burns": {"burned": 0},
        "tiers": {},
    }


def make_summary(plan: Plan) -> BlockSummary:
    """Return a summary with what the plan states; what it does not is 0, or as many as its receipts have."""
    calls = [receipt for receipt in plan.receipts if isinstance(receipt, TransactionReceipt)]
    events = events_of(plan)
    fires = [event for event in events if isinstance(event, TimerFired)]
    delivered = [event for event in events if isinstance(event, MessageDelivered)]
    counts = {
        "transactions": len(calls),
        "transactions_reverted": sum(call.status != 0 for call in calls),
        "scheduled": sum(isinstance(event, TimerScheduled) for event in events),
        "cancelled": sum(is_cancellation(event) for event in events),
        "reverted": sum(not fire.ok for fire in fires),
        "lane_cells": sum(fire.used_cells for fire in fires),
        "deferred": plan.summary.get("waiting_live", 0),
        "messages_sent": sum(isinstance(event, MessageSent) for event in events),
        "messages_delivered": len(delivered),
        "messages_reverted": sum(not message.ok for message in delivered),
        "mailbox_cycles": sum(message.used_cycles for message in delivered),
        "tips": sum(each.tip for each in (*calls, *fires)),
        **plan.summary,
    }
    return BlockSummary(**{name: counts.get(name, 0) for name in BlockSummary.__struct_fields__})


def final_values(blocks: Mapping[int, AppliedBlock]) -> dict[bytes, bytes]:
    values: dict[bytes, bytes | None] = dict(GENESIS_VALUES)
    for block in blocks.values():
        values.update(block.changes)
    return {key: value for key, value in values.items() if value is not None}


def _write_height(history: History, height: int, nodes: Sequence[int]) -> None:
    block = history.blocks[height]
    view, digest, root = VIEWS[height], block.digest, block.root
    for node in nodes:
        history.add(node, "enter", view, view % len(NODES))
        history.add(node, "executed", height, view, digest, root, "verify")
        history.add(node, "vote", "notarize", view, digest)
    for node in nodes:
        history.add(node, "certificate", "notarization", view, digest, list(QUORUM))
        history.add(node, "vote", "finalize", view, digest)
    for node in nodes:
        history.add(node, "certificate", "finalization", view, digest, list(QUORUM))
        history.add(node, "finalized", height, view, digest, root)
        history.steps.append(block._replace(node=node))


def _write_skip(history: History) -> None:
    """A view whose block loses: some execute it, all give it up."""
    for node in NODES:
        history.add(node, "enter", SKIPPED_VIEW, 0)
        history.add(node, "executed", 4, SKIPPED_VIEW, digest_of("loser"), digest_of("root of loser"), "verify")
        history.add(node, "vote", "nullify", SKIPPED_VIEW, b"")
    for node in NODES:
        history.add(node, "certificate", "nullification", SKIPPED_VIEW, b"", list(QUORUM))
        history.add(node, "rolled-back", 4, digest_of("loser"))


def _write_end(history: History) -> None:
    codec = choose_codec("variable", bare_values=False)
    operations = [
        codec.encode_delete(key) if value is None else codec.encode_update(key, value)
        for block in history.blocks.values()
        for key, value in block.changes.items()
    ]
    values = final_values(history.blocks)
    roots = (RULES.genesis_root, *(block.root for block in history.blocks.values()))
    audit = StateAudit(
        canonical_root=roots[4],
        values=dict(values),
        operations=(b"genesis", *operations),
        start=0,
        compared={"operation-log": 1, "bitmap": 1, "indexes": 1},
        deviations=(),
    )
    # A history whose last root is made to be another one proves nothing.
    proved = prove_database(PROVABLE) if roots[LAST_HEIGHT] == PROVABLE.canonical_root else None
    history.readbacks = [
        ReadBack(node, LAST_HEIGHT, roots[LAST_HEIGHT], dict(values), list(operations), audit, proved=proved)
        for node in NODES
    ]
    history.cold = ColdReplay(roots=roots, values={4: dict(values)})


def failing(results: Mapping[str, CheckResult]) -> list[str]:
    """Return the names of the checks that failed."""
    return [name for name, result in results.items() if result.status == "failed"]


def planned(change: Callable[[dict[int, Plan]], Any]) -> dict[str, CheckResult]:
    """Return the results of a history whose blocks were planned otherwise."""
    return write_history(change).judge()


def assert_only(results: Mapping[str, CheckResult], name: str, *words: str) -> None:
    """Assert that one check failed, no other, and that its summary has these words."""
    assert failing(results) == [name]
    for word in words:
        assert word in results[name].summary, results[name].summary
