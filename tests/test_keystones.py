"""The runs of `make test` are of every kind, and leave the others to the soak."""

import re

from checker.record.root import PROJECT_ROOT
from cluster.scenario.load import load_scenario, scenario_paths
from cluster.scenario.sections.replicas import Observer
from cluster.scenario.shape import kinds_of, tag_of
from cluster.workloads.registry import WORKLOADS
from faults import kind_of
from faults.kinds.registry import FAULTS
from scheduler.policies import POLICIES
from tests.support.keystones import KEYSTONES, rest_in_soak
from validators.consensus.registry import ENGINES

COMMAND = re.compile(r"run_cluster\.py (?!study )(?:[a-z]+ )?([a-z][\w-]+)")


def test_keystones_are_of_every_kind_of_policy_engine_fault_and_mode():
    scenarios = [load_scenario(name) for name in KEYSTONES]
    policies = {scenario.chain.policy for scenario in scenarios}
    engines = {scenario.consensus.engine for scenario in scenarios}
    faults = {kind_of(fault) for scenario in scenarios for fault in scenario.faults.values()}
    workloads = {kind_of(client) for scenario in scenarios for client in scenario.workload.values()}
    modes = {tag_of(type(observer)) for scenario in scenarios for observer in scenario.observers.values()}

    assert [name for name in POLICIES if name not in policies] == []
    assert [name for name in ENGINES if name not in engines] == []
    # The tests of upgrades run `replace`, which needs an application.
    assert [kind_of(kind) for kind in FAULTS.built_in if kind_of(kind) not in faults] == ["replace"]
    # The swarm alone has scripts by chance, and the kinds of transactions of an application need one.
    elsewhere = ["random-scripts", "application", "lines"]
    assert [kind_of(kind) for kind in WORKLOADS.built_in if kind_of(kind) not in workloads] == elsewhere
    assert [tag_of(kind) for kind in kinds_of(Observer) if tag_of(kind) not in modes] == []


def test_keystones_have_each_scenario_that_a_command_of_a_page_names():
    pages = [PROJECT_ROOT / "README.md", *(PROJECT_ROOT / "docs").rglob("*.md")]
    typed = {name for page in pages for name in COMMAND.findall(page.read_text(encoding="utf-8"))}
    named = [path.stem for path in scenario_paths() if path.stem in typed]

    assert len(named) > 3
    assert [name for name in named if name not in KEYSTONES] == []


def test_a_name_that_is_not_kept_is_marked_for_the_soak():
    cases = rest_in_soak(["calm", ("lossy", 1)], ["calm"])

    assert [(case.values, [mark.name for mark in case.marks]) for case in cases] == [
        (("calm",), []),
        (("lossy", 1), ["soak"]),
    ]
