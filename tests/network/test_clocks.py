"""Clocks of machines: what they show, which timers they move, and how a cluster lives with wrong ones."""

from functools import partial
from itertools import count, pairwise

import msgspec
import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from faults import PlanError, all_over_ms, check_plan
from faults.events import ClockSet
from faults.kinds.registry import decode_fault
from network.clock import TRUE, ClockSetting, MachineClock
from network.events import TimerElapsed, events_of_type, read_event
from network.port import Port, TimerDue
from network.types import SUPERVISOR, EventKind
from tests.support.cluster_runs import check_named, result_of
from tests.support.network_harness import build_rig, record_inbound
from validators.events import BlockFinalized, Entered

SECOND_US = 1_000_000


def clock_of(**setting):
    """Return a clock that goes by a setting from second 10 on."""
    clock = MachineClock()
    clock.set(10 * SECOND_US, ClockSetting(**setting))
    return clock


# -- one clock ---------------------------------------------------------------------------------


def test_a_clock_that_is_right_shows_virtual_time_and_counts_nothing():
    clock = MachineClock()

    assert (clock.wall_us(123_456_789), clock.lasting_us(5_000), clock.wrong) == (123_456_789, 5_000, 0)


def test_an_offset_moves_the_wall_clock_and_no_timer():
    clock = clock_of(offset_us=-15 * SECOND_US)

    assert clock.wall_us(12 * SECOND_US) == -3 * SECOND_US
    assert clock.lasting_us(2_000) == 2_000


@pytest.mark.parametrize(("ppm", "shown_us", "lasting_us"), [(500_000, 16_000_000, 667), (-200_000, 13_200_000, 1_250)])
def test_drift_moves_the_wall_clock_and_the_timers(ppm, shown_us, lasting_us):
    """A clock half as fast again shows six seconds after four, and measures a millisecond in two thirds of one."""
    clock = clock_of(ppm=ppm)

    assert (clock.wall_us(14 * SECOND_US), clock.lasting_us(1_000)) == (shown_us, lasting_us)


def test_a_strobe_shows_its_offset_in_the_first_half_of_each_period():
    clock = clock_of(strobe_us=7, strobe_period_us=100)

    leads = [clock.wall_us(10 * SECOND_US + at_us) - 10 * SECOND_US - at_us for at_us in (0, 49, 50, 99, 100, 150)]
    assert leads == [7, 7, 0, 0, 7, 0]


def test_a_rate_that_turns_goes_on_from_what_the_clock_shows():
    clock = clock_of(ppm=100_000)
    clock.set(12 * SECOND_US, ClockSetting(offset_us=None, ppm=-100_000))

    assert clock.wall_us(12 * SECOND_US) == 12_200_000
    assert clock.wall_us(14 * SECOND_US) == 14 * SECOND_US


def test_a_clock_that_is_set_right_is_right_whatever_it_showed():
    clock = clock_of(ppm=100_000, offset_us=5)
    clock.set(20 * SECOND_US, TRUE)

    assert (clock.wall_us(21 * SECOND_US), clock.lasting_us(3)) == (21 * SECOND_US, 3)


def test_what_came_out_wrong_is_counted():
    """Readings by a millisecond, and timers of any length."""
    clock = clock_of(offset_us=999)
    clock.wall_us(11 * SECOND_US)
    assert clock.wrong == 0

    clock.set(11 * SECOND_US, ClockSetting(offset_us=1_000, ppm=1))
    clock.wall_us(11 * SECOND_US)
    clock.lasting_us(10)
    clock.lasting_us(0)
    assert clock.wrong == 2


def test_an_alarm_that_a_strobe_puts_off_is_counted():
    """Back by 7 ms in the first half of each 10: what is due at 12 ms goes off at 15, when the clock shows 15."""
    clock = MachineClock()
    clock.set(0, ClockSetting(strobe_us=-7_000, strobe_period_us=10_000))

    assert (clock.alarm_us(11_000, 12_000), clock.wall_us(15_000), clock.wrong) == (15_000, 15_000, 1)
    assert (clock.alarm_us(16_000, 17_000), clock.wrong) == (17_000, 1)


# -- a port --------------------------------------------------------------------------------------


