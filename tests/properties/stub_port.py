"""The surroundings of one part: a port that only notes what is asked of it, and settings of a replica.

Messages stay as they are. Time passes only where a property says so, which lets a timer run out, or work end, in an
order that a run's queue would seldom bring about.
"""

from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

from network.codec import Codec
from network.port import Port
from network.types import Label
from validators.costs import Costs
from validators.messages import Message
from validators.settings import ValidatorSettings

GRACE_US: Final = 70
TIMEOUT_US: Final = 900
REGOSSIP_US: Final = 4_000
"""Times of a replica on its own, each unlike the others."""

COSTS: Final = Costs(verify_signature_us=11, decode_kib_us=3, serve_block_us=7, answers_per_second=3)

SAME: Final = cast("Codec[Message]", SimpleNamespace(encode=lambda message: message))
"""A codec whose encoding of a message is the message."""


class SentMessage(NamedTuple):
    """A message that left: to one replica, or to all others where `to` is None."""

    to: int | None
    message: object
    label: Label


class StubPort:
    """Notes messages, work and timers, as they are asked for."""

    def __init__(self) -> None:
        self.sent: list[SentMessage] = []
        self.works: list[tuple[int, object]] = []
        self.timers: dict[object, int] = {}
        self.spent_us = 0
        self.traced: list[object] = []

    @property
    def port(self) -> Port:
        """The port as a part of a validator takes it."""
        return cast("Port", self)

    def send(self, destination: int, payload: object, label: Label) -> None:
        """Note a message to one."""
        self.sent.append(SentMessage(destination, payload, label))

    def broadcast(self, payload: object, label: Label) -> None:
        """Note a message to all others."""
        self.sent.append(SentMessage(None, payload, label))

    def work(self, cost_us: int, token: object) -> None:
        """Note work that something follows from."""
        self.works.append((cost_us, token))

    def spend(self, cost_us: int) -> None:
        """Add up work that nothing follows from."""
        self.spent_us += cost_us

    def set_timer(self, key: object, after_us: int) -> None:
        """Arm a timer, in the place of one of the same key."""
        self.timers[key] = after_us

    def cancel_timer(self, key: object) -> None:
        """Disarm a timer."""
        self.timers.pop(key, None)

    def trace(self, body: object) -> None:
        """Note an event of the trace."""
        self.traced.append(body)


class DecodingPort(StubPort):
    """Notes each message with its receiver, decoded: what a peer reads of it."""

    def __init__(self, codec: Codec[Message]) -> None:
        super().__init__()
        self._codec = codec

    def send(self, destination: int, payload: object, label: Label) -> None:
        """Note a message to one."""
        self.sent.append((destination, self._codec.decode(payload)))


def settings_of(node: int, validators: int, consensus: object = None) -> ValidatorSettings:
    """Return the settings of a replica; `consensus` has of its engine what the part asks for."""
    return ValidatorSettings(
        node=node,
        validators=validators,
        consensus=cast("Any", consensus),
        consensus_config=cast("Any", None),
        costs=COSTS,
        block_interval_us=1,
        max_skew_ms=1,
        fetch_grace_us=GRACE_US,
        fetch_timeout_us=TIMEOUT_US,
        regossip_us=REGOSSIP_US,
        snapshot_gap_blocks=1,
        snapshot_chunk_bytes=1,
    )
