"""The wait of a leader for the block interval, which its clock must not make longer."""

from tests.support.cluster_runs import applied_blocks


def test_a_leader_whose_clock_is_behind_its_parents_time_keeps_its_views():
    """Its clock is 20 s behind, many times the leader's time-out: a wait for its parent's time would cost each view."""
    behind = 'faults.behind={kind="clock-offset", validators=[1], offset_ms=-20_000, start_ms=0, stop_ms=14_000}'
    _, applied = applied_blocks("calm", behind, "run.until_height=12", "run.time_limit_ms=15_000")
    headers = [executed.header for node, executed in applied if node == 0]

    assert [header.view for header in headers] == [header.height for header in headers]
    assert [header.height for header in headers if header.proposer == 1][:3] == [1, 5, 9]
