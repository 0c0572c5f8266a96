"""An adversary: a validator that runs honest code, whose outgoing messages all pass through this module.

The validator has its own key. A message that it wants to send is an `Outgoing`. Each active behaviour may let it pass,
change it, hold it back or add to it (`Behaviour.tamper`). For behaviours about the blocks that the validator builds,
the validator's factory calls this module too (`Adversary.propose`, `Adversary.over`). So the honest code does not know
adversaries.

Adversaries share only the bus, like all validators. Colluding adversaries follow a common rule: they split the honest
validators into the same two halves, and the block with the lower digest goes to the first half.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from faults.byzantine.engine_votes import EngineVotes
from faults.byzantine.policy import Tampering, tampered_policies
from network.chance import Chance, below
from network.codec import Codec
from network.types import Label, Micros, NodeId
from scheduler import POLICIES, Policy
from validators.consensus.interface import EngineMessage, MessageRole
from validators.consensus.kind import EngineKind
from validators.execution import Block, ExecutedBlock, ExecutionLayer, Genesis, ProposalContext, Transaction
from validators.execution.blocks import SealedBlock, block_digest
from validators.messages import Message, message_codec
from validators.restored import EMPTY_LOG, LayerMaker, RestoredLog

BLOCKS_KEPT: Final = 64
"""The number of forged blocks that an adversary keeps to answer requests for them."""


class Outgoing(NamedTuple):
    """A message on its way to some validators; raw bytes if it is not a valid message."""

    to: tuple[NodeId, ...]
    message: Message | bytes
    label: Label


class Wire(Protocol):
    """The acts of an adversary besides its validator's acts; the port of its incarnation implements them."""

    @property
    def wall_us(self) -> Micros:
        """The time that the machine's clock shows."""

    def send_all(self, messages: Iterable[Outgoing]) -> None:
        """Send messages as they are."""

    def give(self, message: Message) -> None:
        """Give a message to the own validator, as if it had come from the bus."""

    def note(self, name: str, kind: str, to: Sequence[NodeId]) -> None:
        """Trace that a message was tampered with."""


