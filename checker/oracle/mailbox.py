"""The mailbox of a block: waiting messages are delivered, oldest first, within its budget."""

from dataclasses import dataclass, field

from checker.oracle.calls import Call, Present
from checker.oracle.contents import Contents
from checker.oracle.gas import Gas
from checker.oracle.programs import OK, run_call

DELIVERED = 34
"""Tag of the event that the mailbox makes."""


@dataclass
class MailboxPhase:
    """One block's mailbox: its inputs, and the events, cycles and counts that delivery leaves."""

    contents: Contents
    present: Present
    events: list[list[object]] = field(default_factory=list)
    delivered: int = 0
    reverted: int = 0
    cycles: int = 0
    found: int = 0

    def run(self) -> None:
        """Deliver messages until a message does not fit; messages sent in the meantime wait."""
        self.found = len(self.contents.messages.rows)
        for sequence in sorted(self.contents.messages.rows):
            message = self.contents.messages.rows[sequence]
            if self.cycles + message.cycles > self.present.mailbox_cycles:
                return
            self.contents.take_message(sequence)
            call = Call(
                contents=self.contents,
                present=self.present,
                gas=Gas(message.cycles, message.cycles),
                actor=message.actor,
                sender=message.sender,
                nonce=0,
                origin=message.origin,
                is_message=True,
            )
            ending = run_call(call, message.handler, message.payload)
            is_ok = ending.status == OK
            self.delivered += 1
            self.reverted += not is_ok
            self.cycles += ending.cycles
            self.events += ending.events
            self.events.append([DELIVERED, sequence, message.actor, is_ok, ending.cycles, ending.cells])
