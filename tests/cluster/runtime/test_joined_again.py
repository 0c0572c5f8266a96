"""A validator that joins from snapshots in two lives: a later start goes on from the newest one.

The two places for snapshots take turns, and the number of each says which is newer. So it shows with a third one that a
start reads the number of the second, and does not count from nought.
"""

import pytest

from tests.support.cluster_runs import result_of

AWAY = 'kind="partition", groups=[[3], [0, 1, 2]]'
SPANS = {"first": (2_500, 6_500), "second": (8_000, 12_000), "third": (16_000, 20_000)}
ABSENCES = [f"{name}={{{AWAY}, start_ms={start}, stop_ms={stop}}}" for name, (start, stop) in SPANS.items()]
RESTARTS = [f'at-{at}={{kind="crash", validator=3, at_ms={at}, restart_ms={at + 600}}}' for at in (14_000, 22_500)]
LOST = 'lost={kind="rule", action="drop", kinds=["BlockResponse"], to=[3], start_ms=1_000, stop_ms=40_000}'
SETTINGS = (
    f"faults={{{', '.join((*ABSENCES, *RESTARTS, LOST))}}}",
    "sync.snapshot_gap_blocks=2",
    "run.until_height=26",
    "run.time_limit_ms=120_000",
)


@pytest.mark.soak
def test_a_start_after_joins_in_two_lives_goes_on_from_the_last():
    result = result_of("calm", *SETTINGS)

    assert (result.verdict, result.figures["snapshots_joined"]) == ("passed", 3)
