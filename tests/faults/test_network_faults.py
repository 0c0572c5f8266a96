"""Clogs, torn and jammed partitions, storms and throttles on a whole cluster: what each does and leaves alone."""

import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.verdict.determinism import repeat_in_fresh_process
from faults.events import Crashed, Restarted
from network.events import Delivered, Dropped, HeldBack, Lost, Sent, events_of_type
from tests.support.fault_runs import count_of, run_with

HALVES = 'kind="partition", groups=[[0, 1], [2, 3]], start_ms=3_060, stop_ms=6_000'
BETWEEN_HALVES = {(first, second) for first in range(4) for second in range(4) if (first < 2) != (second < 2)}


def links_of(events, expected):
    """Return the links of sent messages, from a type of event that names the destination."""
    return {(event.node, body.destination) for event, body in events_of_type(events, expected)}


def test_a_jammed_partition_loses_nothing_and_delivers_all_at_its_end():
    run, events = run_with(f'{{{HALVES}, manner="held"}}')

    held = [event for event in events if event.kind == "hold"]
    assert [event for event in events if event.kind == "drop"] == []
    assert links_of(events, HeldBack) == BETWEEN_HALVES
    assert {event.at_us for event in events if event.kind == "release"} == {6_000_000}
    assert count_of(run) == len(held) == sum(event.kind == "release" for event in events)


def test_a_slowed_partition_loses_nothing_and_lets_messages_come_later():
    run, events = run_with(f'{{{HALVES}, manner="delayed", delay_ms=300}}')

    sent = {(event.node, body.destination, body.ordinal): event.at_us for event, body in events_of_type(events, Sent)}
    late_us = [
        event.at_us - sent[body.source, event.node, body.ordinal]
        for event, body in events_of_type(events, Delivered)
        if 3_400_000 < event.at_us < 6_000_000 and (event.node < 2) != (body.source < 2)
    ]
    assert [event for event in events if event.kind == "drop"] == []
    assert min(late_us) > 300_000
    assert count_of(run) > 0


@pytest.mark.soak
def test_a_torn_partition_loses_what_is_on_its_way():
    """A hundred milliseconds of messages between the halves, which a cut alone would let arrive."""
    latency = "network.latency_ms=100"
    torn, events = run_with(f'{{{HALVES}, in_flight="lost"}}', latency)
    cut, plain = run_with(f"{{{HALVES}}}", latency)

    lost = list(events_of_type(events, Lost))
    assert len(lost) > 0
    assert all((event.node, body.source) in BETWEEN_HALVES for event, body in lost)
    assert all(event.at_us < 3_300_000 for event, _ in lost)
    assert [event for event in plain if event.kind == "lost"] == []
    assert count_of(torn) == len(lost) + sum(event.kind == "drop" for event in events)
    assert count_of(cut) == sum(event.kind == "drop" for event in plain)


def test_a_one_way_partition_cuts_from_earlier_groups_to_later_ones():
    _, events = run_with(f"{{{HALVES}, one_way=true}}")

    assert links_of(events, Dropped) == {(first, second) for first, second in BETWEEN_HALVES if first < 2}


def test_a_clog_of_a_channel_holds_its_messages_only():
    _, events = run_with('{kind="clog", validators=[3], way="in", channels=["votes"], start_ms=3_000, stop_ms=5_000}')

    sends = {(event.node, body.destination, body.ordinal): body.label for event, body in events_of_type(events, Sent)}
    held = [sends[event.node, body.destination, body.ordinal] for event, body in events_of_type(events, HeldBack)]
    assert {body.destination for _, body in events_of_type(events, HeldBack)} == {3}
    assert set(held) <= {"Notarize", "Nullify", "Finalize"}
    assert len(held) > 0


def test_parts_of_a_swizzle_clog_are_counted_together():
    run, events = run_with('{kind="swizzle-clog", pairs=1, start_ms=2_000, stop_ms=9_000}')

    holders = {body.condition for _, body in events_of_type(events, HeldBack)}
    assert len(holders) == 3
    assert all(holder.startswith("it@") for holder in holders)
    # One that passes from one clog to the next is touched by both.
    assert count_of(run) >= sum(event.kind == "hold" for event in events) > 0


def test_a_restart_storm_restarts_everybody_and_counts_each_return():
    run, events = run_with(
        '{kind="restart-storm", every_ms=[400, 900], down_ms=[100, 1_200], start_ms=2_000, stop_ms=9_000}'
    )

    crashed = [body.machine for _, body in events_of_type(events, Crashed)]
    restarted = [body.machine for _, body in events_of_type(events, Restarted)]
    assert sorted(crashed) == sorted(restarted)
    assert set(crashed) == {0, 1, 2, 3}
    assert count_of(run) == len(restarted) > 7


