"""A validator that lies: an honest one, of which whatever leaves passes through here first.

The validator itself is the honest code with its own key. What it wants to send is a `Post`; each lie that is on may let
it pass, change it, hold it back or add to it (`Lie.tell`). Where a lie is about a block that its validator builds, the
validator's factory leads here too (`Liar.propose`, `Liar.make_engine`). So nothing of the honest code knows of lies.

Dishonest validators share nothing but the bus, like all others. Two of them that work together do so by rules that both
know: the honest validators are cut into the same two halves, and of two blocks the one with the lower digest goes to
the first half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from faults.byzantine.policy import Twist, lying_policies
from network.chance import Chance, below
from network.codec import Codec
from network.types import Label, Micros, NodeId
from scheduler import POLICIES
from validators.consensus.signing import Scheme
from validators.consensus.simplex import Finalize, Notarize, Nullify, Proposal
from validators.consensus.simplex.election import leader_of
from validators.consensus.simplex.kind import SIMPLEX
from validators.consensus.simplex.messages import encode_proposal, encode_round
from validators.consensus.simplex.signing import FINALIZE_NAMESPACE, NOTARIZE_NAMESPACE, NULLIFY_NAMESPACE
from validators.execution import Block, Engine, Executed, Genesis, ProposalContext, StateRoad, Transaction
from validators.execution.blocks import Header, block_digest
from validators.messages import Message, message_codec
from validators.settings import make_engine
from validators.state import Snapshot

BLOCKS_KEPT: Final = 64
"""So many of the blocks that it made besides the true ones does a liar remember, to hand them out."""

_VIEWS_KEPT: Final = 64


class Post(NamedTuple):
    """One message on its way to some validators; raw bytes where it is no message at all."""

    to: tuple[NodeId, ...]
    message: Message | bytes
    label: Label


class Wire(Protocol):
    """What a liar may do besides what its validator does; the port of its incarnation."""

    @property
    def wall_us(self) -> Micros:
        """What the machine's clock shows."""

    def post(self, posts: Iterable[Post]) -> None:
        """Send messages as they are."""

    def give(self, message: Message) -> None:
        """Let the own validator have a message, as if it had come from the bus."""

    def note(self, name: str, kind: str, to: Sequence[NodeId]) -> None:
        """Trace a lie."""


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


class Lie:
    """One behaviour while it is on; this one does nothing. `count` is messages forged, changed or held back."""

    def __init__(self, liar: Liar, name: str, fault: Orders) -> None:
        self.liar = liar
        self.name = name
        self.fault = fault
        self.count = 0
        self._occasions = 0

    def tell(self, post: Post) -> Iterable[Post]:
        """Return what is sent in the place of a message."""
        return (post,)

    def hear(self, source: NodeId, message: Message) -> None:
        """See a message that has arrived."""

    def propose(self, engine: Engine, context: ProposalContext, candidates: Sequence[Transaction]) -> Executed | None:
        """Return the block that is proposed in the place of the true one; None for the true one."""

    def is_time(self) -> bool:
        """Count an occasion and say whether it is one of those at which the fault lies: each `every`-th."""
        self._occasions += 1
        return self._occasions % self.fault.every == 0

    def note(self, kind: str, to: Sequence[NodeId]) -> None:
        """Count a lie that is told to so many."""
        self.count += len(to)
        self.liar.wire.note(self.name, kind, to)

    def draw(self, bound: int) -> int:
        """Return the next draw of this fault's own chance, below `bound`."""
        return self.liar.draw(self.name, bound)


