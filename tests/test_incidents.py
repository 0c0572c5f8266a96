"""Incidents: both sides of each end as its file states, and the ratio that it keeps is kept.

A few run here, and all others by `make soak`.
"""

import pytest

from cluster.incidents.incident import incident_files, load_incident
from cluster.incidents.sides import compare
from cluster.live.progress import LiveProgress
from tests.support.keystones import rest_in_soak

KEPT = ("n04-meter", "n08-late-hook", "n12-zero-cost", "n17-silent-rule", "n22-stale-rows")
"""The cheap ones, of different shapes: together under a minute of processor time."""


@pytest.mark.long
@pytest.mark.parametrize("name", rest_in_soak(incident_files(), KEPT))
def test_the_healthy_run_passes_and_the_planted_fault_is_found(name):
    found = compare(load_incident(name), runs=None, progress=lambda title: LiveProgress(title=title, is_quiet=True))
    healthy, planted = found.sides

    assert found.wrong == []
    assert (healthy.result.verdict, healthy.failed) == ("passed", ())
    assert planted.failed != ()
    assert found.is_kept or found.loaded.incident.scale.difference
