"""Answers to peers that ask for certificates, blocks and snapshots: one under way for each peer, limited per second.

A peer that asks for more is not answered, and the refusal has its reason: without a limit one peer could have all of a
validator's processor. A second is one of this machine's monotonic clock, which begins with the first answer after the
one before it was over.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from network.codec import Codec
from network.port import Port
from network.types import Label
from validators.derived import Derived, DerivedSize
from validators.messages import BlockResponse, Message, SnapshotChunk, SnapshotOffer

UNDER_WAY: Final = "AnswerUnderWay"
"""The reason of a refusal: another answer to the same peer is being prepared."""

TOO_MANY: Final = "TooManyAnswers"
"""The reason of a refusal: the peer has had its answers of this second."""

TIMER: Final = ("answers",)
"""The second is over."""

_SECOND_US: Final = 1_000_000


class Answer(NamedTuple):
    """A message to a peer whose preparation takes virtual time."""

    peer: int
    message: BlockResponse | SnapshotOffer[Any] | SnapshotChunk
    label: Label


class Serving:
    """One validator's answers to its peers; `refuse` gets the kind of a request that is not answered, and why."""

    def __init__(
        self, port: Port, codec: Codec[Message], *, answers_per_second: int, refuse: Callable[[str, str], None]
    ) -> None:
        self._port = port
        self._codec = codec
        self._answers_per_second = answers_per_second
        self._refuse = refuse
        self._under_way: dict[int, None] = {}
        self._answered: dict[tuple[int, str], int] = {}

    def may_answer(self, peer: int, kind: str) -> bool:
        """Count a request of this kind; where the peer has had its share, refuse it with the reason."""
        if not self._answered:
            self._port.set_timer(TIMER, _SECOND_US)
        answered = self._answered.get((peer, kind), 0)
        self._answered[peer, kind] = answered + 1
        if answered >= self._answers_per_second:
            self._refuse(kind, TOO_MANY)
            return False
        return self.is_free(peer, kind)

    def uncount(self, peer: int, kind: str) -> None:
        """Take back the count of a request that nothing here answers: it costs a look-up, and the limit is of answers.

        Counted, it would keep the peer from blocks that are here: whoever asks for two at one pace always asks for the
        absent block first.
        """
        self._answered[peer, kind] -= 1

    def is_free(self, peer: int, kind: str) -> bool:
        """Say whether no answer to the peer is under way; else why its request is refused."""
        if peer in self._under_way:
            self._refuse(kind, UNDER_WAY)
            return False
        return True

    def prepare(self, answer: Answer, cost_us: int) -> None:
        """Send an answer when its preparation has taken its time."""
        self._under_way[answer.peer] = None
        self._port.work(cost_us, answer)

    def send(self, answer: Answer) -> None:
        """Send what has been prepared."""
        self._under_way.pop(answer.peer, None)
        self._port.send(answer.peer, self._codec.encode(answer.message), answer.label)

    def derived(self, replicas: int) -> Derived:
        """Return the sizes of what is remembered of peers."""
        kinds = len(dict.fromkeys(kind for _, kind in self._answered))
        return Derived(
            part="serving",
            sizes=(
                DerivedSize("answers under way", len(self._under_way), replicas - 1, "other replicas"),
                DerivedSize(
                    "peers and kinds answered", len(self._answered), kinds * (replicas - 1), "kinds of other replicas"
                ),
            ),
        )

    def begin_second(self) -> None:
        """The second is over: everybody may ask again."""
        self._answered.clear()