def fired_with(settings):
    """Arm a timer of 9 ms at 0, set the clock at the given times, and return when the timer fires."""
    rig = build_rig()
    clock, record = MachineClock(), []
    port = Port(rig.kernel, rig.bus, rig.trace.chain(0), 0, incarnation=0, clock=clock)

    def turn(setting):
        ppm_before = clock.ppm
        clock.set(rig.kernel.now_us, setting)
        port.retime(ppm_before)

    for ordinal, (at_us, setting) in enumerate(settings):
        rig.kernel.post(at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, ordinal, turn, setting)
    port.set_timer("tick", 9_000)
    rig.run(partial(record_inbound, rig, port, record))
    assert [inbound for _, inbound in record] == [TimerDue("tick")]
    return record[0][0]


def test_a_step_of_the_wall_clock_moves_no_timer():
    assert fired_with([(1_000, ClockSetting(offset_us=-(10**9)))]) == 9_000


def test_a_rate_holds_for_what_is_left_of_a_timer():
    """3 ms at the right pace; then 6 ms are left, of which a clock twice as fast measures 2 in 1, and the rest in 4."""
    assert fired_with([(3_000, ClockSetting(ppm=1_000_000))]) == 6_000
    assert fired_with([(3_000, ClockSetting(ppm=1_000_000)), (4_000, TRUE)]) == 8_000


def test_a_timer_that_is_due_stays_where_it_is():
    assert fired_with([(9_000, ClockSetting(ppm=-900_000))]) == 9_000


# -- alarms --------------------------------------------------------------------------------------

WALLS = [
    ClockSetting(),
    ClockSetting(offset_us=-15_000),
    ClockSetting(offset_us=15_000),
    ClockSetting(ppm=500_000),
    ClockSetting(offset_us=700, ppm=-900_000),
    ClockSetting(strobe_us=7_000, strobe_period_us=10_000),
    ClockSetting(strobe_us=-7_000, strobe_period_us=10_000),
    ClockSetting(offset_us=333, ppm=-300_001, strobe_us=2_500, strobe_period_us=3_000),
]


@pytest.mark.parametrize("setting", WALLS, ids=range(len(WALLS)))
def test_an_alarm_goes_off_when_the_clock_first_shows_its_time(setting):
    clock = MachineClock()
    clock.set(1_000, setting)
    for now_us in (1_000, 4_999, 6_000, 20_001):
        for wall_us in (-20_000, 999, 6_003, 12_345, 30_000):
            found_us = clock.reaching_us(now_us, wall_us)
            shown = (at_us for at_us in count(now_us) if at_us + clock.shown_lead_us(at_us) >= wall_us)
            assert found_us == next(shown), (now_us, wall_us)


def sounded_with(settings, at_wall_us=9_000, clock=None):
    """Arm an alarm at 0, set the clock at the given times, and return when the alarm goes off."""
    rig = build_rig()
    clock, record = clock or MachineClock(), []
    port = Port(rig.kernel, rig.bus, rig.trace.chain(0), 0, incarnation=0, clock=clock)

    def turn(setting):
        clock.set(rig.kernel.now_us, setting)
        port.reset_alarms()

    for ordinal, (at_us, setting) in enumerate(settings):
        rig.kernel.post(at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, ordinal, turn, setting)
    port.set_alarm("slot", at_wall_us)
    rig.run(partial(record_inbound, rig, port, record))
    assert [inbound for _, inbound in record] == [TimerDue("slot")]
    return record[0][0]


def test_every_fault_of_clocks_moves_an_alarm():
    assert sounded_with([]) == 9_000
    assert sounded_with([(1_000, ClockSetting(offset_us=5_000))]) == 4_000
    assert sounded_with([(1_000, ClockSetting(offset_us=-5_000))]) == 14_000
    assert sounded_with([(1_000, ClockSetting(offset_us=10**9))]) == 1_000
    assert sounded_with([(1_000, ClockSetting(ppm=1_000_000))]) == 5_000
    assert sounded_with([(1_000, ClockSetting(ppm=1_000_000)), (2_000, TRUE)]) == 9_000
    assert sounded_with([(1_000, ClockSetting(strobe_us=5_000, strobe_period_us=4_000))]) == 5_000


def test_an_alarm_of_a_time_that_has_passed_goes_off_at_once():
    assert sounded_with([], at_wall_us=-5) == 0


