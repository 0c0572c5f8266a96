"""The lines of one height, from rows made by hand."""

import msgspec
import pytest

from report.block import COLUMNS, LISTED_MAX, NEVER, height_lines
from report.block_rows import (
    AbsentReplica,
    BlockLine,
    BlockRow,
    CertificateLine,
    Comparison,
    DifferentKey,
    DifferentReceipt,
    EventRow,
    FiredRow,
    HeaderRow,
    HeightReport,
    LeftRow,
    Party,
    ReplicaExecution,
    ReplicaPart,
    RootLine,
    TimerRows,
    TransactionRow,
    WaitingRow,
)

BLOCK, OTHER, PARENT, ROOT = (digit * 64 for digit in "abcd")
ACTOR, PAYER, NOBODY = Party("1" * 40, "pulse/heartbeat-0"), Party("2" * 40, "purse/client-1"), Party("3" * 40, "")
CHANGE = msgspec.structs.replace


def transaction(index, status="ok", refusal=""):
    return TransactionRow(
        index=index,
        transaction=BLOCK,
        sender=PAYER,
        nonce=index,
        kind="Transfer",
        call="transfer of 5 to pulse/heartbeat-0",
        arguments={},
        status=status,
        refusal=refusal,
        cycles=1_100,
        cells=146,
        burned=900,
        tip=100,
        fee=1_000,
    )


FIRED = FiredRow(
    timer=BLOCK,
    actor=ACTOR,
    fee_payer=ACTOR,
    handler="tick",
    due=6,
    waited=1,
    result="ok",
    gas_limit=2_000,
    cycles=700,
    cells=1,
    burned=560,
    tip=7,
    deposit=0,
    returned=0,
)

LEFT = LeftRow(timer=BLOCK, actor=ACTOR, fee_payer=PAYER, exit="expired", due=5, expires_at=6, charged=0, returned=0)

WAITING = WaitingRow(
    timer=BLOCK,
    actor=NOBODY,
    fee_payer=NOBODY,
    due=5,
    expires_at=NEVER,
    gas_limit=2_000,
    max_fee=None,
    tip=None,
    deposit=0,
    is_due=True,
    why="lane full",
)

TIMERS = TimerRows(
    now=7,
    fired=[FIRED],
    left=[LEFT],
    waiting_live=1,
    waiting_dead=0,
    triggered=0,
    waiting_later=1,
    held_back={"lane full": 1},
    lane_cycles=700,
    lane_limit=1_000,
    clean_up_cycles=200,
    clean_up_limit=None,
    waiting=[WAITING, CHANGE(WAITING, due=9, is_due=False, why="not due", actor=ACTOR, fee_payer=ACTOR)],
)

HEADER = HeaderRow(
    block=BLOCK,
    height=7,
    view=9,
    proposer=2,
    parent=PARENT,
    timestamp_ms=7_000,
    slot=7,
    state_root=ROOT,
    tx_root=ROOT,
    receipts_root=ROOT,
    engine="simplex",
    policy="fifo",
    timebase="slot",
    validators=4,
    certificates=[CertificateLine(certificate="notarization", signers=3, held_by=[0, 1])],
)

SUMMARY = {"cycle_basefee": 8, "cell_basefee": 9, "burned": 1_460, "tips": 107}


def block(**changes):
    row = BlockRow(
        header=HEADER,
        executed_as=0,
        source="executed again from genesis",
        root=ROOT,
        refusal="",
        transactions=[],
        timers=TIMERS,
        events=[],
        summary=SUMMARY,
    )
    return CHANGE(row, **changes)


LINE = BlockLine(
    block=BLOCK,
    status="final",
    view=9,
    proposer=2,
    state_root=ROOT,
    transactions=0,
    final_on=[0, 1],
    executed_by=[0, 1],
    refused_by=[],
)


def lines(*, shows_all=False, **changes):
    report = HeightReport(
        run="runs/made-0",
        scenario="made",
        seed=0,
        verdict="passed",
        height=7,
        heights=(1, 9),
        view_word="view",
        blocks=[LINE],
        is_agreed=True,
        roots=[RootLine(block=BLOCK, root=ROOT, is_final=True, replicas=[0, 1])],
        absent=[],
        replica=None,
        block=block(),
        comparison=None,
        notes=[],
    )
    return list(height_lines(CHANGE(report, **changes), shows_all=shows_all))


