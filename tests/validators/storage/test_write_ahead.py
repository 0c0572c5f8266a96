"""Append, sync, then send: a validator that turns the last two round contradicts itself, and is caught."""

from dataclasses import replace

import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from network.events import read_event
from tests.support.cluster_runs import check_named, result_of
from tests.support.keystones import rest_in_soak, third_of
from validators.events import Voted
from validators.settings import ValidatorFactory
from validators.storage import Barrier

VICTIM = 2
SLOW_DISK = ("costs.sync_us=300_000", "run.until_height=8", "chain.block_interval_ms=1_500")


class SendFirst(Barrier):
    """Acts at once and syncs afterwards."""

    def then(self, action):
        action()
        super().then(lambda: None)


SEND_FIRST = {VICTIM: replace(ValidatorFactory(), barrier=SendFirst)}


def time_of_vote(factories, kind, view):
    """Return when the victim sends a vote in a run without faults, in whole milliseconds."""
    found = []

    def look(event):
        voted = read_event(event, Voted)
        if event.node == VICTIM and voted is not None and (voted.vote, voted.view) == (kind, view):
            found.append(event.at_us // 1_000)

    Cluster(load_scenario("calm", SLOW_DISK), 0, factories=factories, hooks=RunHooks(on_event=look)).run()
    return found[0]


def crash_and_isolate(at_ms, factories):
    """Crash the victim, bring it back alone long enough for its timers to fire, and judge the run."""
    faults = (
        f'faults.stop={{kind="crash", validator={VICTIM}, at_ms={at_ms}, restart_ms={at_ms + 500}}}',
        f'faults.alone={{kind="partition", groups=[[{VICTIM}], [0, 1, 3]], start_ms={at_ms}, stop_ms={at_ms + 9_000}}}',
    )
    return result_of("calm", *SLOW_DISK, *faults, factories=factories)


def test_sending_before_syncing_is_caught_as_a_double_vote():
    """The victim forgets its finalize and nullifies the same view after its restart."""
    at_ms = time_of_vote(SEND_FIRST, "finalize", 3) + 20

    result = crash_and_isolate(at_ms, SEND_FIRST)

    check = check_named(result, "no-double-vote")
    assert (result.exit_code, check.status) == (1, "failed"), check.summary
    assert f"validator {VICTIM}" in check.summary
    assert dict(check.evidence)["view"] == 3


@pytest.mark.parametrize("kind", third_of(["notarize", "finalize"]))
@pytest.mark.parametrize("offset_ms", rest_in_soak([-310, -150, -1, 1, 20, 150, 310], [1]))
def test_a_restarted_validator_never_contradicts_an_earlier_vote(kind, offset_ms):
    """Crashed before, during and after each sync around a vote, and then left alone with its timers."""
    at_ms = time_of_vote({}, kind, 3) + offset_ms

    result = crash_and_isolate(at_ms, {})

    assert check_named(result, "no-double-vote").status == "passed"
    assert result.exit_code == 0, result.headline


def crash_after_send_and_isolate(at_ms, factories):
    """Crash the victim when the first message of its vote has left, and leave it alone with its timers afterwards."""
    stop_ms, whole_ms = at_ms + 2, at_ms + 9_000
    edge = f'validator={VICTIM}, boundary="after-send", start_ms={at_ms}, stop_ms={stop_ms}, restart_after_ms=500'
    alone = f"groups=[[{VICTIM}], [0, 1, 3]], start_ms={stop_ms}, stop_ms={whole_ms}"
    faults = (
        f'faults.stop={{kind="crash-at-boundary", {edge}}}',
        f'faults.alone={{kind="partition", {alone}}}',
        'requires=["stop"]',
    )
    return result_of("calm", *SLOW_DISK, *faults, factories=factories)


@pytest.mark.soak
def test_a_crash_after_the_first_message_exposes_sending_before_syncing():
    """A crash at a boundary shows the fault: one validator has the vote, and its sender has forgotten it."""
    result = crash_after_send_and_isolate(time_of_vote(SEND_FIRST, "finalize", 3), SEND_FIRST)

    check = check_named(result, "no-double-vote")
    assert (result.exit_code, check.status) == (1, "failed"), check.summary


@pytest.mark.soak
def test_a_crash_after_sending_a_durable_vote_contradicts_nothing():
    """The same crash, append and sync before the send."""
    result = crash_after_send_and_isolate(time_of_vote({}, "finalize", 3), {})

    assert check_named(result, "no-double-vote").status == "passed"
    assert result.exit_code == 0, result.headline
