"""Outgoing consensus messages: labelled for the bus, with votes and certificates traced.

The validator calls this only behind the write-ahead barrier.
"""

from collections.abc import Callable

from network.codec import Codec
from network.port import Port
from network.types import Label
from validators.consensus.interface import EngineMessage, Record, RecordCodec
from validators.consensus.kind import EngineKind
from validators.messages import Message


def trace_vote(port: Port, records: RecordCodec, message: EngineMessage | Record) -> None:
    """Trace a vote; other messages are not traced."""
    vote = records.vote_of(message)
    if vote is not None:
        port.trace(vote)


def trace_certificate(port: Port, records: RecordCodec, record: Record) -> None:
    """Trace a certificate that is durable; other records are not traced."""
    certificate = records.certificate_of(record)
    if certificate is not None:
        port.trace(certificate)


class Outbox:
    """Sends one replica's consensus messages; `height_of` knows the height of a block that is here.

    With `sends_certificates = False`, certificates stay local and only requests and answers are sent. Adding such a
    replica to a run changes nothing for the validators, except for the answers that they give it.
    """

    def __init__(
        self,
        port: Port,
        codec: Codec[Message],
        engine: EngineKind,
        *,
        height_of: Callable[[bytes], int | None],
        sends_certificates: bool,
    ) -> None:
        self._port = port
        self._codec = codec
        self._engine = engine
        self._height_of = height_of
        self._sends_certificates = sends_certificates

    def send(self, to: int | None, message: EngineMessage) -> None:
        """Send to one validator, or to all peers; a vote is traced, and a message to the sender itself stays here."""
        trace_vote(self._port, self._engine.records, message)
        if to == self._port.node:
            return
        if not self._sends_certificates and self._engine.messages[type(message)].role == "certificate":
            return
        kind, view, digest = self._engine.label(message)
        label = Label(kind, view, None if digest is None else self._height_of(digest))
        if to is None:
            self._port.broadcast(self._codec.encode(message), label)
        else:
            self._port.send(to, self._codec.encode(message), label)
