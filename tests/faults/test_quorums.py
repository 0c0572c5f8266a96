"""Sentences of a plan about quorums: one for each fault, and one for each time that faults make dark together."""

import pytest

from faults.quorums import Electorate, consequence, joint_consequences, spells_of
from tests.support.fault_plans import plan_of

SEVEN = Electorate(7, 7, 5)
FOUR = Electorate(4, 4, 3)
WATCHED = Electorate(4, 6, 3)
SLOTS = Electorate(4, 4, None)
SPAN = {"start_ms": 5_000, "stop_ms": 25_000}
NEEDLESS = "No quorum is needed"
APART = (
    f"{NEEDLESS}: a validator that does not hear a block builds beside it, and the branch with the most blocks stays."
)
OPEN = "whether blocks come in that time shows in the run alone"
OBSERVERS = "It hits observers alone, which have no vote."
OUTAGE = {"at_ms": 1_000, "restart_ms": 4_500}


def fault_of(**fault):
    return plan_of(it=fault)["it"]


@pytest.mark.parametrize(
    ("electorate", "fault", "said"),
    [
        (
            SEVEN,
            {"kind": "partition", "groups": [[0, 1, 2], [3, 4, 5, 6]]},
            "Neither side has 5 of 7: no block for 20 s.",
        ),
        (
            SEVEN,
            {"kind": "partition", "groups": [[0, 1], [2, 3, 4, 5, 6]]},
            "{2, 3, 4, 5, 6} still has a quorum, 5 of 7.",
        ),
        (SEVEN, {"kind": "partition", "groups": [[0, 1], [2, 3]]}, "No side has 5 of 7: no block for 20 s."),
        (
            FOUR,
            {"kind": "partition", "groups": [[0, 1], [2, 3]], "manner": "held"},
            "Neither side has 3 of 4: no block for 20 s.",
        ),
        (FOUR, {"kind": "partition", "groups": [[0, 1], [2, 3]], "manner": "delayed", "delay_ms": 50}, ""),
        (
            FOUR,
            {"kind": "partition", "groups": [[0, 1], [2, 3]], "one_way": True},
            f"Validators 0 and 1 still hear a quorum, 3 of 4, but no quorum hears them: {OPEN}.",
        ),
        (FOUR, {"kind": "cut", "links": [[0, 1]]}, "Validators 0, 1, 2 and 3 still hear a quorum, 3 of 4."),
        (
            FOUR,
            {"kind": "cut", "links": [[0, n] for n in (1, 2, 3)] + [[1, 2], [1, 3], [2, 1], [3, 1], [1, 0], [2, 0]]},
            "No validator hears 3 of 4: no block for 20 s.",
        ),
        (FOUR, {"kind": "clog", "validators": [0, 1]}, "No side has 3 of 4: no block for 20 s."),
        (
            FOUR,
            {"kind": "clog", "validators": [0, 1], "channels": ["votes"]},
            f"At worst no side has 3 of 4: {OPEN}.",
        ),
        (FOUR, {"kind": "clog", "validators": [0, 1], "channels": ["transactions"]}, ""),
        (FOUR, {"kind": "links", "loss_ppm": 1_000_000}, "No side has 3 of 4: no block for 20 s."),
        (FOUR, {"kind": "links", "loss_ppm": 999_999}, ""),
        (
            FOUR,
            {"kind": "flapping", "groups": [[0, 1], [2, 3]], "cut_ms": 600, "open_ms": 400},
            "Neither side has 3 of 4: no block for 0.6 s each time.",
        ),
        (FOUR, {"kind": "isolate-leader"}, "No view has a leader that is heard: no block for 20 s."),
        (
            FOUR,
            {"kind": "isolate-leader", "cut_ms": 700, "open_ms": 300},
            "No view has a leader that is heard: no block for 0.7 s each time.",
        ),
        (
            FOUR,
            {"kind": "pause", "validator": 1, "also": [2]},
            "2 of 4 are left, fewer than a quorum of 3: no block for 20 s.",
        ),
        (FOUR, {"kind": "slow", "validator": 1, "factor": 9}, ""),
        (
            SLOTS,
            {"kind": "partition", "groups": [[0, 1], [2, 3]]},
            f"{NEEDLESS}: {{0, 1}} and {{2, 3}} build apart, and the branch with the most blocks stays.",
        ),
        (
            SLOTS,
            {"kind": "isolate-leader"},
            APART,
        ),
        (
            SLOTS,
            {"kind": "cut", "links": [[0, 1]]},
            APART,
        ),
        (SLOTS, {"kind": "pause", "validator": 1, "also": [2, 3]}, f"{NEEDLESS}: 1 of 4 goes on in their slots."),
        (WATCHED, {"kind": "clog", "validators": [4]}, OBSERVERS),
        (FOUR, {"kind": "clog", "validators": []}, ""),
    ],
)
def test_a_fault_of_links_says_what_it_leaves_of_a_quorum(electorate, fault, said):
    assert consequence(fault_of(**fault, **SPAN), electorate) == said


