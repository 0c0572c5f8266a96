"""The messages that only one engine has, for the check of traffic: how many of them are accounted for, and how long."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from checker.checks.planned import PlannedRun

VOTE_BYTES_MAX: Final = 192
REQUEST_BYTES_MAX: Final = 96
HEADER_BYTES_MAX: Final = 256
CERTIFICATE_BYTES: Final = 128

SIGNATURE_BYTES: Final = 67
"""A signature in a certificate; its bit among the signers is in the certificate's own bytes."""


class Bound(NamedTuple):
    """The most messages of a kind that are accounted for, with the formula."""

    kind: str
    most: int
    formula: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAccount:
    """The reasons of one replica to send messages.

    Attributes:
        plan: The plan of the run.
        fan_out: The number of other replicas on the bus.
        views: The greatest view that the replica was in.
        led: The number of views up to that one which it leads.
        lives: The number of its lives.
        times: Returns how often a timer of a period may have run out.
        got: Returns the number of messages of a kind that came.
        taken: Returns the same without those that were refused.
    """

    plan: PlannedRun
    fan_out: int
    views: int
    led: int
    lives: int
    times: Callable[[int], int]
    got: Callable[[str], int]
    taken: Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """The most bytes of an engine's messages by kind, of the seal beside a block, and of a proof of finality."""

    messages: Mapping[str, int]
    seal: int
    finality: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTraffic:
    """An engine's own messages.

    Attributes:
        bounds: Yields the bounds of its messages.
        lengths: Returns their lengths, by the number of validators and the depth of finality.
        limited: Its requests of which so many are answered in a second.
        requests: Its requests that name what they ask for.
    """

    bounds: Callable[[MessageAccount], Iterator[Bound]]
    lengths: Callable[[int, int], Lengths]
    limited: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()


def certificate_bytes(validators: int) -> int:
    """Return the most bytes of a certificate that any number of validators signed."""
    return CERTIFICATE_BYTES + SIGNATURE_BYTES * validators
