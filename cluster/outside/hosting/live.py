"""The application of a recorded run, asked again: `replay --live`."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cluster.outside.hosting.again import AskedAgain, SecondAnswer
from cluster.outside.hosting.builds import launches_of
from cluster.outside.hosting.calls import CallRecord
from cluster.scenario.sections.application import ApplicationSection


class LiveAnswers(NamedTuple):
    """The number of repeated requests, and by replica the first different answer."""

    requests: int
    differing: Mapping[int, SecondAnswer]


def ask_live(section: ApplicationSection, record: CallRecord) -> LiveAnswers:
    """Send all requests of a record's replicas to fresh processes.

    Args:
        section: The application, as the record has it.
        record: The calls.

    Raises:
        LaunchError: The application no longer exists, or cannot be started.
    """
    launches = launches_of(section)
    differing: dict[int, SecondAnswer] = {}
    requests = 0
    with tempfile.TemporaryDirectory(prefix="stampede-application-") as scratch:
        for node, steps in sorted(record.steps.items()):
            if node < 0:
                continue
            requests += sum(step.what == "call" for step in steps)
            place = Path(scratch) / str(node)
            place.mkdir()
            if (found := AskedAgain(launches, record.contents, place).find(steps)) is not None:
                differing[node] = found
    return LiveAnswers(requests, differing)
