"""Faults of disks and crashes at the boundaries of the write-ahead order, at work on a whole cluster."""

import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.verdict.determinism import repeat_in_fresh_process
from faults.events import Crashed
from network.events import Sent, events_of_type
from tests.support.cluster_runs import check_named, result_of
from tests.support.keystones import third_of

BOUNDARIES = ["before-append", "after-append", "after-sync", "after-send"]
SHORT = "run.until_height=12"


def crash_at(boundary, validator, every=5):
    return (
        f'faults.at-{validator}={{kind="crash-at-boundary", validator={validator}, boundary="{boundary}", '
        f"every={every}, start_ms=1_500, stop_ms=8_000, restart_after_ms=400}}"
    )


def events_of(*settings, seed=0):
    events = []
    run = Cluster(load_scenario("calm", (SHORT, *settings)), seed, hooks=RunHooks(on_event=events.append)).run()
    assert run.outcome.reason == "stopped"
    return run, events


@pytest.mark.parametrize("boundary", third_of(BOUNDARIES))
def test_crashes_at_a_boundary_make_nobody_contradict_itself(boundary):
    """Two validators, each time they come by, and each comes back."""
    result = result_of(
        "calm", SHORT, crash_at(boundary, 1, every=2), crash_at(boundary, 2, every=3), 'requires=["at-1", "at-2"]'
    )

    assert check_named(result, "no-double-vote").status == "passed"
    assert result.verdict == "passed", result.headline
    assert result.figures["fault_at-1"] + result.figures["fault_at-2"] > 2


def last_step_before_crash(boundary):
    """Return the victim's events of the instant of its first crash at a boundary, and how many bytes it lost."""
    _, events = events_of(crash_at(boundary, 1, every=9))
    crash, crashed = next(events_of_type(events, Crashed))
    step = [event for event in events if event.at_us == crash.at_us and event.node == 1]
    return step, crashed.lost_bytes


def test_between_append_and_sync_both_copies_of_the_record_are_lost():
    """Before it the journal does not know of the vote; after it the vote is written, not synced, not sent."""
    before, lost_before = last_step_before_crash("before-append")
    after, lost_after = last_step_before_crash("after-append")

    assert not [event for event in (*before, *after) if event.kind in {"send", "vote"}]
    assert lost_after > lost_before
    assert (lost_after - lost_before) % 2 == 0


def test_after_the_sync_nothing_is_lost_and_nothing_leaves():
    """The vote is durable, and no other validator has received it."""
    step, lost_bytes = last_step_before_crash("after-sync")

    assert not [event for event in step if event.kind in {"send", "vote"}]
    assert lost_bytes == 0


def test_after_the_send_one_receiver_has_the_vote_and_the_others_have_not():
    """The more dangerous half of a broadcast."""
    step, _ = last_step_before_crash("after-send")

    votes = [body for _, body in events_of_type(step, Sent) if body.label in {"Notarize", "Nullify", "Finalize"}]
    assert votes[-1].destination == 0
    assert len(votes) % 3 == 1


def test_a_slow_disk_delays_what_waits_for_it():
    """Votes leave later by what a sync takes longer, and no other validator's do."""
    slow = 'faults.worn={kind="slow-disk", validator=2, factor=3, extra_ms=50, start_ms=0, stop_ms=9_000}'
    run, events = events_of(slow)
    _, plain = events_of()

    def first_vote_us(log, node):
        return next(event.at_us for event in log if event.node == node and event.kind == "vote")

    assert first_vote_us(events, 2) == first_vote_us(plain, 2) + 54_000
    assert first_vote_us(events, 1) == first_vote_us(plain, 1)
    assert [effect.count > 10 for effect in run.effects] == [True]


@pytest.mark.soak
def test_disk_faults_are_deterministic():
    """Crashes in the midst of a turn, torn tails and rot: the same events under another order of trio's tasks."""
    settings = (
        *(crash_at("after-send", node, every=3) for node in (0, 1, 2)),
        crash_at("after-append", 3, every=3),
        'faults.torn={kind="torn-writes", validators=[0, 1, 2, 3], start_ms=0, stop_ms=9_000}',
    )
    scenario = load_scenario("calm", ("run.until_height=8", *settings))
    log = bytes(Cluster(scenario, 3).run().trace.log)

    assert repeat_in_fresh_process(encode_scenario(scenario), 3, hash_seed=77, shuffle=5) == log
