"""Headers, waiting lists and trees of blocks that are wrong, as their trials see them on specimens."""

from dataclasses import replace

import pytest

from checker.checks.parts.execution import headers
from checker.checks.parts.execution.block_trees import try_block_trees
from checker.checks.parts.execution.books import try_books
from checker.checks.parts.execution.headers import try_headers
from checker.checks.parts.execution.updates import try_updates
from checker.checks.parts.execution.waiting_lists import try_waiting_lists
from checker.checks.parts.trial import draws_of
from network.chance import Chance
from scheduler import buckets, ready_queue
from scheduler.books import Book, FeeCounts
from scheduler.calendar import CalendarProfile, CalendarQueue
from scheduler.height_tree import HeightTree
from scheduler.lane import LaneConfig
from validators.consensus.longest_chain.config import LongestChainConfig
from validators.execution import block_tree
from validators.execution.block_tree import BlockTree
from validators.execution.heights import BranchHeights
from validators.execution.timer_list import TimerList
from validators.header_rules import HeaderRules

SEEDS = 40


def faults_of(trial, seeds=range(SEEDS)):
    faults = []
    for seed in seeds:
        try:
            faults += [what for what, holds in trial(draws_of(Chance(seed), trial.__name__)) if not holds]
        # A part that is wrong may raise anything, and the check tells it as a failure.
        except Exception as error:  # noqa: BLE001 - told as the failure that it is
            faults.append(f"breaks: {error!r}")
    return faults


def judge_by_view_alone(_rules, header, view):
    return header.view == view


def build_at_the_clock(rules, _view, _parent):
    return rules._wall_us() // 1_000


def find_without_time(rules, goal, header, find_fault=HeaderRules.find_fault):
    fault = find_fault(rules, goal, header)
    return "" if fault.startswith("time") else fault


def end_late(config, view):
    slot_ms = config.slot_us // 1_000
    return range(view * slot_ms, (view + 1) * slot_ms + 1)


def forgive_slots(header, parent, genesis, check_header=headers.check_header):
    check_header(replace_slot(header, genesis), parent, genesis)


