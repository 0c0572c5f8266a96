"""The calls of an engine that differs from its specification stay in the record, and `explain` shows the last ones."""

import msgspec
import pytest

from checker.record.run_directory import ENGINE_CALLS, DamagedRecordError, RecordReader, read_engine_calls
from cluster.inspect.explain_run import explain_record
from tests.support.cluster_runs import result_of

SHORT = ("run.until_height=3", "mutants.waits-for-ever=[2]")


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    directory = result_of("calm", *SHORT, runs=tmp_path_factory.mktemp("runs")).directory
    reader = RecordReader(directory)
    reader.read_all()
    return reader


def test_calls_are_kept_up_to_the_difference(reader):
    calls = list(reader.engine_calls())

    assert [(call.at_us, call.node, call.kind, call.values[:2]) for call in calls] == [
        (0, 2, "Replayed", (1, 1)),
        (0, 2, "Stepped", (1, 2)),
    ]
    assert calls[1].values[2:] == (["Started"], [["Entered", 1, 1], ["SetTimer", "activity", 1, 3_000_000]])


def test_an_explanation_ends_with_the_last_calls(reader):
    explanation, difference = explain_record(reader)

    assert difference is None
    assert explanation.seen[-1] == (
        "call 2 at 0.000 ms: Stepped(Started(), [Entered(1, 1), SetTimer(activity, 1, 3000000)])"
    )


def test_a_run_that_passed_has_none(tmp_path):
    directory = result_of("calm", "run.until_height=3", runs=tmp_path).directory

    assert not (directory / ENGINE_CALLS).exists()
    assert list(RecordReader(directory).engine_calls()) == []


@pytest.mark.parametrize("record", [[0, 0], [0, "x", "Stepped"], {"a": 1}, [0, 0, "Stepped", [[[[[1]]]]]]])
def test_other_records_are_refused_with_their_place(tmp_path, record):
    (tmp_path / ENGINE_CALLS).write_bytes(msgspec.msgpack.encode(record))

    with pytest.raises(DamagedRecordError, match=r"engine_calls\.msgpack at byte 0"):
        list(read_engine_calls(tmp_path))