class Liar:
    """One dishonest validator, over all its incarnations.

    Args:
        node: Its number.
        validators: How many validators there are.
        replicas: How many there are with the observers, which are numbered after them.
        dishonest: All dishonest validators of the plan, this one among them.
        scheme: Signs with its true key.
        chance: The run's.
        max_skew_ms: How far ahead of its own clock an honest validator lets a block's time be.
    """

    wire: Wire

    def __init__(
        self,
        node: NodeId,
        *,
        validators: int,
        replicas: int,
        dishonest: Sequence[NodeId],
        scheme: Scheme,
        chance: Chance,
        max_skew_ms: int,
    ) -> None:
        self.node: Final = node
        self.validators: Final = validators
        self.replicas: Final = replicas
        self.accomplices: Final = tuple(other for other in sorted(dishonest) if other != node)
        self.max_skew_ms: Final = max_skew_ms
        honest = [other for other in range(validators) if other not in dishonest]
        middle = len(honest) // 2
        observers = range(validators, replicas)
        # With one honest validator only an observer can be shown another chain than it.
        first, second = (honest[:middle], [*honest[middle:], *observers]) if middle else (observers, honest)
        self.halves: Final = tuple(first), tuple(second)
        self.codec: Codec[Message] = message_codec(SIMPLEX)
        self.engine: Engine | None = None
        self.twist = Twist()
        self.made: dict[bytes, Block] = {}
        """Blocks that it made besides those that its validator proposed, by digest."""
        self._scheme = scheme
        self._chance = chance
        self._draws: dict[str, int] = {}
        self._lies: dict[str, Lie] = {}
        self._counts: dict[str, int] = {}
        self._proposals: dict[int, dict[bytes, Proposal]] = {}

    @property
    def is_lying(self) -> bool:
        """Whether any lie is on."""
        return bool(self._lies)

    def begin(self, lie: Lie) -> None:
        """Lie from now on."""
        self._lies[lie.name] = lie

    def end(self, name: str) -> None:
        """Do not lie in this way any more."""
        self._counts[name] = self._lies.pop(name).count

    def count(self, name: str) -> int:
        """Return how many messages a lie has forged, changed or held back so far."""
        lie = self._lies.get(name)
        return self._counts.get(name, 0) if lie is None else lie.count

    # -- what the validator's port and factory ask ---------------------------------------------

    def tell(self, post: Post) -> list[Post]:
        """Return what is sent in the place of a message."""
        if isinstance(post.message, Notarize) and self.is_leader(post.message.proposal.view):
            self.note_proposal(post.message.proposal)
        posts = [post]
        for lie in list(self._lies.values()):
            posts = [told for each in posts for told in lie.tell(each)]
        return posts

    def hear(self, source: NodeId, message: Message) -> None:
        """See a message that has arrived."""
        if isinstance(message, Notarize) and message.signer == leader_of(
            max(message.proposal.view, 1), self.validators
        ):
            self.note_proposal(message.proposal)
        for lie in list(self._lies.values()):
            lie.hear(source, message)

    def make_engine(self, road: StateRoad | None) -> Callable[..., Engine]:
        """Return the maker of an engine whose timer phase can be twisted while a block is built."""
        policies = lying_policies(POLICIES, self.twist)

        def make(
            genesis: Genesis,
            verify_transaction: Callable[[Transaction], bool],
            operations: Sequence[bytes] | None,
            header: Header | None,
            base: Snapshot | None = None,
        ) -> Engine:
            self.engine = make_engine(
                genesis, verify_transaction, operations, header, base, road=road, policies=policies
            )
            return self.engine

        return make

    def propose(self, engine: Engine, context: ProposalContext, candidates: Iterable[Transaction]) -> Executed:
        """Build the block that the validator proposes."""
        chosen = list(candidates)
        for lie in list(self._lies.values()):
            proposed = lie.propose(engine, context, chosen)
            if proposed is not None:
                return proposed
        return engine.propose(context, chosen)

    # -- what lies are made of -----------------------------------------------------------------

    def is_leader(self, view: int) -> bool:
        """Whether this validator leads a view."""
        return view >= 1 and leader_of(view, self.validators) == self.node

    def everybody(self) -> tuple[NodeId, ...]:
        """Return all others."""
        return tuple(node for node in range(self.replicas) if node != self.node)

    def notarize(self, proposal: Proposal) -> Notarize:
        """Sign a vote."""
        return Notarize(self.node, proposal, self._scheme.sign(NOTARIZE_NAMESPACE, encode_proposal(proposal)))

    def finalize(self, proposal: Proposal) -> Finalize:
        """Sign a vote."""
        return Finalize(self.node, proposal, self._scheme.sign(FINALIZE_NAMESPACE, encode_proposal(proposal)))

    def nullify(self, view: int) -> Nullify:
        """Sign a vote."""
        return Nullify(self.node, view, self._scheme.sign(NULLIFY_NAMESPACE, encode_round(view)))

    def keep(self, block: Block) -> bytes:
        """Remember a block that the validator does not know as its own; return its digest."""
        digest = block_digest(block)
        self.made[digest] = block
        while len(self.made) > BLOCKS_KEPT:
            del self.made[next(iter(self.made))]
        return digest

    def note_proposal(self, proposal: Proposal) -> None:
        """Remember what a leader has proposed."""
        self._proposals.setdefault(proposal.view, {})[proposal.payload] = proposal
        while len(self._proposals) > _VIEWS_KEPT:
            del self._proposals[next(iter(self._proposals))]

    def proposals(self, view: int) -> list[Proposal]:
        """Return what the leader of a view has proposed, as far as is known here, by ascending digest."""
        known = self._proposals.get(view, {})
        return [known[payload] for payload in sorted(known)]

    def draw(self, subject: str, bound: int) -> int:
        """Return the next draw of a subject, below `bound`."""
        ordinal = self._draws.get(subject, 0)
        self._draws[subject] = ordinal + 1
        return below(self._chance.draw("lie", subject, ordinal), bound)
