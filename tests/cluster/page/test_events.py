"""The events of a log as columns: what is kept, what is thinned, and that this is said."""

from cluster.page import events
from cluster.page.events import DENSITY_COLUMNS, SUPERVISOR, Collector, read_log
from faults.events import Crashed, FaultEdge, Restarted
from network.events import Delivered, Dropped, Event, Sent
from report.page.rows import LOST, MARKED, MESSAGE_KINDS, NO_BLOCK, NO_TIME
from validators.events import BlockFinalized, BlockRolledBack, Entered


def collected(*found, sent=0, end_us=1_000, **marked):
    collector = Collector(2, end_us, sent, {b"b" * 32: 4}, **marked)
    return read_log([Event(at_us, node, body) for at_us, node, body in found], collector), collector


def log_of(*found, sent=0):
    return collected(*found, sent=sent)[0]


def test_a_mark_has_its_view_height_block_and_words():
    marks = log_of((5, 1, BlockFinalized(3, 9, b"b" * 32, b"r" * 32)), (6, 0, Entered(10, 1))).marks.arrays

    assert {name: list(values) for name, values in marks.items()} == {
        "at": [5, 6],
        "node": [1, 0],
        "kind": [0, 1],
        "view": [9, 10],
        "height": [3, -1],
        "block": [4, NO_BLOCK],
        "words": [0, 1],
    }


def test_a_fault_is_at_work_between_its_edges_or_to_the_end():
    log, collector = collected(
        (10, -1, FaultEdge("split", "start")),
        (40, -1, FaultEdge("split", "stop")),
        (50, -1, FaultEdge("clog", "start")),
    )

    assert collector.windows == {"split": [(10, 40)], "clog": [(50, 1_000)]}
    assert list(log.marks.arrays["node"]) == [SUPERVISOR] * 3


def test_a_machine_is_down_from_its_crash_to_its_restart():
    log = log_of((10, -1, Crashed(1, 7)), (30, -1, Restarted(1)), (60, -1, Crashed(0, 0)))

    assert log.lives == ((1, 10, 30), (0, 60, 1_000))


def test_a_message_arrives_or_is_lost():
    log = log_of(
        (1, 0, Sent(1, 0, "Vote", 9, b"c")),
        (2, 0, Sent(1, 1, "Vote", 9, b"c")),
        (3, 0, Dropped(1, 1, "cut", "split")),
        (8, 1, Delivered(0, 0, "Vote", 9, b"c")),
        sent=2,
    )

    assert list(log.messages.arrays["arrives"]) == [8, NO_TIME]
    assert list(log.messages.arrays["fate"]) == [0, LOST]


def test_of_too_many_messages_none_that_was_lost_is_left_out(monkeypatch):
    monkeypatch.setattr(events, "MESSAGES_MAX", 4)
    sends = [(index, 0, Sent(1, index, "Vote", 9, b"c")) for index in range(40)]
    log = log_of(*sends, (50, 0, Dropped(1, 0, "cut", "split")), sent=40)

    assert log.messages.note == "Of 40 messages every 10th is drawn, and all of those that were lost."
    assert list(log.messages.arrays["fate"]) == [0, 0, 0, 0, LOST]


def test_a_marked_message_stays_and_has_its_events_in_the_list(monkeypatch):
    """However many messages there are, and however many events."""
    monkeypatch.setattr(events, "MESSAGES_MAX", 4)
    monkeypatch.setattr(events, "MARKS_MAX", 10)
    sends = [(index, 0, Sent(1, index, "Vote", 9, b"c")) for index in range(40)]
    ends = [(50, 1, Delivered(0, 3, "Vote", 9, b"c")), (51, 0, Dropped(1, 7, "cut", "split"))]
    others = [(60, 0, BlockRolledBack(3, b"b" * 32)) for _ in range(30)]
    log, _ = collected(*sends, *ends, *others, sent=40, marked={(0, 1, 3): "late", (0, 1, 7): "gone"})

    messages, marks = log.messages.arrays, log.marks.arrays
    assert [(at, fate) for at, fate in zip(messages["at"], messages["fate"], strict=True) if fate] == [
        (3, MARKED),
        (7, MARKED | LOST),
    ]
    told = [(log.kinds[kind], log.titles[words]) for kind, words in zip(marks["kind"], marks["words"], strict=True)]
    assert told[:4] == [
        ("send", "marked message: late"),
        ("send", "marked message: gone"),
        ("deliver", "marked message from 0 to 1"),
        ("drop", "marked message from 0 to 1: cut split"),
    ]
    assert len(told) < 4 + len(others)
    assert {log.kinds[kind] for kind in marks["kind"][:4]} < set(MESSAGE_KINDS)


def test_of_too_many_marks_every_kth_view_stays_and_all_rare_ones(monkeypatch):
    monkeypatch.setattr(events, "MARKS_MAX", 10)
    found = [(view, 0, Entered(view, 1)) for view in range(30)]
    log = log_of(*found, (31, 0, BlockRolledBack(3, b"b" * 32)))

    assert list(log.marks.arrays["view"]) == [0, 4, 8, 12, 16, 20, 24, 28, -1]
    assert "Of 31 events 9 are drawn one by one" in log.marks.note
    assert "every 4th view" in log.marks.note


def test_the_density_counts_what_is_left_out_too(monkeypatch):
    monkeypatch.setattr(events, "MARKS_MAX", 10)
    log = log_of(*((view, 0, Entered(view, 1)) for view in range(30)))

    assert sum(log.density[:DENSITY_COLUMNS]) == 30
