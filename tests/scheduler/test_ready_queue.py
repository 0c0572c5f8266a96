"""The work of a block on the queue: it follows from what the block takes, and not from what waits."""

from itertools import islice

from scheduler import Quote, Timer, ready_queue
from scheduler.ready_queue import QueueRules

ACTOR = b"\x12" * 20
SLOTS, EACH, TAKEN = 200, 50, 100


def entry(number):
    return Timer(
        *(number.to_bytes(32, "big"), ACTOR, number % SLOTS, number, b"", "", ACTOR, 100, False, 0),
        Quote(100 + number % 7, 0),
    )


def test_f5_a_block_sorts_the_slots_that_it_takes_from_and_no_others(monkeypatch):
    """Of ten thousand entries that wait, two slots of fifty have their keys worked out, and each once."""
    made, key_order = [], ready_queue.key_order
    monkeypatch.setattr(ready_queue, "key_order", lambda timer: made.append(timer.due) or key_order(timer))
    queue = QueueRules().open_pool()
    for number in range(SLOTS * EACH):
        queue.add(entry(number))
    work = []
    for _ in range(3):
        for timer in list(islice(queue.in_turn(), TAKEN)):
            queue.discard(timer)
        work.append(len(made))

    assert work == [TAKEN, 2 * TAKEN, 3 * TAKEN]
    assert sorted(made) == sorted(due for due in range(6) for _ in range(EACH))
