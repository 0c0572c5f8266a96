"""Runs that only the audit of the test bed follows, without the other checks and without a cold replay."""

from checker.checks.audit.audit import Audit
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from cluster.verdict.facts import context_of
from network.events import EventRouter


def audit_of(scenario, seed=0):
    """Run a scenario and return the result of its audit."""
    return follow(Cluster(scenario, seed))


def audited(name, *settings):
    """Run a scenario of the project and return the result of its audit."""
    return audit_of(load_scenario(name, settings))


def follow(cluster, change=lambda event: [event]):
    """Run a cluster, show its log to the audit with some events changed, and return the result."""
    audit = Audit(context_of(cluster))
    assert not audit.not_asked()
    router = EventRouter(audit.handlers)
    cluster.hooks = RunHooks(on_event=lambda event: [router.route(each) for each in change(event)])
    cluster.run()
    return audit.finish()