def replace_slot(header, genesis):
    return headers._with(header, slot=header.timestamp_ms // genesis.slot_ms)


def find_in_the_first_piece(listed, place):
    return next((timer for timer in listed._pieces[0] if (timer.due, timer.sequence) == place), None)


def keep_tiers(heights, height, was_queued, record):
    if record is not None:
        heights._queue.put(height, record, is_queued=record[-1:] == b"\xc3")
    elif was_queued is not None:
        heights._queue.drop(height)


def share_overdue(heights, now, next_block=BranchHeights.next_block):
    child, left = next_block(heights, now)
    child._overdue = heights._overdue
    return child, left


def advance_unsorted(queue, now, advance=CalendarQueue.advance):
    found = advance(queue, now)
    return replace(found, due=found.due[::-1])


def take_below(tree, last, take=HeightTree.take):
    return take(tree, last - 1)


def make_in_range(*, is_queued):
    return buckets.Bucket(0, 1, 1, is_queued and False)


def order_by_bytes(timer):
    return timer.due, -timer.quote.max_fee_per_cycle, timer.timer_id


def tell_again(tree):
    return tuple(tree._undone)


def take_oldest_first(tree, count, take_back=BlockTree._take_back):
    return take_back(tree, count)[::-1]


def undo_all(tree):
    tree._undone += tree._take_back(len(tree._early))


def drop_children_first(tree, drop_losers=BlockTree.drop_losers):
    return drop_losers(tree)[::-1]


def bring_back_untold(tree, branch, parent, make_again=BlockTree._make_again):
    batch = make_again(tree, branch, parent)
    tree._reexecuted.clear()
    return batch


def prune_at_the_multiple(every, _before, after):
    return every > 0 and after % every == 0


def forget_the_first_bound(book, fee, tip, tie, remove=Book.remove):
    lows = list(book.lows)
    remove(book, fee, tip, tie)
    if len(book.lows) < len(lows):
        book.lows[0] = lows[1]


def count_at_most(counts, price, below=FeeCounts.below):
    return below(counts, price + 1)


def forget_nothing(tree, heights, _buckets, _present_of):
    tree.finalized.heights = heights


WRONG = {
    "skews that nobody asks": (try_headers, HeaderRules, "find_fault", find_without_time, "beside its proposal"),
    "leaders that nobody asks": (try_headers, HeaderRules, "is_of_view", judge_by_view_alone, "its leader's, or not"),
    "times below the parent's": (try_headers, HeaderRules, "time_of", build_at_the_clock, "is built with another time"),
    "slots that end late": (try_headers, LongestChainConfig, "times_of", end_late, "others than its slot has"),
    "slots of headers": (try_headers, headers, "check_header", forgive_slots, "beside its parent and genesis"),
    "roots that nobody compares": (try_headers, headers, "check_roots", lambda *_: None, "a wrong root is believed"),
    "lists of one piece": (try_waiting_lists, TimerList, "at", find_in_the_first_piece, "place of a list"),
    "heights in two tiers": (
        try_waiting_lists,
        BranchHeights,
        "_settle_height",
        keep_tiers,
        "an epoch has other heights",
    ),
    "heights that are never due": (try_waiting_lists, BranchHeights, "next_block", share_overdue, "other heights than"),
    "heights in no order": (try_waiting_lists, CalendarQueue, "advance", advance_unsorted, "other heights than have"),
    "rings of one more": (
        try_waiting_lists,
        CalendarProfile,
        "last_in_ring",
        lambda profile, now: now + profile.ring_size,
        "than by the ring's reach",
    ),
    "heights that are left": (try_waiting_lists, HeightTree, "take", take_below, "are taken out of a tree"),
    "buckets without a flag": (try_waiting_lists, buckets, "new_bucket", make_in_range, "a bucket counts its timers"),
    "keys that sort as bytes": (try_waiting_lists, ready_queue, "key_order", order_by_bytes, "in another order than"),
    "undone blocks told again": (try_block_trees, BlockTree, "take_undone", tell_again, "what was told is told again"),
    "blocks undone upside down": (
        try_block_trees,
        BlockTree,
        "_take_back",
        take_oldest_first,
        "other blocks are undone",
    ),
    "rewinding that undoes": (try_block_trees, BlockTree, "rewind_to_finalized", undo_all, "are miscounted"),
    "children lost first": (try_block_trees, BlockTree, "drop_losers", drop_children_first, "before their parents"),
    "multiples jumped over": (try_block_trees, block_tree, "is_due", prune_at_the_multiple, "every so many heights"),
    "heights of old buckets": (try_block_trees, BlockTree, "forget_derived", forget_nothing, "than its own buckets"),
    "bounds that go with their blocks": (try_books, Book, "remove", forget_the_first_bound, "than its bounds say"),
    "fees at a price": (try_books, FeeCounts, "below", count_at_most, "another number of fees is below a price"),
    "floors that stand still": (try_updates, LaneConfig, "check_update", lambda _config: None, "taken that may not"),
    "blocks brought back untold": (try_block_trees, BlockTree, "_make_again", bring_back_untold, "are told of"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_part_below_execution_that_is_wrong_is_named(name, monkeypatch):
    trial, owner, attribute, replacement, pattern = WRONG[name]
    monkeypatch.setattr(owner, attribute, replacement)

    assert any(pattern in what for what in faults_of(trial))


@pytest.mark.parametrize("trial", [try_headers, try_waiting_lists, try_block_trees, try_books, try_updates])
def test_parts_below_execution_that_are_right_have_no_fault(trial):
    assert faults_of(trial, range(20)) == []


@pytest.mark.parametrize("trial", [try_headers, try_waiting_lists, try_block_trees, try_books, try_updates])
def test_the_same_seed_tries_the_same_of_execution(trial):
    asked = [list(trial(draws_of(Chance(7), trial.__name__))) for _ in range(2)]

    assert asked[0] == asked[1]