def test_a_cut_machine_hears_no_alarm():
    rig = build_rig()
    record = []
    port = Port(rig.kernel, rig.bus, rig.trace.chain(0), 0, incarnation=0)
    port.set_alarm("slot", 9_000)
    rig.kernel.post(8_000, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 0, port.revoke)
    rig.run(partial(record_inbound, rig, port, record))

    assert record == []


# -- a cluster -----------------------------------------------------------------------------------


def run_with(*settings, seed=0):
    """Run the calm scenario with faults; return (final headers, events)."""
    events, headers = [], {}
    hooks = RunHooks(
        on_event=events.append, on_applied=lambda _, executed: headers.setdefault(executed.header.height, executed)
    )
    run = Cluster(load_scenario("calm", settings), seed, hooks=hooks).run()
    assert run.outcome.reason == "stopped"
    return [executed.header for executed in headers.values()], events


def offset(validators, offset_ms, stop_ms=14_000):
    nodes = list(validators)
    fault = f'kind="clock-offset", validators={nodes}, offset_ms={offset_ms}, start_ms=4_000, stop_ms={stop_ms}'
    return f"faults.it={{{fault}}}"


@pytest.mark.soak
def test_a_leader_that_is_ahead_of_all_others_is_not_followed():
    """Its blocks are not notarized, and the chain's time stays the true one."""
    headers, _ = run_with(offset([1], 600))

    during = [header for header in headers if 4_000 < header.timestamp_ms < 14_000]
    assert {header.proposer for header in during} == {0, 2, 3}
    assert 1 in {header.proposer for header in headers}


