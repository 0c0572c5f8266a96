"""The mailbox: calls that programs send each other, one queue over the whole chain, served at the end of a block.

Invariants: messages are delivered in the order in which they were sent, each exactly once. `head` and `tail` never
fall, and the state holds the messages between them. A message sent while the mailbox is served waits for the next
block. The sending call paid for the message's cycles and cells, so delivering moves no units.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from scheduler import (
    MAX_HANDLER_BYTES,
    MAX_PAYLOAD_BYTES,
    GasLimitTooHigh,
    HandlerTooLong,
    InvalidInput,
    PayloadTooLarge,
)
from validators.actors import CallResult, Frame, MessageSent, Meter, SendRequest, Status
from validators.actors.metering import CALL_CYCLES
from validators.execution.receipts import MessageDelivered
from validators.execution.schema import MAILBOX, MESSAGES, Mailbox, Message, message_key
from validators.execution.view import View

_NEVER_USED: Final = Mailbox(0, 0)

Deliver = Callable[[Frame, Meter, str, bytes], CallResult]
"""Calls a handler of the frame's actor with a payload."""


@dataclass(slots=True)
class MailboxResult:
    """The result of one block's mailbox: messages, cycles that their calls used, and the events in order."""

    delivered: int = 0
    reverted: int = 0
    cycles: int = 0
    events: list[msgspec.Struct] = field(default_factory=list)


class StateMailbox:
    """The mailbox of one block; `cycles_budget` is its limit for a block and for one message."""

    __slots__ = ("_cycles_budget", "_view")

    def __init__(self, view: View, cycles_budget: int) -> None:
        self._view = view
        self._cycles_budget = cycles_budget

    @property
    def waiting(self) -> int:
        """The number of waiting messages."""
        queue = self._queue()
        return queue.tail - queue.head

    @property
    def sent(self) -> int:
        """The number of messages ever sent."""
        return self._queue().tail

    def check(self, request: SendRequest) -> None:
        """Check a message before it is paid for.

        Raises:
            Rejected: PayloadTooLarge, HandlerTooLong, InvalidInput below the cost of a call, GasLimitTooHigh above the
                budget of a block: such a message would block the mailbox for ever.
        """
        if len(request.payload) > MAX_PAYLOAD_BYTES:
            raise PayloadTooLarge(len(request.payload), MAX_PAYLOAD_BYTES)
        handler_bytes = len(request.handler.encode("utf-8"))
        if handler_bytes > MAX_HANDLER_BYTES:
            raise HandlerTooLong(handler_bytes, MAX_HANDLER_BYTES)
        if request.cycles < CALL_CYCLES:
            raise InvalidInput("cycles", f"{request.cycles} do not pay for a call, which costs {CALL_CYCLES}")
        if request.cycles > self._cycles_budget:
            raise GasLimitTooHigh(request.cycles, self._cycles_budget)

    def send(self, request: SendRequest) -> MessageSent:
        """Append a message to the queue."""
        queue, frame = self._queue(), request.frame
        message = Message(frame.actor, request.actor, request.handler, request.payload, request.cycles, frame.origin)
        self._view.set(message_key(queue.tail), message)
        self._view.set(MAILBOX.key(), Mailbox(queue.head, queue.tail + 1))
        return MessageSent(queue.tail, frame.actor, request.actor, request.handler, request.cycles)

    def serve(self, deliver: Deliver) -> MailboxResult:
        """Deliver the messages waiting now, oldest first, until a message does not fit the rest of the budget."""
        # The tail is read once: messages sent by deliveries wait for the next block, or two actors could continue for
        # ever.
        result, last = MailboxResult(), self._queue().tail
        for sequence in range(self._queue().head, last):
            message = self._view.get(MESSAGES, message_key(sequence))
            assert message is not None, f"the mailbox has no message {sequence}"
            # By its limit, not by its use: whether it fits must be known before it runs.
            if message.cycles > self._cycles_budget - result.cycles:
                break
            # Removed before it is delivered: a failed delivery is not tried again.
            self._view.set(message_key(sequence), None)
            # The tail is read again each time: the call before may have sent messages.
            self._view.set(MAILBOX.key(), Mailbox(sequence + 1, self._queue().tail))
            frame = Frame(message.actor, message.sender, message.origin, 0, is_message=True)
            meter = Meter(message.cycles, message.cycles)
            called = deliver(frame, meter, message.handler, message.payload)
            is_ok = called.status is Status.OK
            result.delivered += 1
            result.reverted += not is_ok
            result.cycles += called.cycles
            result.events.extend(called.events)
            result.events.append(MessageDelivered(sequence, message.actor, is_ok, called.cycles, called.cells))
        return result

    def _queue(self) -> Mailbox:
        return self._view.get(MAILBOX, MAILBOX.key()) or _NEVER_USED
