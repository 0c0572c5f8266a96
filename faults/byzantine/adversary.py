"""An adversary: a validator of honest code, of which everything that leaves passes through here first.

The validator has its own key. A message that it wants to send is an `Outgoing`; each behaviour that is on may let it
pass, change it, hold it back or add to it (`Behaviour.tamper`). Where a behaviour is about a block that the validator
builds, the validator's factory leads here too (`Adversary.propose`, `Adversary.over`). So nothing of the honest
code knows of adversaries.

Adversaries share nothing but the bus, like all others. Two that collude do so by rules that both know: the honest
validators are cut into the same two halves, and of two blocks the one with the lower digest goes to the first half.
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
"""The number of blocks, beside its validator's, that an adversary remembers to hand them out."""


class Outgoing(NamedTuple):
    """One message on its way to some validators; raw bytes where it is no message at all."""

    to: tuple[NodeId, ...]
    message: Message | bytes
    label: Label


class Wire(Protocol):
    """The acts of an adversary beside those of its validator; the port of its incarnation."""

    @property
    def wall_us(self) -> Micros:
        """The time that the machine's clock shows."""

    def send_all(self, messages: Iterable[Outgoing]) -> None:
        """Send messages as they are."""

    def give(self, message: Message) -> None:
        """Let the own validator have a message, as if it had come from the bus."""

    def note(self, name: str, kind: str, to: Sequence[NodeId]) -> None:
        """Trace that a message was tampered with."""


class Orders(Protocol):
    """The fault that a behaviour is of: how often, in which form, and for `withhold` what is kept from whom."""

    @property
    def every(self) -> int: ...  # noqa: D102
    @property
    def what(self) -> str: ...  # noqa: D102
    @property
    def kinds(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def to(self) -> tuple[int, ...]: ...  # noqa: D102


class Behaviour:
    """One behaviour while it is on; this one does nothing. `count` is messages forged, changed or held back."""

    def __init__(self, adversary: "Adversary", name: str, fault: Orders) -> None:
        self.adversary = adversary
        self.name = name
        self.fault = fault
        self.count = 0
        self._occasions = 0

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Return what is sent in the place of a message."""
        return (outgoing,)

    def hear(self, source: NodeId, message: Message) -> None:
        """See a message that has arrived."""

    def propose(
        self, layer: ExecutionLayer, context: ProposalContext, candidates: Sequence[Any]
    ) -> ExecutedBlock | None:
        """Return the block that is proposed in the place of the true one; None for the true one."""

    def is_time(self) -> bool:
        """Count an occasion and say whether it is one of those at which the fault strikes: each `every`-th."""
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
        """Return bytes of this fault's own chance."""
        return b"".join(self.draw(1 << 32).to_bytes(4, "big") for _ in range(-(-length // 4)))[:length]

    def take_turn(self, subject: str, bound: int) -> int:
        """Return the next place below `bound` in turn, from a drawn one on: so a few occasions differ."""
        return self.adversary.take_turn(f"{self.name} {subject}", bound)


class Adversary:
    """One Byzantine validator, over all its incarnations.

    Args:
        node: Its number.
        validators: How many validators there are.
        replicas: How many there are with the observers, which are numbered after them.
        byzantine: All Byzantine validators of the plan, this one among them.
        kind: The consensus engine.
        votes: Signs the engine's votes with its true key.
        chance: The run's.
        max_skew_ms: How far ahead of its own clock an honest validator lets a block's time be.
        is_foreign: Whether its blocks are those of somebody else's application, whose rules nobody here knows.

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
        # With one honest validator only an observer can be shown another chain than it.
        first, second = (honest[:middle], [*honest[middle:], *observers]) if middle else (observers, honest)
        self.halves: Final = tuple(first), tuple(second)
        self.kind: Final = kind
        self.votes: Final = votes
        self.codec: Codec[Message] = message_codec(kind)
        self.layer: ExecutionLayer | None = None
        self.tampering = Tampering()
        self.believes_signatures = False
        """Whether its layer takes every transaction for signed, while a block is built."""
        self.made: dict[bytes, SealedBlock] = {}
        """Blocks that it made besides those that its validator proposed, with their seals, by digest."""
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
        """Return how many messages a behaviour has forged, changed or held back so far."""
        behaviour = self._behaviours.get(name)
        return self._counts.get(name, 0) if behaviour is None else behaviour.count

    # -- for the validator's port and factory --------------------------------------------------

    def tamper(self, outgoing: Outgoing) -> list[Outgoing]:
        """Return what is sent in the place of a message."""
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
        """Return the policies of our own chain, whose timer phase can be tampered with while a block is built."""
        return tampered_policies(POLICIES, self.tampering)

    def over(self, make: LayerMaker, read: Callable[[bytes], Any]) -> LayerMaker:
        """Return a maker of the same layers, each of which the adversary then builds its own blocks on.

        Args:
            make: Makes a layer of the validator.
            read: Turns an entry of a block into a candidate for a proposal of such a layer.
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
        """Return all others."""
        return tuple(node for node in range(self.replicas) if node != self.node)

    def role_of(self, message: Message | bytes) -> MessageRole | None:
        """Return the role of a message of the engine, None for another one."""
        info = self.kind.messages.get(type(message))
        return None if info is None else info.role

    def label_of(self, message: EngineMessage) -> Label:
        """Return the label of a message of the engine."""
        label = self.kind.label(message)
        return Label(label.kind, label.view)

    def keep(self, block: Block, seal: bytes = b"") -> bytes:
        """Remember a block that the validator does not know as its own; return its digest."""
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
        """Return the next place of a subject in turn, below `bound`; the first one is drawn."""
        ordinal = self._draws.get(subject, 0)
        self._draws[subject] = ordinal + 1
        return (below(self._chance.draw("tampering", subject, 0), bound) + ordinal) % bound