def test_a_page_reads_from_the_header_to_the_root():
    events = [EventRow(index=0, receipt=0, transaction=0, event="Emitted", fields={}, text="Emitted topic=x")]
    shown = lines(block=block(transactions=[transaction(0)], events=events))

    assert shown == [
        "height 7 of runs/made-0: made, seed 0, passed",
        "final block aaaaaaaaaaaa of view 9, by validator 2: on replicas 0, 1",
        f"block {BLOCK}",
        "  view        9, proposed by validator 2",
        "  time        7,000 ms (slot 7 for timers)",
        "  policy      fifo, timers count in slots",
        f"  parent      {PARENT}",
        f"  state root  {ROOT}",
        "  certified   notarization 3 of 4 signers",
        "  executed    by the code of replica 0, executed again from genesis",
        "  prices      8 a cycle, 9 a cell",
        "  units       burned 1,460, tips 107",
        "transactions: 1 (1 ok)",
        "  0   ok         purse/client-1: transfer of 5 to pulse/heartbeat-0",
        "      nonce 0, 1,100 cycles, 146 cells; fee 1,000 (tip 100)",
        "timers that fired: 1",
        "  aaaaaaaa ok: tick of pulse/heartbeat-0, due 6, waited 1 slot",
        "      700 of 2,000 cycles, 1 cell; burned 560, tip 7",
        "timers that left without a fire: 1 expired",
        "  aaaaaaaa expired: pulse/heartbeat-0, paid by purse/client-1",
        "      due 5, expires after 6; no charge",
        "timers that wait at the end: 1 live and 0 dead that are due, 1 due later",
        "  held back: 1 lane full",
        "  aaaaaaaa lane full: 33333333",
        "      due 5, without expiry, 2,000 cycles",
        "  next due at 9: aaaaaaaa of pulse/heartbeat-0",
        "  budgets: lane used 700 of 1,000 cycles",
        "events: 1",
        "  receipt 0: of transaction 0: Emitted topic=x",
        f"state root {ROOT}",
    ]


def test_long_lists_say_how_many_are_left_out():
    rows = [transaction(index) for index in range(LISTED_MAX + 3)]
    events = [
        EventRow(index=index, receipt=index, transaction=None, event="Emitted", fields={}, text="Emitted")
        for index in range(LISTED_MAX + 2)
    ]
    whole = block(transactions=rows, events=events, timers=CHANGE(TIMERS, fired=[FIRED] * (LISTED_MAX + 1)))
    shown = lines(block=whole)

    assert shown.count("  ... 3 more; --all shows them") == 1
    assert shown.count("  ... 2 more; --all shows them") == 1
    assert shown.count("  ... 1 more; --all shows them") == 1
    assert sum("transfer of" in line for line in shown) == LISTED_MAX

    everything = lines(block=whole, shows_all=True)
    assert not [line for line in everything if "more; --all" in line]
    assert sum("transfer of" in line for line in everything) == LISTED_MAX + 3
    assert "  aaaaaaaa not due: pulse/heartbeat-0" in everything


def test_a_refused_transaction_says_why():
    shown = lines(block=block(transactions=[transaction(0), transaction(1, "reverted", "InsufficientBalance")]))

    assert "transactions: 2 (1 ok, 1 reverted)" in shown
    assert "      refused: InsufficientBalance" in shown


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"exit": "insolvent", "required": 1_200, "available": 3}, "; needs 1,200, payer has 3; no charge"),
        ({"exit": "passed over too often", "charged": 40}, "; burned 40"),
        ({"exit": "cancelled", "returned": 70}, "; returned 70"),
    ],
)
def test_a_timer_that_left_says_its_charges(changes, said):
    shown = lines(block=block(timers=CHANGE(TIMERS, left=[CHANGE(LEFT, **changes)])))

    assert f"      due 5, expires after 6{said}" in shown


def test_offers_and_deposits_are_shown_where_there_are_any():
    fired = CHANGE(FIRED, fee_payer=PAYER, deposit=900, returned=340)
    waiting = CHANGE(WAITING, max_fee=50, tip=2, deposit=900)
    shown = lines(block=block(timers=CHANGE(TIMERS, fired=[fired], waiting=[waiting], triggered=3)))

    assert "      700 of 2,000 cycles, 1 cell; burned 560, tip 7, paid by purse/client-1" in shown
    assert "      deposit 900, returned 340" in shown
    assert "      due 5, without expiry, 2,000 cycles, offers 50 a cycle, tip 2, deposit 900" in shown
    assert "3 triggered, 1 due later" in " ".join(line.strip() for line in shown)


def test_messages_are_counted_where_there_are_any():
    mail = {"messages_sent": 2, "messages_delivered": 1, "messages_reverted": 0, "messages_waiting": 4}

    assert "messages: 2 sent, 1 delivered, 0 reverted, 4 waiting" in lines(block=block(summary=SUMMARY | mail))
    assert not [line for line in lines() if line.startswith("messages")]