def test_a_leader_within_the_skew_is_followed():
    """Its clock reaches the chain by the header of its blocks: they say more than was shown when they became final."""
    headers, events = run_with(offset([1], 450))

    final_ms = {body.height: event.at_us // 1_000 for event, body in events_of_type(reversed(events), BlockFinalized)}
    ahead = [header.proposer for header in headers if header.timestamp_ms > final_ms[header.height]]
    assert len(ahead) >= 2
    assert set(ahead) == {1}


@pytest.mark.soak
def test_a_leader_that_is_behind_drags_the_time_and_loses_no_view():
    """It proposes a millisecond after the parent, a block interval after it was asked; others take true time."""
    headers, _ = run_with(offset([1], -60_000))

    during = [pair for pair in pairwise(headers) if 4_000 < pair[1].timestamp_ms < 14_000]
    gaps_ms = [after.timestamp_ms - before.timestamp_ms for before, after in during if after.proposer == 1]
    assert gaps_ms
    assert set(gaps_ms) == {1}
    assert {after.view - before.view for before, after in during} == {1}


@pytest.mark.soak
def test_a_quorum_behind_the_chain_waits_until_its_clocks_are_right():
    """The chain's last block is beyond what their clocks let pass."""
    headers, events = run_with(offset(range(4), -60_000))

    final_us = [event.at_us for event in events if event.kind == "finalized"]
    assert [at_us for at_us in final_us if 4_500_000 < at_us < 14_000_000] == []
    assert [header for header in headers if header.timestamp_ms > 14_000]


@pytest.mark.soak
def test_a_chain_ahead_of_true_time_waits_for_it_and_does_not_run_away():
    """A quorum's clocks were half a minute ahead until 14 s: nothing is final before true time is there."""
    headers, events = run_with(offset([0, 1, 3], 30_000))

    furthest_ms = max(header.timestamp_ms for header in headers if header.timestamp_ms < 44_000)
    (healed_us,) = [event.at_us for event in events if event.kind == "healed"]
    waiting = [
        event
        for event in events
        if event.kind == "finalized" and 15_000_000 < event.at_us < (furthest_ms - 500) * 1_000
    ]
    assert 40_000 < furthest_ms < 44_000
    assert waiting == []
    assert healed_us == 44_000_000
    assert len([header for header in headers if header.timestamp_ms > furthest_ms]) >= 2


@pytest.mark.soak
def test_wrong_clocks_of_machines_outlive_a_crash():
    crash = 'faults.off={kind="crash", validator=1, at_ms=6_000, restart_ms=7_000}'
    headers, _ = run_with(offset([1], 100_000), crash)

    assert 1 not in {header.proposer for header in headers if 7_500 < header.timestamp_ms < 14_000}


def test_a_fast_clock_makes_timeouts_come_early():
    """Validator 2 gives the view of a leader that is gone up four times as early as the others."""
    drift = 'faults.it={kind="clock-drift", validators=[2], ppm=3_000_000, start_ms=1_000, stop_ms=14_000}'
    crash = 'faults.off={kind="crash", validator=0, at_ms=5_500, restart_ms=9_500}'
    _, events = run_with(drift, crash)

    entered, waited_us = {}, {}
    for event in events:
        begun, elapsed = read_event(event, Entered), read_event(event, TimerElapsed)
        if begun is not None and begun.leader == 0 and 5_000_000 < event.at_us < 5_500_000:
            entered[event.node, begun.view] = event.at_us
        if elapsed is not None and tuple(elapsed.key[:2]) == ("consensus", "leader"):
            since_us = entered.get((event.node, elapsed.key[2]))
            if since_us is not None:
                waited_us.setdefault(event.node, event.at_us - since_us)
    assert waited_us == {1: 2_000_000, 2: 500_000, 3: 2_000_000}


@pytest.mark.soak
def test_a_rate_that_changes_moves_the_timers_that_are_armed():
    """Transactions are offered again every two seconds; of the second wait half is left when the clock runs double."""
    drift = 'faults.it={kind="clock-drift", validators=[2], ppm=1_000_000, start_ms=3_000, stop_ms=5_000}'
    _, events = run_with(drift)

    fired_us = [
        event.at_us for event, body in events_of_type(events, TimerElapsed) if (event.node, body.key) == (2, "regossip")
    ]
    assert fired_us[:5] == [2_000_000, 3_500_000, 4_500_000, 6_000_000, 8_000_000]


@pytest.mark.soak
def test_a_swing_turns_round_in_the_middle_of_each_period():
    swing = (
        'faults.it={kind="clock-swing", validators=[2], ppm=-50_000, period_ms=2_000, start_ms=3_000, stop_ms=5_500}'
    )
    _, events = run_with(swing)

    reported = [
        (event.at_us // 1_000, body.machine, body.offset_us, body.ppm, body.strobe_us)
        for event, body in events_of_type(events, ClockSet)
    ]
    assert reported == [
        (3_000, 2, 0, -50_000, 0),
        (4_000, 2, None, 50_000, 0),
        (5_000, 2, None, -50_000, 0),
        (5_500, 2, 0, 0, 0),
    ]


def test_a_run_without_wrong_clocks_tells_nothing_of_clocks():
    _, events = run_with(offset([1], 600).replace("kind=", "enabled=false, kind="))

    assert {event.kind for event in events} & {"clock", "uncertified"} == set()


@pytest.mark.soak
def test_whatever_the_clocks_the_state_is_a_function_of_the_blocks():
    """A process without any of these clocks comes from the same blocks to the same roots; the oracle agrees."""
    fault = (
        '{kind="clock-strobe", validators=[0, 1, 2], offset_ms=16_000, period_ms=900, start_ms=3_000, stop_ms=9_000}'
    )
    result = result_of("calm", f"faults.it={fault}", 'requires=["it"]', "run.until_height=10")

    assert result.verdict == "passed", result.headline
    assert dict(check_named(result, "block-times").evidence)["furthest_ms"] > 10_000
    for name in ("cold-replay", "equal-roots", "oracle", "faults-effective"):
        assert check_named(result, name).status == "passed"


# -- what a plan may say -------------------------------------------------------------------------

OFFSET = {"kind": "clock-offset", "validators": [1], "offset_ms": 5, "start_ms": 1, "stop_ms": 9}
SWING = {"kind": "clock-swing", "validators": [1], "ppm": 5, "period_ms": 100, "start_ms": 1, "stop_ms": 9}


@pytest.mark.parametrize(
    ("fault", "place"),
    [
        ({**OFFSET, "offset_ms": 0}, "faults.it.offset_ms"),
        ({**OFFSET, "validators": []}, "faults.it.validators"),
        ({**OFFSET, "validators": [1, 1]}, "faults.it.validators"),
        ({**OFFSET, "stop_ms": 1}, "faults.it.stop_ms"),
        ({**SWING, "ppm": 0}, "faults.it.ppm"),
    ],
)
def test_a_fault_of_clocks_that_cannot_be_meant_is_refused_with_its_key(fault, place):
    with pytest.raises(PlanError) as refusal:
        check_plan({"it": decode_fault(fault)}, 4, engine="simplex")

    assert refusal.value.place == place


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({**OFFSET, "offset_ms": 86_400_001}, "<= 86400000"),
        ({**SWING, "ppm": 900_001}, "<= 900000"),
        ({**SWING, "period_ms": 99}, ">= 100"),
        ({**OFFSET, "kind": "clock-strobe", "period_ms": 0}, ">= 1"),
        ({"kind": "clock-drift", "validators": [1], "ppm": -900_001, "start_ms": 1, "stop_ms": 9}, ">= -900000"),
    ],
)
def test_what_no_clock_does_is_refused(fault, reason):
    with pytest.raises(msgspec.ValidationError, match=reason):
        decode_fault(fault)


