"""The port of a dishonest validator: what leaves is what its liar makes of it, and the liar sees what arrives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import final

from faults.byzantine.adversary import Liar, Post
from faults.events import Tampered
from network.bus import Bus
from network.clock import MachineClock
from network.codec import Refused
from network.kernel import Kernel
from network.port import Pace, Port
from network.trace import EventChain
from network.types import NO_LABEL, Label, NodeId
from validators.messages import Message


@final
class LyingPort(Port):
    """One incarnation's handle to kernel and bus, as `Port`, with a liar in between."""

    __slots__ = ("_liar",)

    def __init__(
        self,
        kernel: Kernel,
        bus: Bus,
        chain: EventChain,
        node: NodeId,
        incarnation: int,
        *,
        pace: Pace | None = None,
        clock: MachineClock | None = None,
        liar: Liar,
    ) -> None:
        super().__init__(kernel, bus, chain, node, incarnation, pace=pace, clock=clock)
        self._liar = liar
        liar.wire = self

    def send(self, destination: NodeId, payload: bytes, label: Label = NO_LABEL) -> None:
        """Send what the liar makes of a message to one validator."""
        if self.is_live and self._liar.is_lying:
            self._send_told((destination,), payload, label)
        else:
            super().send(destination, payload, label)

    def broadcast(self, payload: bytes, label: Label = NO_LABEL) -> None:
        """Send what the liar makes of a message to all others."""
        if self.is_live and self._liar.is_lying:
            self._send_told(self._liar.everybody(), payload, label)
            # The boundary after the first message of a vote: with a liar, after all of them.
            if self.is_live and self.on_sent is not None:
                self.on_sent(label)
        else:
            super().broadcast(payload, label)

    def post(self, posts: Iterable[Post]) -> None:
        """Send messages as they are."""
        for post in posts:
            message = post.message
            payload = message if isinstance(message, bytes) else self._liar.codec.encode(message)
            for destination in post.to:
                super().send(destination, payload, post.label)

    def give(self, message: Message) -> None:
        """Let the own validator have a message, as if it had come from the bus."""
        if self.is_live:
            super()._deliver(self.node, self._liar.codec.encode(message))

    def note(self, name: str, kind: str, to: Sequence[NodeId]) -> None:
        """Trace a lie."""
        self.trace(Tampered(name, kind, tuple(to)))

    def _send_told(self, to: tuple[NodeId, ...], payload: bytes, label: Label) -> None:
        self.post(self._liar.tell(Post(to, self._liar.codec.decode(payload), label)))

    def _deliver(self, source: NodeId, payload: bytes) -> None:
        if self._liar.is_lying:
            # What is refused here the validator refuses as well, and says so.
            with suppress(Refused):
                self._liar.hear(source, self._liar.codec.decode(payload))
        super()._deliver(source, payload)
