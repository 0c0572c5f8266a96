"""The garbage collector while a run is at work."""

import gc

import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from network.collector import RARE
from network.outcome import RunFailedError


def test_a_run_leaves_the_collector_as_it_was():
    """Also where it breaks."""
    seen = []

    def break_off(_event):
        seen.append(gc.get_threshold())
        raise ZeroDivisionError

    before = gc.get_threshold()
    with pytest.raises(RunFailedError):
        Cluster(load_scenario("calm"), 0, hooks=RunHooks(on_event=break_off)).run()

    assert seen[0] == RARE != before
    assert gc.get_threshold() == before