def test_one_fault_at_a_time_has_a_validators_clocks():
    plan = {"one": decode_fault(OFFSET), "other": decode_fault({**SWING, "start_ms": 5})}

    with pytest.raises(PlanError, match=r"validator 1 is wrong in time until 9 by faults.one; start later"):
        check_plan(plan, 4, engine="simplex")


# -- when all is over --------------------------------------------------------------------------------


def clocks(*faults):
    span = {"start_ms": 1_000, "stop_ms": 5_000}
    return [decode_fault({**span, **fault}) for fault in faults]


def ahead(*validators, offset_ms=60_000, **changes):
    return {"kind": "clock-offset", "validators": list(validators), "offset_ms": offset_ms, **changes}


@pytest.mark.parametrize(
    ("faults", "again_ms"),
    [
        ([], 0),
        ([ahead(0, 1)], 5_000),
        ([ahead(0, 1, 2)], 65_000),
        ([ahead(0, 1, 2, enabled=False)], 0),
        ([ahead(0, 1, 2, offset_ms=-60_000)], 5_000),
        ([ahead(0, 1, 2), ahead(3, offset_ms=90_000)], 65_000),
        ([ahead(0, 1, 4)], 5_000),
        ([ahead(0, 1), ahead(2, start_ms=5_000, stop_ms=6_000)], 6_000),
        ([{"kind": "clock-drift", "validators": [0, 1, 2], "ppm": 500_000}], 7_000),
        ([{"kind": "clock-swing", "validators": [0, 1, 2], "ppm": 500_000, "period_ms": 1_000}], 5_250),
        ([{"kind": "clock-swing", "validators": [0, 1, 2], "ppm": -500_000, "period_ms": 1_000}], 5_000),
        ([{"kind": "clock-strobe", "validators": [0, 1, 2], "offset_ms": 700, "period_ms": 10}], 5_700),
    ],
)
def test_all_is_over_when_true_time_is_where_a_quorums_clocks_have_been(faults, again_ms):
    """Of four validators three are a quorum, observers do not count; the chain is ahead by the third greatest clock."""
    assert all_over_ms(dict(enumerate(clocks(*faults))), 4) == again_ms


def test_a_vote_that_can_be_bought_counts_for_any_time():
    span = {"start_ms": 1_000, "stop_ms": 6_000}
    tampering = {"kind": "byzantine", "validator": 3, "behaviour": "skew-timestamps", **span}
    plan = {name: decode_fault(fault) for name, fault in (("it", clocks(ahead(0, 1))[0]), ("lie", tampering))}

    assert all_over_ms(plan, 4) == 65_000
    assert all_over_ms({"lie": plan["lie"]}, 4) == 6_000


def test_a_scenario_whose_chain_would_wait_beyond_its_end_is_refused():
    with pytest.raises(ScenarioError, match="true time is there at 614000, not before"):
        load_scenario("calm", [offset([0, 1, 2], 600_000)])


def test_an_alarm_that_comes_late_by_a_wrong_clock_is_counted():
    """Though every reading is right: the strobe shows the truth from 16 ms on."""
    strobe = ClockSetting(strobe_us=-7_000, strobe_period_us=10_000)
    wrong, right = MachineClock(), MachineClock()

    assert sounded_with([(1_000, strobe)], 12_000, wrong) == 16_000
    assert sounded_with([(1_000, TRUE)], 12_000, right) == 12_000
    assert (wrong.wrong > 0, right.wrong) == (True, 0)