class Orders(Protocol):
    """The fault of a behaviour: how often, in which form, and for `withhold` which messages are kept from whom."""

    @property
    def every(self) -> int: ...  # noqa: D102
    @property
    def what(self) -> str: ...  # noqa: D102
    @property
    def kinds(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def to(self) -> tuple[int, ...]: ...  # noqa: D102


class Behaviour:
    """The base of active behaviours, which changes nothing. `count` is messages forged, changed or held back."""

    def __init__(self, adversary: "Adversary", name: str, fault: Orders) -> None:
        self.adversary = adversary
        self.name = name
        self.fault = fault
        self.count = 0
        self._occasions = 0

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Return the messages that are sent in place of a message."""
        return (outgoing,)

    def hear(self, source: NodeId, message: Message) -> None:
        """See a message that has arrived."""

    def propose(
        self, layer: ExecutionLayer, context: ProposalContext, candidates: Sequence[Any]
    ) -> ExecutedBlock | None:
        """Return the block that is proposed in place of the true block; None for the true block."""

    def is_time(self) -> bool:
        """Count an occasion and return whether the fault strikes at it: at each `every`-th."""
        self._occasions += 1
        return self._occasions % self.fault.every == 0

    def note(self, kind: str, to: Sequence[NodeId]) -> None:
        """Count a tampered message, once for each receiver."""
        self.count += len(to)
        self.adversary.wire.note(self.name, kind, to)

    def draw(self, bound: int) -> int:
        """Return the next draw of this fault's own chance, below `bound`."""
        return self.adversary.draw(self.name, bound)

    def junk(self, length: int) -> bytes:
        """Return random bytes from this fault's own chance."""
        return b"".join(self.draw(1 << 32).to_bytes(4, "big") for _ in range(-(-length // 4)))[:length]

    def take_turn(self, subject: str, bound: int) -> int:
        """Return the next place below `bound` in turn, from a drawn place on, so that a few occasions differ."""
        return self.adversary.take_turn(f"{self.name} {subject}", bound)


class Adversary:
    """A Byzantine validator, over all its incarnations.

    Args:
        node: Its number.
        validators: The number of validators.
        replicas: The number of validators and observers; observers are numbered after validators.
        byzantine: All Byzantine validators of the plan, this one included.
        kind: The consensus engine.
        votes: Signs the engine's votes with its true key.
        chance: The run's.
        max_skew_ms: How far a block's time may be ahead of an honest validator's clock, in milliseconds.
        is_foreign: Whether its blocks belong to an outside application, whose rules the adversary does not know.

    Attributes:
        layer: The execution layer of its validator's present life.
        read: Turns an entry of a block into a candidate for a proposal of that layer.
    """

    wire: Wire
    read: Callable[[bytes], Any]

    def __init__(
        self,
        node: NodeId,
        *,
        validators: int,
        replicas: int,
        byzantine: Sequence[NodeId],
        kind: EngineKind,
        votes: EngineVotes,
        chance: Chance,
        max_skew_ms: int,
        is_foreign: bool = False,
    ) -> None:
        self.node: Final = node
        self.validators: Final = validators
        self.replicas: Final = replicas
        self.colluders: Final = tuple(other for other in sorted(byzantine) if other != node)
        self.max_skew_ms: Final = max_skew_ms
        self.is_foreign: Final = is_foreign
        honest = [other for other in range(validators) if other not in byzantine]
        middle = len(honest) // 2
        observers = range(validators, replicas)
        # With a single honest validator, only an observer can be shown a different chain.
        first, second = (honest[:middle], [*honest[middle:], *observers]) if middle else (observers, honest)
        self.halves: Final = tuple(first), tuple(second)
        self.kind: Final = kind
        self.votes: Final = votes
        self.codec: Codec[Message] = message_codec(kind)
        self.layer: ExecutionLayer | None = None
        self.tampering = Tampering()
        self.believes_signatures = False
        """Whether its layer accepts every transaction as signed, while a block is built."""
        self.made: dict[bytes, SealedBlock] = {}
        """Blocks that the adversary made besides its validator's proposals, with their seals, by digest."""
        self._chance = chance
        self._draws: dict[str, int] = {}
        self._behaviours: dict[str, Behaviour] = {}
        self._counts: dict[str, int] = {}

    @property
    def is_active(self) -> bool:
        """Whether any behaviour is on."""
        return bool(self._behaviours)

    def begin(self, behaviour: Behaviour) -> None:
        """Let a behaviour begin."""
        self._behaviours[behaviour.name] = behaviour

    def end(self, name: str) -> None:
        """Let a behaviour end."""
        self._counts[name] = self._behaviours.pop(name).count

    def count(self, name: str) -> int:
        """Return the number of messages that a behaviour has forged, changed or held back so far."""
        behaviour = self._behaviours.get(name)
        return self._counts.get(name, 0) if behaviour is None else behaviour.count

    # -- for the validator's port and factory --------------------------------------------------

    def tamper(self, outgoing: Outgoing) -> list[Outgoing]:
        """Return the messages that are sent in place of a message."""
        self.votes.observe(outgoing.message)
        replaced = [outgoing]
        for behaviour in list(self._behaviours.values()):
            replaced = [tampered for each in replaced for tampered in behaviour.tamper(each)]
        return replaced

    def hear(self, source: NodeId, message: Message) -> None:
        """See a message that has arrived."""
        self.votes.observe(message)
        for behaviour in list(self._behaviours.values()):
            behaviour.hear(source, message)

    def policies(self) -> Mapping[str, Callable[[], Policy]]:
        """Return the policies of the project's own chain, whose timer phase the adversary can tamper with."""
        return tampered_policies(POLICIES, self.tampering)

    def over(self, make: LayerMaker, read: Callable[[bytes], Any]) -> LayerMaker:
        """Return a maker of the same layers; the adversary builds its own blocks on each layer.

        Args:
            make: Makes a layer of the validator.
            read: Turns an entry of a block into a candidate for a proposal of this layer.
        """

        def made(
            genesis: Genesis, verify_transaction: Callable[[Transaction], bool], log: RestoredLog = EMPTY_LOG
        ) -> ExecutionLayer:
            def verify(transaction: Transaction) -> bool:
                return self.believes_signatures or verify_transaction(transaction)

            self.layer, self.read = make(genesis, verify, log), read
            return self.layer

        return made

    def propose(self, layer: ExecutionLayer, context: ProposalContext, candidates: Iterable[Any]) -> ExecutedBlock:
        """Build the block that the validator proposes."""
        chosen = list(candidates)
        for behaviour in list(self._behaviours.values()):
            proposed = behaviour.propose(layer, context, chosen)
            if proposed is not None:
                return proposed
        return layer.propose(context, chosen)

    # -- for behaviours ------------------------------------------------------------------------

    def everybody(self) -> tuple[NodeId, ...]:
        """Return all other replicas."""
        return tuple(node for node in range(self.replicas) if node != self.node)

    def role_of(self, message: Message | bytes) -> MessageRole | None:
        """Return the role of a message of the engine, None for any other message."""
        info = self.kind.messages.get(type(message))
        return None if info is None else info.role

    def label_of(self, message: EngineMessage) -> Label:
        """Return the label of a message of the engine."""
        label = self.kind.label(message)
        return Label(label.kind, label.view)

    def keep(self, block: Block, seal: bytes = b"") -> bytes:
        """Remember a block that the adversary made; return its digest."""
        digest = block_digest(block)
        self.made[digest] = SealedBlock(block, seal)
        while len(self.made) > BLOCKS_KEPT:
            del self.made[next(iter(self.made))]
        return digest

    def draw(self, subject: str, bound: int) -> int:
        """Return the next draw of a subject, below `bound`."""
        ordinal = self._draws.get(subject, 0)
        self._draws[subject] = ordinal + 1
        return below(self._chance.draw("tampering", subject, ordinal), bound)

    def take_turn(self, subject: str, bound: int) -> int:
        """Return the next place of a subject in turn, below `bound`; the first place is drawn."""
        ordinal = self._draws.get(subject, 0)
        self._draws[subject] = ordinal + 1
        return (below(self._chance.draw("tampering", subject, 0), bound) + ordinal) % bound
