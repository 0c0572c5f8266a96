"""The port of a Byzantine validator: its adversary tampers with outgoing messages, and sees incoming messages."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from faults.byzantine.adversary import Adversary, Outgoing
from faults.events import Tampered
from network.bus import Bus
from network.clock import MachineClock
from network.codec import Refused
from network.kernel import Kernel
from network.port import Pace, Port
from network.trace import EventChain
from network.types import NO_LABEL, Label, NodeId
from validators.messages import Message


class ByzantinePort(Port):
    """The handle of an incarnation to kernel and bus, as `Port`, with an adversary in between."""

    __slots__ = ("_adversary",)

    def __init__(
        self,
        kernel: Kernel,
        bus: Bus,
        chain: EventChain,
        node: NodeId,
        *,
        incarnation: int,
        pace: Pace | None = None,
        clock: MachineClock | None = None,
        adversary: Adversary,
    ) -> None:
        super().__init__(kernel, bus, chain, node, incarnation=incarnation, pace=pace, clock=clock)
        self._adversary = adversary
        adversary.wire = self

    def send(self, destination: NodeId, payload: bytes, label: Label = NO_LABEL) -> None:
        """Send a message to a validator, as the adversary changes it."""
        if self.is_live and self._adversary.is_active:
            self._send_tampered((destination,), payload, label)
            self._note_sent(label)
        else:
            super().send(destination, payload, label)

    def broadcast(self, payload: bytes, label: Label = NO_LABEL) -> None:
        """Send a message to all other replicas, as the adversary changes it."""
        if self.is_live and self._adversary.is_active:
            self._send_tampered(self._adversary.everybody(), payload, label)
            # The boundary after the first message of a vote: with an adversary, after all messages of the vote.
            self._note_sent(label)
        else:
            super().broadcast(payload, label)

    def send_all(self, messages: Iterable[Outgoing]) -> None:
        """Send messages as they are."""
        for outgoing in messages if self.is_live else ():
            message = outgoing.message
            payload = message if isinstance(message, bytes) else self._adversary.codec.encode(message)
            for destination in outgoing.to:
                self._bus.send(self.node, destination, payload, outgoing.label)

    def give(self, message: Message) -> None:
        """Give a message to the own validator, as if it had come from the bus."""
        if self.is_live:
            super()._deliver(self.node, self._adversary.codec.encode(message))

    def note(self, name: str, kind: str, to: Sequence[NodeId]) -> None:
        """Trace that a message was tampered with."""
        self.trace(Tampered(name, kind, tuple(to)))

    def _send_tampered(self, to: tuple[NodeId, ...], payload: bytes, label: Label) -> None:
        self.send_all(self._adversary.tamper(Outgoing(to, self._adversary.codec.decode(payload), label)))

    def _deliver(self, source: NodeId, payload: bytes) -> None:
        # An adversary on a paused machine hears nothing.
        if self._adversary.is_active and not self._mailbox.is_paused:
            # The validator refuses these bytes as well, and reports it.
            with suppress(Refused):
                self._adversary.hear(source, self._adversary.codec.decode(payload))
        super()._deliver(source, payload)
