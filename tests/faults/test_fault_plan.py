"""Fault plans as data: what is refused, and which links a partition cuts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults import PlanError, check_plan, kind_of
from faults.injection.links import crossing_links
from faults.kinds.base import windows_ms
from tests.support.fault_plans import RULE, SPAN, plan_of
from validators.messages import MESSAGE_KINDS

ONE_OF_EACH = {
    "split": {"kind": "partition", "groups": [[0, 1], [2, 3]], **SPAN},
    "deaf": {"kind": "cut", "links": [[0, 1], [2, 1]], **SPAN},
    "random": {"kind": "partitions", "every_ms": 2, "length_ms": 3, "in_flight": "lost", **SPAN},
    "flap": {"kind": "flapping", "groups": [[0], [1, 2, 3]], "cut_ms": 1, "open_ms": 2, **SPAN},
    "leader": {"kind": "isolate-leader", **SPAN},
    "bad": {"kind": "links", "stop_ms": 5, "loss_ppm": 1000},
    "mute": {"kind": "rule", "action": "drop", "kinds": ["Notarize"], "stop_ms": 5},
    "stop": {"kind": "crash", "validator": 3, "at_ms": 1, "restart_ms": 9},
    "dark": {"kind": "blackout", "validators": [0, 1, 2, 3], "at_ms": 10, "restart_ms": 20},
    "asleep": {"kind": "pause", "validator": 2, **SPAN},
    "tired": {"kind": "slow", "validator": 2, "factor": 3, **SPAN},
    "edge": {
        "kind": "crash-at-boundary",
        "validator": 1,
        "boundary": "after-send",
        "restart_after_ms": 2,
        **SPAN,
    },
    "wiped": {"kind": "wipe", "validator": 3, "at_ms": 30, "restart_ms": 40},
    "rot": {"kind": "bit-rot", "validator": 3, "ppm": 10, "files": ["journal", "blocks"], **SPAN},
    "stale": {"kind": "stale-read", "validator": 3, "ppm": 10, **SPAN},
    "astray": {"kind": "misdirected-write", "validator": 3, "ppm": 10, **SPAN},
    "failing": {"kind": "io-error", "validator": 0, "sync_ppm": 10, "read_ppm": 5, **SPAN},
    "full": {"kind": "disk-full", "validator": 0, "spare_bytes": 100, **SPAN},
    "worn": {"kind": "slow-disk", "validator": 0, "factor": 2, "extra_ms": 5, **SPAN},
    "torn": {"kind": "torn-writes", "validators": [0, 1, 2, 3], **SPAN},
    "ahead": {"kind": "clock-offset", "validators": [0], "offset_ms": 4_096, **SPAN},
    "fast": {"kind": "clock-drift", "validators": [1], "ppm": -20_000, **SPAN},
    "uneven": {"kind": "clock-swing", "validators": [2], "ppm": 50_000, "period_ms": 3_000, **SPAN},
    "jumping": {"kind": "clock-strobe", "validators": [3], "offset_ms": -70, "period_ms": 20, **SPAN},
}


def test_a_plan_that_can_be_meant_is_accepted():
    """One of each kind, at different times; kinds are called as in scenario files."""
    plan = plan_of(**ONE_OF_EACH)

    check_plan(plan, 4, engine="simplex")

    assert [kind_of(fault) for fault in plan.values()] == [fault["kind"] for fault in ONE_OF_EACH.values()]


@pytest.mark.parametrize(
    ("fault", "place"),
    [
        ({"kind": "cut", "links": [[0, 1], [0, 1]], "start_ms": 1, "stop_ms": 5}, "faults.it.links: the link"),
        ({"kind": "links", "stop_ms": 5, "loss_ppm": 1, "between": [[0, 1], [1, 0]]}, "faults.it.between: the link"),
        (
            {"kind": "flapping", "groups": [[0], [1]], "start_ms": 1, "stop_ms": 5, "cut_ms": 9, "open_ms": 1},
            "faults.it.cut_ms",
        ),
        (
            {"kind": "rule", "action": "hold", "to": [1], "first_to": [2], "first_ms": 3, "start_ms": 1, "stop_ms": 5},
            "faults.it.first_to",
        ),
        ({"kind": "partition", "groups": [[0], [4]], "start_ms": 1, "stop_ms": 5}, "faults.it: unknown validator 4"),
        ({"kind": "partition", "groups": [[0], [1]], "start_ms": 5, "stop_ms": 5}, "faults.it.stop_ms"),
        ({"kind": "partition", "groups": [[0, 1]], "start_ms": 1, "stop_ms": 5}, "faults.it.groups"),
        ({"kind": "partition", "groups": [[0], [0]], "start_ms": 1, "stop_ms": 5}, "faults.it.groups"),
        ({"kind": "crash", "validator": 9, "at_ms": 1, "restart_ms": 5}, "faults.it: unknown validator 9"),
        ({"kind": "crash", "validator": 1, "at_ms": 5, "restart_ms": 1}, "faults.it.restart_ms"),
        ({"kind": "links", "stop_ms": 5, "between": [[2, 2]]}, "faults.it.between"),
        ({"kind": "links", "stop_ms": 5, "between": [[0, 4]], "loss_ppm": 1}, "faults.it: unknown validator 4"),
        ({"kind": "links", "stop_ms": 5}, "faults.it.kind: changes nothing"),
        ({"kind": "links", "stop_ms": 5, "loss_ppm": 1, "jitter_ms": 3}, "faults.it.jitter_ms: needs latency_ms"),
        ({"kind": "links", "stop_ms": 5, "reorder_ppm": 9}, "faults.it.reorder_ppm"),
        ({"kind": "cut", "links": [], **SPAN}, "faults.it.links: names no link"),
        ({"kind": "cut", "links": [[1, 1]], **SPAN}, "faults.it.links: validator 1 has no link to itself"),
        ({"kind": "cut", "links": [[1, 4]], **SPAN}, "faults.it: unknown validator 4"),
        ({"kind": "flapping", "groups": [[0]], "cut_ms": 1, "open_ms": 1, **SPAN}, "faults.it.groups"),
        ({"kind": "isolate-leader", "cut_ms": 5, **SPAN}, "faults.it.open_ms: cut_ms and open_ms go together"),
        ({"kind": "pause", "validator": 4, **SPAN}, "faults.it: unknown validator 4"),
        ({"kind": "torn-writes", "validators": [], **SPAN}, "faults.it.validators: names no validator"),
        ({"kind": "bit-rot", "validator": 0, "ppm": 0, **SPAN}, "faults.it.ppm: changes nothing"),
        (
            {"kind": "io-error", "validator": 0, **SPAN},
            "faults.it.kind: changes nothing; give at least one of read_ppm",
        ),
        (
            {"kind": "io-error", "validator": 0, "sync_ppm": 9, "files": ["blocks"], **SPAN},
            "faults.it.files: a sync is of all files",
        ),
        (
            {"kind": "io-error", "validator": 0, "sync_ppm": 9, "writes": ["append"], **SPAN},
            "faults.it.writes: no write fails: give write_ppm",
        ),
        (
            {"kind": "io-error", "validator": 0, "write_ppm": 9, "writes": ["append", "append"], **SPAN},
            "faults.it.writes: append is named twice",
        ),
        ({"kind": "slow-disk", "validator": 0, **SPAN}, "faults.it.factor: changes nothing"),
        ({"kind": "wipe", "validator": 0, "at_ms": 5, "restart_ms": 5}, "faults.it.restart_ms"),
        ({**ONE_OF_EACH["edge"], "every": 2, "occurrence": 3}, "faults.it.every: occurrence and every exclude"),
        ({"kind": "slow", "validator": 0, "factor": 2, "start_ms": 5, "stop_ms": 5}, "faults.it.stop_ms"),
        ({**RULE, "kinds": ["Vote"]}, "faults.it.kinds: no message is called"),
        ({**RULE, "views": [[3, 2]]}, "faults.it.views: a range is"),
        ({**RULE, "kinds": ["TransactionGossip"], "heights": [[1, 2]]}, "faults.it.heights: messages called"),
        ({**RULE, "from": [1, 1]}, "faults.it.from: validator 1 is named twice"),
        ({**RULE, "from": [2], "to": [2]}, "faults.it.to: no link leads"),
        ({**RULE, "to": [9]}, "faults.it: unknown validator 9"),
        ({**RULE, "delay_ms": 5}, "faults.it.delay_ms"),
        ({**RULE, "action": "delay"}, "faults.it.delay_ms"),
        ({**RULE, "action": "drop", "release_ms": 60}, "faults.it.release_ms: only the actions hold"),
        ({**RULE, "release_ms": 40}, "faults.it.release_ms: must not be before stop_ms, which is 50"),
        ({**RULE, "first_to": [1]}, "faults.it.first_ms: first_ms and first_to go together"),
        ({**RULE, "first_to": [1], "first_ms": 50}, "faults.it.first_ms: must lie between start_ms 10 and"),
    ],
)
def test_an_impossible_fault_is_refused_with_its_place(fault, place):
    """The error names the key and the value."""
    with pytest.raises(PlanError, match=place.replace(".", r"\.")):
        check_plan(plan_of(it=fault), 4, engine="simplex")


def test_a_validator_cannot_lose_its_power_while_it_has_none():
    """Overlapping outages of one validator are refused; a disabled one does not count."""
    crash = {"kind": "crash", "validator": 1, "at_ms": 5, "restart_ms": 20}
    dark = {"kind": "blackout", "validators": [1, 2], "at_ms": 10, "restart_ms": 30}

    with pytest.raises(PlanError, match=r"faults\.dark.*down until 20"):
        check_plan(plan_of(crash=crash, dark=dark), 4, engine="simplex")
    check_plan(plan_of(crash={**crash, "enabled": False}, dark=dark), 4, engine="simplex")


@given(groups=st.lists(st.integers(0, 3), min_size=1, max_size=7))
def test_a_partition_cuts_exactly_the_links_between_groups(groups):
    """Both directions, and nothing inside a group."""
    members = [[node for node, group in enumerate(groups) if group == index] for index in range(4)]

    cut = crossing_links([group for group in members if group], len(groups))

    expected = [
        (source, destination)
        for source in range(len(groups))
        for destination in range(len(groups))
        if groups[source] != groups[destination]
    ]
    assert list(cut) == expected


def test_a_validator_in_no_group_is_alone():
    """A validator that is not named is cut off from all others."""
    assert crossing_links([[0], [1]], 3) == ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))


def test_a_validator_is_paused_only_while_it_has_power():
    """And slowed down by one fault at a time."""
    crash = {"kind": "crash", "validator": 1, "at_ms": 5, "restart_ms": 20}
    pause = {"kind": "pause", "validator": 1, "start_ms": 15, "stop_ms": 30}
    slow = {"kind": "slow", "validator": 1, "factor": 2, "start_ms": 5, "stop_ms": 20}

    with pytest.raises(PlanError, match=r"faults\.pause: validator 1 is down until 20 by faults\.crash; start later"):
        check_plan(plan_of(crash=crash, pause=pause), 4, engine="simplex")
    with pytest.raises(PlanError, match=r"faults\.crash: validator 1 is paused until 30"):
        check_plan(plan_of(pause=pause, crash={**crash, "at_ms": 25, "restart_ms": 40}), 4, engine="simplex")
    with pytest.raises(PlanError, match=r"faults\.b: validator 1 is slow until 20 by faults\.a"):
        check_plan(plan_of(a=slow, b={**slow, "start_ms": 10}), 4, engine="simplex")
    check_plan(plan_of(crash=crash, slow=slow, pause={**pause, "start_ms": 21}), 4, engine="simplex")


def test_after_a_blackout_in_waves_each_validator_is_back_at_its_time():
    """The first one may fail again before the last one is back."""
    dark = {"kind": "blackout", "validators": [2, 0], "at_ms": 5, "restart_ms": 20, "restart_every_ms": 30}
    crash = {"kind": "crash", "validator": 2, "at_ms": 25, "restart_ms": 40}
    plan = plan_of(dark=dark, crash=crash)

    check_plan(plan, 4, engine="simplex")

    assert list(plan["dark"].restarts_ms()) == [(2, 20), (0, 50)]
    assert plan["dark"].span() == (5, 50)
    with pytest.raises(PlanError, match="validator 0 is down until 50"):
        check_plan(plan_of(dark=dark, crash={**crash, "validator": 0}), 4, engine="simplex")


def test_a_cut_that_comes_and_goes_ends_with_its_fault():
    """The last window is shortened; without a pause in between there is one window."""
    assert list(windows_ms(10, 37, 5, 7)) == [(10, 15), (22, 27), (34, 37)]
    assert list(windows_ms(10, 37, 0, 0)) == [(10, 37)]


def test_a_rule_watches_the_links_between_those_it_names():
    """An end of the link that the rule leaves open matches any validator."""
    plan = plan_of(some={**RULE, "from": [0, 1], "to": [1, 2]}, to={**RULE, "to": [1]}, all=RULE)

    assert plan["some"].links(3) == ((0, 1), (0, 2), (1, 2))
    assert plan["to"].links(3) == ((0, 1), (2, 1))
    assert len(plan["all"].links(3)) == 6


def test_a_rule_that_holds_lasts_until_its_release():
    """Only then is nothing of it left."""
    plan = plan_of(hold={**RULE, "release_ms": 70}, plain=RULE, drop={**RULE, "action": "drop"})

    assert [fault.span() for fault in plan.values()] == [(10, 70), (10, 50), (10, 50)]


def test_rules_name_messages_as_the_wire_does():
    """Every kind that a validator sends can be named."""
    check_plan(plan_of(it={**RULE, "kinds": list(MESSAGE_KINDS)}), 4, engine="simplex")


EXPLAINED = {
    "split": "From 0.001 s to 0.005 s all links between {0, 1} and {2, 3} are cut.",
    "deaf": "From 0.001 s to 0.005 s everything sent on 0->1, 2->1 is lost, that direction only.",
    "flap": (
        "From 0.001 s to 0.005 s all links between {0} and {1, 2, 3} are cut for 0.001 s, then whole for 0.002 s, and "
        "again."
    ),
    "random": (
        "From 0.001 s to 0.005 s all links between two drawn sides are cut at random times, for 0.003 s on average, "
        "0.002 s apart on average, and what is on its way at the start is lost."
    ),
    "leader": "From 0.001 s to 0.005 s the leader of the current view is cut off from all others.",
    "bad": "From 0 s to 0.005 s all links lose 0.1 % of messages.",
    "mute": "From 0 s to 0.005 s Notarize messages from anybody to anybody are dropped.",
    "stop": (
        "At 0.001 s validator 3 loses its power and whatever it had not synced; at 0.009 s it restarts from its disk."
    ),
    "dark": "At 0.01 s validators 0, 1, 2 and 3 lose their power at once; at 0.02 s they restart from their disks.",
    "asleep": (
        "From 0.001 s to 0.005 s validator 2 is paused: all its events are held back and delivered at the end, while "
        "its clock goes on."
    ),
    "tired": "From 0.001 s to 0.005 s all work of validator 2 takes 3 times as long.",
    "edge": (
        "From 0.001 s to 0.005 s validator 1 loses its power when the first message of a vote has left and no "
        "other, once, and restarts from its disk 0.002 s later."
    ),
    "wiped": (
        "At 0.03 s validator 3 loses its power and its disk; at 0.04 s it starts on an empty one, and may never vote "
        "again in this epoch."
    ),
    "rot": (
        "From 0.001 s to 0.005 s on the disk of validator 3 under journal and blocks 0.001 % of the sectors that are "
        "read have a bit flipped from then on."
    ),
    "stale": (
        "From 0.001 s to 0.005 s on the disk of validator 3 0.001 % of the sectors that are read show what an earlier "
        "sync left there, from then on."
    ),
    "astray": (
        "From 0.001 s to 0.005 s on the disk of validator 3 0.001 % of the writes land in another place and destroy "
        "what stood there."
    ),
    "failing": (
        "From 0.001 s to 0.005 s 0.0005 % of reads and 0.001 % of syncs on the disk of validator 0 fail; if it stops, "
        "it is restarted at the end."
    ),
    "full": (
        "From 0.001 s to 0.005 s the disk of validator 0 takes 100 more bytes; if it stops, it is restarted at the end."
    ),
    "worn": "From 0.001 s to 0.005 s each sync of validator 0 takes 2 times as long and 0.005 s more.",
    "torn": (
        "From 0.001 s to 0.005 s a crash of validators 0, 1, 2 and 3 leaves a part of what was not synced on the disk."
    ),
    "ahead": "From 0.001 s to 0.005 s the wall clock of validator 0 is 4.096 s ahead; at the end it is set right.",
    "fast": (
        "From 0.001 s to 0.005 s the clocks of validator 1 run 2 % too slow, and its timers with them; at the end they "
        "are set right."
    ),
    "uneven": (
        "From 0.001 s to 0.005 s the clocks of validator 2 run 5 % too fast for 1.5 s, then 5 % too slow for 1.5 "
        "s, and again, and its timers with them; at the end they are set right."
    ),
    "jumping": (
        "From 0.001 s to 0.005 s the wall clock of validator 3 is 0.07 s behind in the first half of every 0.02 s, "
        "and right in the other; at the end it is set right."
    ),
}


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_fault_is_explained_in_one_sentence(name):
    """The sentence has the kind, the target, the start and the end."""
    assert plan_of(**ONE_OF_EACH)[name].describe() == EXPLAINED[name]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (
            {**RULE, "first_to": [1], "first_ms": 20},
            "released in their order at 0.05 s, to validator 1 already at 0.02 s.",
        ),
        (
            {**RULE, "action": "delay", "delay_ms": 7, "views": [[3, 3], [5, 8]]},
            "about view 3 and 5 to 8 arrive 0.007 s",
        ),
        (
            {**RULE, "heights": [[3, 4]], "from": [1, 2]},
            "from validators 1 and 2 to anybody about height 3 to 4 are held",
        ),
        (
            {"kind": "links", "stop_ms": 5, "between": [[0, 1]], "latency_ms": 90, "duplicate_ppm": 12_500},
            "the links 0-1 take 90 ms, give or take 0 ms and duplicate 1.25 % of messages.",
        ),
        (
            {"kind": "blackout", "validators": [3, 1], "at_ms": 5, "restart_ms": 9, "restart_every_ms": 2_000},
            "from 0.009 s on they restart in this order, 2 s apart.",
        ),
        (
            {**ONE_OF_EACH["ahead"], "validators": [0, 2]},
            "the wall clocks of validators 0 and 2 are 4.096 s ahead; at the end they are set right.",
        ),
        ({**ONE_OF_EACH["fast"], "validators": [1, 2]}, "validators 1 and 2 run 2 % too slow, and their timers"),
        ({**ONE_OF_EACH["edge"], "every": 3}, "once in every 3 times"),
        ({**ONE_OF_EACH["edge"], "occurrence": 3, "boundary": "after-sync"}, "what it sends on it, at time number 3"),
        ({**ONE_OF_EACH["full"], "spare_bytes": 0}, "takes nothing more"),
        (
            {"kind": "isolate-leader", "cut_ms": 1, "open_ms": 1, **SPAN},
            "for 0.001 s, then free for 0.001 s, and again.",
        ),
        (
            {"kind": "byzantine", "behaviour": "private-branch", "validator": 3, **SPAN},
            "builds a branch in secret, and publishes it with each of its blocks.",
        ),
    ],
)
def test_what_a_fault_may_say_besides_is_explained_as_well(fault, expected):
    """Ranges, releases, rhythms."""
    assert expected in plan_of(it=fault)["it"].describe()


def disk_fault(kind, validator, **changes):
    span = {"at_ms": 1, "restart_ms": 5} if kind == "wipe" else {**SPAN, "ppm": 10}
    return {"kind": kind, "validator": validator, **span, **changes}


@pytest.mark.parametrize("kind", ["bit-rot", "stale-read", "misdirected-write", "wipe"])
@pytest.mark.parametrize(("validators", "allowed"), [(3, 0), (4, 1), (7, 2)])
def test_a_plan_that_could_destroy_the_last_good_copy_is_refused(kind, validators, allowed):
    """At most f validators lose synced data over the whole plan, be it at different times or of different kinds."""
    faults = {f"n{node}": disk_fault(kind, node) for node in range(allowed)}
    check_plan(plan_of(**faults), validators, engine="simplex")
    faults["again"] = disk_fault("bit-rot", 0, start_ms=20, stop_ms=30, enabled=allowed > 0)
    faults["beside"] = {"kind": "torn-writes", "validators": [0, 1, 2], **SPAN}
    check_plan(plan_of(**faults), validators, engine="simplex")
    faults["last"] = disk_fault(kind, allowed)

    with pytest.raises(PlanError, match=f"last good copy: of {validators} validators at most {allowed} may") as refusal:
        check_plan(plan_of(**faults), validators, engine="simplex")
    assert refusal.value.place == "faults.last.validator"


def test_a_validator_due_to_crash_at_a_boundary_is_not_crashed_otherwise():
    """Nor while it is on its way back."""
    edge = {**ONE_OF_EACH["edge"], "restart_after_ms": 100}
    crash = {"kind": "crash", "validator": 1, "at_ms": 90, "restart_ms": 200}

    with pytest.raises(PlanError, match=r"validator 1 is down until 105 by faults.edge; start later"):
        check_plan(plan_of(edge=edge, stop=crash), 4, engine="simplex")
