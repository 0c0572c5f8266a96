"""What consensus says aloud: its messages with their labels on the bus, its votes and certificates in the trace.

The shell calls this behind the write-ahead barrier only.
"""

from collections.abc import Callable
from typing import final

from network.codec import Codec
from network.port import Port
from network.types import Label
from validators.consensus.simplex import (
    Artifact,
    CertificateResponse,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    certificate_signers,
    view_of,
)
from validators.messages import ConsensusMessage, Message


def trace_vote(port: Port, message: ConsensusMessage | Artifact) -> None:
    """Trace a vote; other messages are not traced."""
    if isinstance(message, Notarize | Finalize):
        port.trace("vote", type(message).__name__.lower(), message.proposal.view, message.proposal.payload)
    elif isinstance(message, Nullify):
        port.trace("vote", "nullify", message.view, b"")


def trace_certificate(port: Port, artifact: Artifact) -> None:
    """Trace a certificate that is durable; other artifacts are not traced."""
    if isinstance(artifact, Notarization | Finalization):
        view, payload = artifact.proposal.view, artifact.proposal.payload
    elif isinstance(artifact, Nullification):
        view, payload = artifact.view, b""
    else:
        return
    signers = certificate_signers(artifact)
    port.trace("certificate", type(artifact).__name__.lower(), view, payload, tuple(signers))


@final
class Outbox:
    """Sends one replica's consensus messages; ``height_of`` knows the height of a block that is here.

    Who does not ``tell`` keeps its certificates to itself and only asks for others': a run with such a replica more or
    less is the same run for the validators, but for what they serve it.
    """

    def __init__(
        self, port: Port, codec: Codec[Message], *, height_of: Callable[[bytes], int | None], tells: bool
    ) -> None:
        self._port = port
        self._codec = codec
        self._height_of = height_of
        self._tells = tells

    def broadcast(self, message: ConsensusMessage) -> None:
        """Send to everybody; a vote is traced."""
        trace_vote(self._port, message)
        if self._is_kept(message):
            return
        self._port.broadcast(self._codec.encode(message), self._label(message))

    def send(self, to: int, message: ConsensusMessage) -> None:
        """Send to one validator."""
        if self._is_kept(message):
            return
        self._port.send(to, self._codec.encode(message), self._label(message))

    def _is_kept(self, message: ConsensusMessage) -> bool:
        return not self._tells and isinstance(message, Notarization | Nullification | Finalization)

    def _label(self, message: ConsensusMessage) -> Label:
        """Say what a message is about: its certificate's view rather than the one asked for, its block's height."""
        kind = type(message).__name__
        if isinstance(message, CertificateResponse):
            message = message.certificate
        height = None
        if isinstance(message, Notarize | Finalize | Notarization | Finalization):
            height = self._height_of(message.proposal.payload)
        return Label(kind, view_of(message), height)
