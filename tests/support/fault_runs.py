"""Runs of a cluster with faults, and what each counted."""

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario


def run_with(fault, *settings, seed=0):
    """Run the calm scenario with one fault called `it`; return the run and its events."""
    events = []
    scenario = load_scenario("calm", (f"faults.it={fault}", *settings))
    run = Cluster(scenario, seed, hooks=RunHooks(on_event=events.append)).run()
    assert run.outcome.reason == "stopped"
    return run, events


def count_of(run):
    (effect,) = run.effects
    return effect.count
