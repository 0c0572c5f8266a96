"""Runs that went wrong, with their explanations."""

from cluster.inspect.explain_run import explain_run
from cluster.scenario.load import load_scenario

SHORT = ("run.until_height=4", "run.time_limit_ms=6_000")


def explained(name, *settings, factories=None, checks=()):
    return explain_run(load_scenario(name, settings), 0, checks, factories).explanation