def test_those_who_crash_together_do_so_in_one_instant_and_return_in_one():
    run, events = run_with(
        '{kind="crash-at-boundary", validator=1, also=[2, 3], boundary="after-sync", occurrence=9, '
        "restart_after_ms=700, start_ms=3_000, stop_ms=9_000}"
    )

    crashes = list(events_of_type(events, Crashed))
    restarts = list(events_of_type(events, Restarted))
    assert sorted(body.machine for _, body in crashes) == sorted(body.machine for _, body in restarts) == [1, 2, 3]
    assert len({event.at_us for event, _ in crashes}) == len({event.at_us for event, _ in restarts}) == 1
    assert count_of(run) == 3


def test_a_throttled_validator_acts_in_its_share_of_the_time_only():
    _, events = run_with(
        '{kind="pause", validator=1, also=[2], pause_ms=150, run_ms=50, start_ms=3_000, stop_ms=7_000}'
    )

    sends = [event for event in events if event.kind == "send" and 3_000_000 < event.at_us < 7_000_000]
    places_ms = [(event.at_us - 3_000_000) // 1_000 % 200 for event in sends if event.node in {1, 2}]
    others_ms = [(event.at_us - 3_000_000) // 1_000 % 200 for event in sends if event.node in {0, 3}]
    assert min(places_ms) >= 150
    assert min(others_ms) < 150


def test_regions_of_a_blackout_stand_for_those_who_are_there():
    """The resolved scenario names them: that is what a run directory keeps."""
    regions = 'network.regions=["london", "tokyo", "london", "madrid"]'
    fault = 'faults.it={kind="blackout", validators=[1], regions=["london"], at_ms=3_000, restart_ms=5_000}'
    dark = load_scenario("calm", (regions, fault)).faults["it"]

    assert (dark.validators, dark.regions) == ((1, 0, 2), ())


@pytest.mark.parametrize("validators", ["", "validators=[], "])
def test_a_blackout_that_names_nobody_hits_all_validators(validators):
    hit = 'faults.it={kind="blackout", %sat_ms=3_000, restart_ms=5_000}'
    named, unnamed = (load_scenario("followers", (hit % each,)) for each in ("validators=[0, 1, 2, 3], ", validators))

    assert encode_scenario(unnamed) == encode_scenario(named)


@pytest.mark.parametrize(
    ("regions", "known"),
    [("[]", "network.regions has none"), ('["osaka", "osaka", "tokyo", "osaka"]', "network.regions has osaka, tokyo")],
)
def test_a_region_in_which_nobody_is_is_refused(regions, known):
    fault = 'faults.it={kind="blackout", regions=["london"], at_ms=3_000, restart_ms=5_000}'

    with pytest.raises(ScenarioError, match=rf"faults\.it\.regions: no validator is in london; {known}"):
        load_scenario("calm", (f"network.regions={regions}", fault))


@pytest.mark.soak
def test_runs_under_these_faults_are_deterministic():
    """The same events in another process, under another hash seed and another order of trio's tasks."""
    narrow = "bytes_per_second=9_000, queue_max=3, burst_ppm=100_000, burst_ms=200, duplicate_ppm=300_000"
    faults = [
        f'narrow={{kind="links", stop_ms=9_000, {narrow}}}',
        'swizzle={kind="swizzle-clog", pairs=3, start_ms=1_000, stop_ms=5_000}',
        'echo={kind="rule", action="replay", start_ms=1_000, stop_ms=3_000, release_ms=6_000}',
        f'torn={{{HALVES}, in_flight="lost"}}',
        'storm={kind="restart-storm", every_ms=[300, 900], down_ms=[100, 900], start_ms=6_100, stop_ms=8_000}',
    ]
    scenario = load_scenario("calm", ("run.until_height=9", *[f"faults.{fault}" for fault in faults]))

    log = repeat_in_fresh_process(encode_scenario(scenario), 3, hash_seed=77, shuffle=5)

    assert log == bytes(Cluster(scenario, 3).run().trace.log)


@pytest.mark.soak
def test_votes_held_in_one_instant_are_released_alike_in_any_task_order():
    """A run of which no second was like the first; the validators of an instant have no order of their own."""
    scenario = load_scenario("held-in-one-instant")
    events = []
    run = Cluster(scenario, 0, hooks=RunHooks(on_event=events.append)).run()
    held = [(event.at_us, body.destination) for event, body in events_of_type(events, HeldBack)]

    logs = [repeat_in_fresh_process(encode_scenario(scenario), 0, hash_seed=7, shuffle=shuffle) for shuffle in (1, 2)]

    assert max(held.count(place) for place in dict.fromkeys(held)) >= 4, "of one instant and for one receiver"
    assert [log == bytes(run.trace.log) for log in logs] == [True, True]


def test_links_that_are_worse_one_way_leave_the_direction_back_alone():
    one_way = '{kind="links", between=[[0, 1], [2, 1]], one_way=true, loss_ppm=1_000_000, stop_ms=6_000}'
    run, events = run_with(one_way)

    assert links_of(events, Dropped) == {(0, 1), (2, 1)}
    assert count_of(run) == len(list(events_of_type(events, Dropped)))
    assert run.scenario.faults["it"].sentence() == "From 0 s to 6 s the links 0->1, 2->1 lose 100 % of messages."