def test_several_blocks_are_listed_with_what_became_of_each():
    lost = CHANGE(LINE, block=OTHER, status="lost", final_on=[], executed_by=[3], refused_by=[2], reason="too late")
    shown = lines(blocks=[LINE, lost])

    assert shown[1:4] == [
        "2 blocks at this height; --block PREFIX shows another block",
        "  final block aaaaaaaaaaaa of view 9, by validator 2: on replicas 0, 1",
        "  lost block bbbbbbbbbbbb of view 9, by validator 2: executed by replica 3;",
    ]
    assert shown[4] == "    refused by replica 2 (too late)"


def test_roots_are_listed_only_where_replicas_do_not_agree():
    roots = [
        RootLine(block=BLOCK, root=ROOT, is_final=True, replicas=[0, 1]),
        RootLine(block=BLOCK, root=OTHER, is_final=False, replicas=[2]),
    ]

    assert not [line for line in lines(roots=roots) if line.startswith("  root ")]
    assert [line for line in lines(roots=roots, is_agreed=False) if line.startswith("  root ")] == [
        "  root dddddddddddd of block aaaaaaaaaaaa on replicas 0, 1",
        "  root bbbbbbbbbbbb of block aaaaaaaaaaaa on replica 2, not final there",
    ]


def test_replicas_without_the_block_stand_together_by_reason():
    reasons = {0: "halted", 1: "took a snapshot", 2: "halted"}
    shown = lines(absent=[AbsentReplica(replica=node, reason=reason) for node, reason in reasons.items()])

    assert shown[2:4] == ["replicas 0, 2: halted", "replica 1: took a snapshot"]


def test_a_replica_has_its_part_and_its_differences():
    part = ReplicaPart(
        replica=2,
        mode="finalized, bug",
        mutants=["refund-forgotten"],
        executed=[ReplicaExecution(at_us=1_002_003, block=BLOCK, view=9, mode="diverged", root=OTHER)],
        final="",
        root="",
        left=[OTHER],
        refused=[BLOCK],
        halted=f"state_root {ROOT} where executing gives {OTHER}",
        joined_by_snapshot_at=9,
    )
    comparison = Comparison(
        replica=0,
        root=ROOT,
        refusal="",
        receipt_counts=(4, 5),
        receipts=[DifferentReceipt(receipt=4, here=None, elsewhere="TimerFired ok=True")],
        keys=[DifferentKey(key="01", name="burned", here="total=1", elsewhere="total=2")],
    )
    shown = lines(replica=part, comparison=comparison, block=block(root=OTHER, refusal="another root"))

    place = shown.index("replica 2 (finalized, bug, mutants refund-forgotten)")
    assert shown[place + 1 : place + 7] == [
        "  executed block aaaaaaaaaaaa at 1.002003 s (diverged), root bbbbbbbbbbbb",
        "  dropped or rewound block bbbbbbbbbbbb",
        "  refused block aaaaaaaaaaaa",
        "  took a snapshot of height 9 for its state",
        "  halted: state_root dddddddddddd where executing gives bbbbbbbbbbbb",
        f"block {BLOCK}",
    ]
    assert "  refused     another root" in shown
    assert shown[-11:] == [
        f"state root {OTHER}",
        "  the header has another root",
        "on replica 0: state root dddddddddddd",
        "receipts: 4 here, 5 there; 1 of them differ",
        "  receipt 4",
        "      here: none",
        "      there: TimerFired ok=True",
        "keys with different values: 1",
        "  burned",
        "      here: total=1",
        "      there: total=2",
    ]


def test_an_execution_that_broke_off_counts_no_waiting_timer():
    shown = lines(block=block(root="", refusal="AssertionError: no timer", summary={}))

    assert "timers that wait: not counted, the execution aborted" in shown
    assert shown[-1] == "state root none: the execution aborted"


def test_a_replica_without_a_block_ends_with_its_part():
    part = ReplicaPart(
        replica=3,
        mode="finalized",
        mutants=[],
        executed=[],
        final="",
        root="",
        left=[],
        refused=[],
        halted="",
        joined_by_snapshot_at=None,
    )

    assert lines(replica=part, block=None)[2:] == [
        "replica 3 (finalized)",
        "  the record has no execution of this replica at this height",
    ]


def test_no_line_is_wider_than_the_page():
    long = "word " * 60
    shown = lines(notes=[long], block=block(transactions=[transaction(0, "reverted", long)]))

    assert max(map(len, shown)) <= COLUMNS
    assert sum(line.split().count("word") for line in shown) == 120
