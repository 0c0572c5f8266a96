"""The settings that two runs differ in, as rows of their page."""

from cluster.page.compare import _settings

ONLY_HERE = {
    "faults.split.kind": ("partition", "none"),
    "faults.split.start_ms": ("4000", "none"),
    "faults.split.anchor": ("None", "none"),
}


def test_a_fault_that_one_run_has_is_one_row():
    assert list(_settings(ONLY_HERE)) == [("faults.split", "kind partition, start_ms 4000", "none")]


def test_a_fault_that_the_other_run_has_is_one_row():
    turned = {name: pair[::-1] for name, pair in ONLY_HERE.items()}

    assert list(_settings(turned)) == [("faults.split", "none", "kind partition, start_ms 4000")]


def test_keys_that_both_runs_have_are_rows_of_their_own():
    both = {"cluster.validators": ("4", "7"), "faults.split.start_ms": ("1", "2"), "faults.split.stop_ms": ("3", "4")}

    assert list(_settings(both)) == [(name, *pair) for name, pair in both.items()]
