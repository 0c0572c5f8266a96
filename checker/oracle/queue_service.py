"""The service of the queue: status, shutdown in batches, authorization numbers (docs/scheduled-transactions.md)."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from checker.oracle.queue import Queue
from checker.oracle.queue_records import ACTIVE, NUMBERS, PAUSED, SHUT_DOWN, SHUTTING_DOWN, STATUS

SERVICE: Final = 67
"""The kind of a call on the service; the other kind raises an authorization number."""

SHUTDOWN, NUMBER_RAISED, STATUS_CHANGED = 67, 68, 69
"""Tags of events."""

MOVES: Final[Mapping[str, tuple[int, str, int]]] = {
    "pause": (ACTIVE, "EINVALID_PAUSE_ATTEMPT", PAUSED),
    "unpause": (PAUSED, "EINVALID_UNPAUSE_ATTEMPT", ACTIVE),
    "start_shutdown": (ACTIVE, "EINVALID_SHUTDOWN_START", SHUTTING_DOWN),
    "continue_shutdown": (SHUTTING_DOWN, "EINVALID_SHUTDOWN_ATTEMPT", SHUT_DOWN),
    "re_initialize": (SHUT_DOWN, "ESHUTDOWN_IN_PROGRESS", ACTIVE),
}
"""For each action its required status, the error in any other status, and the next status."""


def serve(queue: Queue, call: list[Any]) -> list[list[object]] | str:
    """Carry out a call of an authorized sender; return the events, or the error."""
    if call[0] == SERVICE:
        return _act(queue, call[1], call[2])
    return _raise_number(queue, call[1])


def _act(queue: Queue, action: str, batch: int) -> list[list[object]] | str:
    if action not in MOVES:
        return "InvalidInput"
    needed, error, status = MOVES[action]
    if queue.status != needed:
        return error
    events = _shut_down(queue, batch) if action == "continue_shutdown" else []
    if action == "continue_shutdown" and queue.dues():
        return events
    queue.contents.own(STATUS).put(None, status)
    events.append([STATUS_CHANGED, status])
    if status in (SHUTTING_DOWN, SHUT_DOWN):
        events.append([SHUTDOWN, status == SHUT_DOWN])
    return events


def _shut_down(queue: Queue, batch: int) -> list[list[object]]:
    """Remove the first entries of the whole queue, and return their events."""
    most = queue.config.shutdown_batch
    events = []
    for timer in list(islice(queue.in_order(queue.dues()), min(batch, most) if batch else most)):
        queue.take_out(timer)
        events.append(queue.failed(timer, "Shutdown"))
    return events


def _raise_number(queue: Queue, actor: bytes) -> list[list[object]] | str:
    if queue.config.authorization != "token":
        return "InvalidInput"
    number = queue.number_of(actor)
    if not number:
        return "EAUTH_NUM_NOT_FOUND"
    queue.contents.own(NUMBERS).put(actor, number + 1)
    return [[NUMBER_RAISED, actor, number + 1]]
