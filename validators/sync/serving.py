"""Answers to peers that ask for certificates, blocks and snapshots: one under way for each peer, limited per second.

A peer that asks for more is refused with a reason: without a limit a single peer could use all of a validator's
processor. Seconds are counted on this machine's monotonic clock: a second begins with the first answer after the
previous second was over.
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
"""The reason of a refusal: the peer has used up its answers of this second."""

TIMER: Final = ("answers",)
"""The second is over."""

_SECOND_US: Final = 1_000_000


class Answer(NamedTuple):
    """A message to a peer whose preparation takes virtual time."""

    peer: int
    message: BlockResponse | SnapshotOffer[Any] | SnapshotChunk
    label: Label


class Serving:
    """One validator's answers to its peers; `refuse` gets the kind of a refused request and the reason."""

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
        """Count a request of this kind; refuse it with a reason where the peer has used up its share."""
        if not self._answered:
            self._port.set_timer(TIMER, _SECOND_US)
        answered = self._answered.get((peer, kind), 0)
        self._answered[peer, kind] = answered + 1
        if answered >= self._answers_per_second:
            self._refuse(kind, TOO_MANY)
            return False
        return self.is_free(peer, kind)

    def uncount(self, peer: int, kind: str) -> None:
        """Undo the count of a request that cannot be answered: it costs a look-up, and the limit is of answers.

        If it counted, it could keep the peer from blocks that are here: a peer that asks for two at the same pace
        always asks for the absent block first.
        """
        self._answered[peer, kind] -= 1

    def is_free(self, peer: int, kind: str) -> bool:
        """Return whether no answer to the peer is under way; if one is, refuse the request with a reason."""
        if peer in self._under_way:
            self._refuse(kind, UNDER_WAY)
            return False
        return True

    def prepare(self, answer: Answer, cost_us: int) -> None:
        """Send an answer when its preparation has taken its time."""
        self._under_way[answer.peer] = None
        self._port.work(cost_us, answer)

    def send(self, answer: Answer) -> None:
        """Send a prepared answer."""
        self._under_way.pop(answer.peer, None)
        self._port.send(answer.peer, self._codec.encode(answer.message), answer.label)

    def derived(self, replicas: int) -> Derived:
        """Return the sizes of the data kept about peers."""
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
        """Let every peer ask again, because the second is over."""
        self._answered.clear()