@pytest.mark.parametrize(
    ("electorate", "fault", "said"),
    [
        (FOUR, {"kind": "crash", "validator": 3}, "3 of 4 are left, enough for a quorum of 3."),
        (WATCHED, {"kind": "crash", "validator": 5}, OBSERVERS),
        (Electorate(1, 1, 1), {"kind": "crash", "validator": 0}, "Nobody is left: no block for 3.5 s."),
        (
            Electorate(2, 2, 2),
            {"kind": "wipe", "validator": 0},
            "1 of 2 is left, fewer than a quorum of 2: no block from 1 s on.",
        ),
        (
            FOUR,
            {"kind": "blackout", "validators": [0, 1, 2]},
            "1 of 4 is left, fewer than a quorum of 3: no block for 3.5 s.",
        ),
        # The second one that is back makes three.
        (
            FOUR,
            {"kind": "blackout", "validators": [0, 1, 2], "restart_every_ms": 1_000},
            "1 of 4 is left, fewer than a quorum of 3: no block for 4.5 s.",
        ),
        (SLOTS, {"kind": "blackout", "validators": [0, 1, 2, 3]}, "Nobody is left: no block for 3.5 s."),
        (
            SLOTS,
            {"kind": "crash", "validator": 3},
            f"{NEEDLESS}: 3 of 4 go on in their slots.",
        ),
    ],
)
def test_an_outage_says_who_is_left(electorate, fault, said):
    assert consequence(fault_of(**fault, **OUTAGE), electorate) == said


@pytest.mark.parametrize(
    ("electorate", "fault", "said"),
    [
        (FOUR, {"kind": "byzantine", "validator": 3, "behaviour": "withhold"}, "At worst 3 of 4 are left, enough"),
        (FOUR, {"kind": "io-error", "validator": 3, "sync_ppm": 9}, "At worst 3 of 4 are left, enough"),
        (FOUR, {"kind": "bit-rot", "validator": 3, "ppm": 9}, "At worst 3 of 4 are left, enough"),
        (FOUR, {"kind": "slow-disk", "validator": 3, "factor": 9}, ""),
        (FOUR, {"kind": "restart-storm", "every_ms": [9, 9], "down_ms": [9, 9]}, f"At worst nobody is left: {OPEN}."),
        (
            FOUR,
            {"kind": "restart-storm", "validators": [1, 2], "every_ms": [9, 9], "down_ms": [9, 9]},
            f"At worst 2 of 4 are left, fewer than a quorum of 3: {OPEN}.",
        ),
        (
            FOUR,
            {
                "kind": "crash-at-boundary",
                "validator": 1,
                "also": [2],
                "boundary": "after-sync",
                "restart_after_ms": 500,
            },
            f"At worst 2 of 4 are left, fewer than a quorum of 3: {OPEN}.",
        ),
        (FOUR, {"kind": "swizzle-clog"}, f"At worst no side has 3 of 4: {OPEN}."),
        (FOUR, {"kind": "swizzle-clog", "validators": [0]}, "At worst {1, 2, 3} still has a quorum, 3 of 4."),
        (FOUR, {"kind": "swizzle-clog", "validators": [0], "pairs": 1}, f"At worst no side has 3 of 4: {OPEN}."),
        (FOUR, {"kind": "swizzle-clog", "channels": ["snapshots"]}, ""),
        (
            SLOTS,
            {"kind": "byzantine", "validator": 3, "behaviour": "withhold"},
            "No quorum is needed: at worst 3 of 4 go on in their slots.",
        ),
    ],
)
def test_a_fault_that_the_plan_does_not_settle_says_the_worst(electorate, fault, said):
    found = consequence(fault_of(**fault, **SPAN), electorate)

    assert found.startswith(said) if said else not found


