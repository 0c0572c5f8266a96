"""The workloads `application` and `lines`: opaque bytes that are made before a run, each at its time."""

import pytest

from cluster.scenario.cost import estimate_cost
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.workloads import opaque
from cluster.workloads.opaque import read_lines
from cluster.workloads.planned import expected_workloads, genesis_shares, transactions_of
from cluster.workloads.submission import GenesisShare
from validators.mempool.pool import TransactionPool

PLAN = """
name = "theirs"
title = "somebody else's chain"
[application]
[workload.calls]
kind = "application"
count = 3
every_ms = 100
start_ms = 50
[workload.file]
kind = "lines"
path = "calls.hex"
every_ms = 100
"""

MADE = {"calls": (b"one", b"two", b"three"), "file": (b"four",)}


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "theirs.toml").write_text(PLAN)
    return str(tmp_path / "theirs.toml")


def test_what_was_made_is_submitted_at_its_times(plan):
    found = transactions_of(load_scenario(plan), MADE)

    assert [(each.at_us, each.encoded) for each in found] == [
        (0, b"four"),
        (50_000, b"one"),
        (150_000, b"two"),
        (250_000, b"three"),
    ]
    assert [each.workload for each in found] == ["file", "calls", "calls", "calls"]
    assert all(each.may_fail for each in found)


def test_their_digests_are_those_of_the_pool(plan):
    pool = TransactionPool(lambda _encoded: "")

    for each in transactions_of(load_scenario(plan), MADE):
        assert pool.read(each.encoded, 0).digest == each.digest


def test_without_anything_made_there_are_none(plan):
    """An application without the feature runs as well."""
    scenario = load_scenario(plan)

    assert transactions_of(scenario) == []
    assert [*genesis_shares(scenario)] == [GenesisShare()] * 2
    assert [*expected_workloads(scenario)] == []
    assert estimate_cost(scenario).transactions == 3


def test_one_that_may_not_be_idle_is_expected_to_arrive(plan):
    scenario = load_scenario(plan, ["workload.calls.may_be_idle=false"])
    (expected,) = expected_workloads(scenario, MADE)

    made = [each.digest for each in transactions_of(scenario, MADE) if each.workload == "calls"]
    assert (expected.name, list(expected.uncertain)) == ("calls", made)


@pytest.mark.parametrize("setting", ["workload.calls.count=0", "workload.calls.count=100_001"])
def test_a_count_out_of_range_is_refused(plan, setting):
    with pytest.raises(ScenarioError, match=r"workload\.calls\.count: Expected `int` [<>]= 1"):
        load_scenario(plan, [setting])


class TestReadLines:
    @pytest.fixture
    def lines(self, tmp_path):
        def write(content):
            (tmp_path / "calls.hex").write_bytes(content)
            return tmp_path / "calls.hex"

        return write

    def test_the_path_is_of_the_scenarios_folder(self, plan, lines):
        path = lines(b"00ff\r\n\n  CAFE\n")
        stated = load_scenario(plan).workload["file"].path

        assert stated == str(path)
        assert read_lines(path) == (b"\x00\xff", b"\xca\xfe")

    @pytest.mark.parametrize("line", [b"0", b"0g", b"00 11", b"\xff", b"0x00"])
    def test_a_bad_line_is_named_by_its_number(self, lines, line):
        path = lines(b"00\n\n" + line + b"\n11\n")

        with pytest.raises(ScenarioError, match=r"calls\.hex line 3: expected whole bytes in hexadecimal, got .*"):
            read_lines(path)

    def test_too_many_or_too_long_lines_are_refused(self, lines, monkeypatch):
        monkeypatch.setattr(opaque, "TRANSACTIONS_MAX", 2)
        monkeypatch.setattr(opaque, "TRANSACTION_BYTES_MAX", 2)

        assert len(read_lines(lines(b"0000\n1111\n"))) == 2
        with pytest.raises(ScenarioError, match="has 3 transactions, at most 2 are allowed"):
            read_lines(lines(b"00\n11\n22\n"))
        with pytest.raises(ScenarioError, match="line 2: the transaction has 3 bytes, at most 2 are allowed"):
            read_lines(lines(b"00\n112233\n"))

    def test_a_file_that_cannot_be_read_is_one_line(self, lines, tmp_path):
        for path, reason in (
            (tmp_path / "missing", "cannot be read: No such file or directory"),
            (tmp_path, "is a folder, and no plain file"),
            (lines(b"\n"), "has no transaction: each line is a transaction in hexadecimal"),
        ):
            with pytest.raises(ScenarioError) as refused:
                read_lines(path)
            assert str(refused.value) == f"{path}: {reason}"
