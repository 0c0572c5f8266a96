"""ShiViz logs: clocks that say what each replica could know, and the part around what differs."""

import json
import re

from cluster.exports.shiviz import lines_of, part_around, shown
from cluster.exports.window import first_difference_of_roots
from faults.events import DiskSynced
from network.events import Delivered, Event, Sent
from validators.events import BlockExecuted, Entered

CHECKSUM = b"12345678"


def executed(node, root):
    return Event(7, node, BlockExecuted(3, 4, b"digest", root, "speculative"))


def test_a_message_carries_the_clock_of_its_sender():
    events = [
        Event(1, 0, Entered(1, 0)),
        Event(2, 0, Sent(1, 7, "Vote", 9, CHECKSUM)),
        Event(3, 1, Entered(1, 0)),
        Event(4, 1, Delivered(0, 7, "Vote", 9, CHECKSUM)),
    ]

    pattern, blank, *lines = lines_of(events)

    read = [re.fullmatch(pattern.replace("?<", "?P<"), line) for line in lines]
    assert blank == ""
    assert [each["host"] for each in read] == ["replica-0", "replica-0", "replica-1", "replica-1"]
    assert json.loads(read[2]["clock"]) == {"replica-1": 1}
    assert json.loads(read[3]["clock"]) == {"replica-1": 2, "replica-0": 2}
    assert read[3]["event"] == "0.000004 s deliver 0 7 Vote 9 31323334"


def test_hosts_count_their_own_events_without_a_gap():
    lines = list(lines_of([Event(at, at % 2, Entered(at, 0)) for at in range(6)]))[2:]

    own = [json.loads(line[line.index("{") :])[line.split(" ")[0]] for line in lines]
    assert own == [1, 1, 2, 2, 3, 3]


def test_a_quote_in_an_event_ends_no_field():
    *_, line = lines_of([Event(1, 0, Sent(1, 7, 'a"b\n', 9, CHECKSUM))])

    assert line.count('"') == 4
    assert line.isprintable()


def test_the_part_lies_around_the_first_root_that_differs():
    events = [*(Event(at, 0, Entered(at, 0)) for at in range(40)), executed(0, b"a"), executed(1, b"b")]
    events += [Event(at, 0, Entered(at, 0)) for at in range(40, 80)]

    index = first_difference_of_roots(events)
    part = part_around(events, index, 6)

    assert (index, len(part), part[3]) == (41, 6, events[41])


def test_without_a_difference_the_part_is_the_end():
    events = [executed(0, b"a"), executed(1, b"a"), Event(9, 0, Entered(9, 0))]

    assert part_around(events, first_difference_of_roots(events), 2) == events[1:]


def test_what_a_machine_does_by_itself_is_left_out():
    assert list(shown([Event(1, 0, DiskSynced(5)), executed(0, b"a")])) == [executed(0, b"a")]