def joint(electorate=FOUR, **plan):
    return list(joint_consequences(plan_of(**plan).values(), electorate))


def test_faults_that_take_the_quorum_together_are_told_together():
    away = {"kind": "crash", "validator": 0, "at_ms": 1_000, "restart_ms": 9_000}
    asleep = {"kind": "pause", "validator": 1, "start_ms": 3_000, "stop_ms": 5_000}
    torn = {"kind": "cut", "links": [[2, 3], [3, 2], [1, 2], [2, 1]], "start_ms": 5_000, "stop_ms": 6_000}

    assert joint(away=away, asleep=asleep) == [
        "From 3 s to 5 s 2 of 4 are left, fewer than a quorum of 3: no block in that time."
    ]
    assert joint(away=away, asleep=asleep, torn=torn) == [
        "From 3 s to 6 s 2 of 4 are left, fewer than a quorum of 3: no block in that time."
    ]


def test_what_one_of_them_does_alone_is_not_told_again():
    split = {"kind": "partition", "groups": [[0, 1], [2, 3]], "start_ms": 1_000, "stop_ms": 9_000}
    away = {"kind": "crash", "validator": 0, "at_ms": 3_000, "restart_ms": 5_000}

    assert joint(split=split, away=away) == []


def test_an_anchored_fault_is_told_beside_the_others_at_worst():
    """Nobody knows when it comes."""
    anchor = {"event": "finalized", "by_ms": 9_000}
    away = {"kind": "crash", "validator": 0, "at_ms": 0, "restart_ms": 5_000, "anchor": anchor}
    other = {"kind": "crash", "validator": 1, "at_ms": 4_000, "restart_ms": 20_000}

    assert consequence(fault_of(**away), FOUR) == "3 of 4 are left, enough for a quorum of 3."
    assert joint(away=away, other=other) == [
        f"From 4 s to 14 s at worst 2 of 4 are left, fewer than a quorum of 3: {OPEN}."
    ]


def test_a_time_that_is_surely_dark_is_told_beside_one_that_may_be():
    """A blackout that may come hides nothing, and who may be off is not counted with those who are."""
    anchor = {"event": "finalized", "by_ms": 30_000}
    late = {"kind": "blackout", "validators": [2, 3], "at_ms": 0, "restart_ms": 5_000, "anchor": anchor}
    away = {"kind": "crash", "validator": 0, "at_ms": 1_000, "restart_ms": 9_000}
    asleep = {"kind": "pause", "validator": 1, "start_ms": 3_000, "stop_ms": 5_000}

    assert joint(late=late, away=away, asleep=asleep) == [
        "From 3 s to 5 s 2 of 4 are left, fewer than a quorum of 3: no block in that time."
    ]


def test_a_cut_that_comes_and_goes_may_make_a_time_dark():
    lone = {"kind": "flapping", "groups": [[0], [1, 2, 3]], "cut_ms": 600, "open_ms": 400}
    away = {"kind": "crash", "validator": 1, "at_ms": 6_000, "restart_ms": 9_000}

    assert joint(lone={**lone, **SPAN}, away=away) == [f"From 6 s to 9 s at worst neither side has 3 of 4: {OPEN}."]


def test_a_byzantine_validator_may_withhold_the_vote_that_is_missing():
    quiet = {"kind": "byzantine", "validator": 3, "behaviour": "withhold", "start_ms": 2_000, "stop_ms": 8_000}
    away = {"kind": "crash", "validator": 1, "at_ms": 6_000, "restart_ms": 9_000}
    worst = f"at worst 2 of 4 are left, fewer than a quorum of 3: {OPEN}."

    assert joint(quiet=quiet, away=away) == [f"From 6 s to 8 s {worst}"]
    assert joint(quiet={**quiet, "behaviour": "amnesia"}, away=away) == [f"From 6 s to 9 s {worst}"]
    assert joint(SLOTS, quiet=quiet, away=away) == []


def test_a_plan_of_a_hundred_million_edges_is_read_at_once():
    flapping = {"kind": "flapping", "groups": [[0, 1], [2, 3]], "cut_ms": 1, "open_ms": 3}
    (spell,) = spells_of(plan_of(it={**flapping, "start_ms": 0, "stop_ms": 400_000_000}).values(), FOUR)

    assert spell.lasts_ms == 100_000_000
