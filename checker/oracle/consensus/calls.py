"""Calls of a consensus engine as plain data: the input of a specification, and the engine's answers to compare.

Messages and journal records are bytes. A message is its wire encoding, a msgpack array that begins with its tag; a
record has the encoding of the journal. Events and effects have the meanings of the interface between a validator and
its engine (docs/design.md). Times are in microseconds of virtual time.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple, Protocol, TypeAlias, get_args


class Life(NamedTuple):
    """The arguments of a replica's engine, which is made once in each life.

    `genesis` is the digest of the block of view 0; `config` has the times and limits of docs/ by name.
    """

    me: int
    public_keys: Sequence[bytes]
    is_observer: bool
    genesis: bytes
    config: Mapping[str, int | str]


class Facts(NamedTuple):
    """The part of a block that consensus reads; `header` is its encoding, whose hash is `digest`."""

    view: int
    digest: bytes
    parent: bytes
    height: int
    proposer: int
    header: bytes


class Answer(NamedTuple):
    """The answer to `check` and `check_seal`; an empty `reason` is consent."""

    reason: str
    signatures_verified: int


# -- events ----------------------------------------------------------------------------------------


class Started(NamedTuple):
    """The journal has been replayed."""


class Received(NamedTuple):
    """A message that `check` has approved."""

    sender: int
    message: bytes


class Built(NamedTuple):
    """The block that `Build` requested; None means that no block will come."""

    view: int
    digest: bytes | None
    block: Facts | None


class Judged(NamedTuple):
    """The answer to a `Judge`; None means that no answer will come."""

    question: str
    view: int
    digest: bytes
    ok: bool | None


class BlockArrived(NamedTuple):
    """A block whose seal `check_seal` has approved."""

    sender: int
    block: Facts
    seal: bytes


class TimeoutReached(NamedTuple):
    """A timer has fired."""

    name: str
    number: int


class AlarmReached(NamedTuple):
    """An alarm has gone off, and the wall clock shows `wall_us`."""

    name: str
    number: int
    wall_us: int


class FloorAdopted(NamedTuple):
    """A verified finality from outside of consensus, encoded as a record."""

    finality: bytes


class AskAgain(NamedTuple):
    """There is a new application: every question without an answer is repeated."""


Event: TypeAlias = (
    Started | Received | Built | Judged | BlockArrived | TimeoutReached | AlarmReached | FloorAdopted | AskAgain
)


# -- effects ---------------------------------------------------------------------------------------


class Append(NamedTuple):
    """Append a record to the journal."""

    record: bytes


class Send(NamedTuple):
    """Send a message to a validator, or to all other validators if `to` is None."""

    to: int | None
    message: bytes


class SetTimer(NamedTuple):
    """Give `TimeoutReached` in `after_us`."""

    name: str
    number: int
    after_us: int


class SetAlarm(NamedTuple):
    """Give `AlarmReached` when the wall clock shows `at_wall_us`."""

    name: str
    number: int
    at_wall_us: int


class CancelTimer(NamedTuple):
    """The timer is not needed any more."""

    name: str
    number: int


class Build(NamedTuple):
    """Build a block on a parent, by its view and digest."""

    view: int
    parent_view: int
    parent: bytes


class Judge(NamedTuple):
    """Execute a block; `parent` is its required parent, None for any."""

    question: str
    view: int
    digest: bytes
    parent_view: int | None
    parent: bytes | None


class Adopt(NamedTuple):
    """Follow a block before it is final, and leave the last `abandoned` blocks of the previous head's branch."""

    view: int
    digest: bytes
    height: int
    abandoned: int


class Finalized(NamedTuple):
    """A block and its ancestors are final; the finality is encoded as a record."""

    finality: bytes


class Entered(NamedTuple):
    """A view has been entered."""

    view: int
    leader: int


class Relay(NamedTuple):
    """Send the bytes of the own block to all validators."""

    digest: bytes
    seal: bytes


class ReportActivity(NamedTuple):
    """A report about a validator; `evidence` is its signed messages that exclude each other."""

    activity: str
    node: int
    view: int
    detail: str
    evidence: Sequence[bytes]


Effect: TypeAlias = (
    Append
    | Send
    | SetTimer
    | SetAlarm
    | CancelTimer
    | Build
    | Judge
    | Adopt
    | Finalized
    | Entered
    | Relay
    | ReportActivity
)


# -- calls -----------------------------------------------------------------------------------------


class Replayed(NamedTuple):
    """A call of `replay`: the journal, and the error that it raised, empty for none."""

    records: Sequence[bytes]
    floor: bytes | None
    error: str


class Checked(NamedTuple):
    """A call of `check` and its answer."""

    sender: int
    message: bytes
    answer: Answer


class SealChecked(NamedTuple):
    """A call of `check_seal` and its answer."""

    block: Facts
    seal: bytes
    answer: Answer


class FinalityVerified(NamedTuple):
    """A call of `verify_finality` and its answer."""

    finality: bytes
    is_proved: bool


class Stepped(NamedTuple):
    """A call of `step` and its effects, in their order."""

    event: Event
    effects: Sequence[Effect]


class Raised(NamedTuple):
    """A call that ended in an error, which no specification allows."""

    call: str
    error: str


Call: TypeAlias = Replayed | Checked | SealChecked | FinalityVerified | Stepped | Raised


TAGGED: Final[Mapping[str, Callable[..., Any]]] = {
    each.__name__: each for kinds in (Event, Effect, Call, Answer | Facts) for each in get_args(kinds)
}
"""By the name that stands before its fields, each type of a call and of its parts."""


def tagged(value: object) -> object:
    """Return a call as lists, each event, effect, answer and block with the name of its type before its fields."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [type(value).__name__, *map(tagged, value)]
    return [tagged(each) for each in value] if isinstance(value, (list, tuple)) else value


def untagged(value: Any) -> Any:  # noqa: ANN401 - a call, or any part of it
    """Return the call that `tagged` has made lists of; its lists come back as tuples."""
    if not isinstance(value, list):
        return value
    if value and isinstance(value[0], str) and value[0] in TAGGED:
        return TAGGED[value[0]](*map(untagged, value[1:]))
    return tuple(map(untagged, value))


class Specification(Protocol):
    """The rules of an engine in their plainest form, in a life of a replica.

    A specification is made with a `Life` and a `Signatures`, which repeats the replica's signatures and memory. A
    message that `check` has approved is given to `step` at once or later. Each rule is a function whose docstring
    begins with the rule's numbers in docs/ ("SX-1, SX-2: ..."). A rule emits each effect by a separate call of a
    method `emit`, so that a difference can name its rule.
    """

    MESSAGE_PARTS: ClassVar[Mapping[int, str]]
    """By the tag of each message the part of the check that it belongs to: vote, certificate, request or report."""

    def replay(self, records: Sequence[bytes], floor: bytes | None) -> str:
        """Read the journal of an earlier life; return the fault of a refused journal, empty for a valid journal."""

    def check(self, sender: int, message: bytes) -> Answer:
        """Return whether a message is sound and useful, and the number of verified signatures."""

    def check_seal(self, block: Facts, seal: bytes) -> Answer:
        """Return whether the seal of a block from outside is sound."""

    def verify_finality(self, finality: bytes) -> bool:
        """Return whether a finality from outside is proved."""

    def step(self, event: Event) -> Sequence[Effect]:
        """Return the effects of an event, in order."""
