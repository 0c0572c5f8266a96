"""The workload of random scripts: one number has one set of them, and they do all that a script can do with timers."""

import msgspec
import pytest

from cluster.scenario.load import convert_scenario
from cluster.workloads.kinds.random_scripts import RandomScripts
from cluster.workloads.planned import sites_of
from scheduler import POLICIES
from validators.actors.script import Script
from validators.execution.blocks import decode_transaction

KINDS = {"schedule", "cancel", "extend", "pay", "put", "delete", "weigh", "compute", "fail", "send", "watch"}


def scenario_of(policy="eip1559", **keys):
    return convert_scenario(
        {
            "name": "scribbles",
            "title": "random scripts",
            "chain": {"policy": policy},
            "workload": {"scribbles": {"kind": "random-scripts", "scripts": 120, **keys}},
            "run": {"until_height": 3},
        },
        "random scripts",
    )


def submitted(**keys):
    ((site, workload),) = sites_of(scenario_of(**keys))
    return list(workload.transactions(site))


def steps_of(payload):
    """The steps of a script and of those within it, each by its name."""
    steps, _ = msgspec.msgpack.decode(payload)
    for step in steps:
        yield step[0]
        inner = step[3] if step[0] in {"schedule", "send"} else b""
        if inner:
            yield from steps_of(inner)


def test_a_number_has_the_same_scripts_and_another_one_others():
    assert submitted(number=3) == submitted(number=3)
    assert submitted(number=3) != submitted(number=4)


def test_every_script_is_one_that_the_program_reads():
    scripts = [decode_transaction(timed.encoded).call.payload for timed in submitted()]

    assert all(msgspec.msgpack.decode(script, type=Script).steps for script in scripts)


def test_they_take_every_step():
    scripts = [decode_transaction(timed.encoded).call.payload for timed in submitted()]

    assert {name for script in scripts for name in steps_of(script)} == KINDS


def test_no_script_is_longer_than_it_may_be():
    scripts = [decode_transaction(timed.encoded).call.payload for timed in submitted(steps=2)]

    assert {len(msgspec.msgpack.decode(script)[0]) for script in scripts} == {1, 2}


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_takes_them(policy):
    """The scenario is valid, and genesis has keepers, actors and agents."""
    ((site, workload),) = sites_of(scenario_of(policy))
    share = workload.genesis(site)

    assert len(share.accounts) == 3
    assert [actor.program for actor in share.actors] == ["script-actor"] * 7 + ["chaos-agent"] * 2


def test_a_smaller_one_has_the_first_of_its_scripts():
    halves = list(RandomScripts(scripts=5).narrower())

    assert [half.scripts for half in halves] == [2, 1]
    assert submitted(scripts=60) == submitted()[:60]
