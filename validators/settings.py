"""Settings of a validator at its start: its place, its rules, the cost of its work, and its parts.

Every part comes from a factory of the validator's own, so that one validator of a cluster can be
given another part, a mutant or another apply mode, without touching the rest
(docs/design.md: validators share nothing but the bus).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple, Protocol

from network.codec import Codec
from network.memo import Memo
from scheduler import POLICIES, Policy
from validators.actors import PROGRAMS, Actor
from validators.consensus.interface import EngineConfig
from validators.consensus.kind import EngineKind
from validators.consensus.signing import Ed25519Scheme, RememberingScheme
from validators.execution import ApplyMode, Engine, Executed, Genesis, ProposalContext
from validators.execution.blocks import Header, Transaction
from validators.identity import TransactionVerifier
from validators.messages import Message, message_codec
from validators.state import Grown, GrowTree, Snapshot, growing_with
from validators.storage import Barrier, Disk, SyncPoint


class RestoredLog(NamedTuple):
    """A finalized log read back: all operations, the header they lead to, and the state that they follow.

    Without operations and a base it stands for genesis.
    """

    operations: Sequence[bytes] | None = None
    header: Header | None = None
    base: Snapshot | None = None


EMPTY_LOG: Final = RestoredLog()

DECODED_MAX: Final = 4_096
SIGNATURES_MAX: Final = 65_536
TREES_MAX: Final = 128
"""Results that the validators of a run share; of trees, with their leaves, those of the last few blocks."""

CYCLES_PER_COST: Final = 1_000
"""`Costs.execute_us` is charged for each thousand cycles begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Virtual time that work takes, in whole microseconds (docs/scenarios.md), and what a peer gets of it."""

    verify_signature_us: int = 60
    execute_us: int = 20
    block_us: int = 500
    hash_write_us: int = 5
    sync_us: int = 2_000
    decode_kib_us: int = 2
    """For each whole KiB of a message that arrives, whatever is in it."""
    serve_block_us: int = 50
    """For each block that a peer has asked for."""
    answers_per_second: int = 8
    """Requests of one kind that are answered to each peer in a second."""

    def of_execution(self, cycles: int, writes: int, signatures: int) -> int:
        """Return the virtual microseconds that executing a block takes."""
        begun = -(-cycles // CYCLES_PER_COST)
        return (
            self.block_us
            + begun * self.execute_us
            + writes * self.hash_write_us
            + signatures * self.verify_signature_us
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorSettings:
    """Local policy of one replica. Times are virtual microseconds, `max_skew_ms` is header time."""

    node: int
    validators: int
    consensus: EngineKind
    consensus_config: EngineConfig
    costs: Costs
    block_interval_us: int
    max_skew_ms: int
    fetch_grace_us: int
    fetch_timeout_us: int
    regossip_us: int
    snapshot_gap_blocks: int
    """Finalized blocks behind which a validator asks for a snapshot instead of the blocks."""
    snapshot_chunk_bytes: int
    """A served piece of a snapshot closes at this many bytes."""
    speculates: bool = True
    """Whether blocks are executed before they are final, to verify and to certify them; a validator must."""

    @property
    def is_validator(self) -> bool:
        """Whether this replica is one of the validators; one beyond them follows and sends no vote."""
        return self.node < self.validators


class ExecutionEngineMaker(Protocol):
    """Makes an engine from genesis, or from a log read back."""

    def __call__(
        self, genesis: Genesis, verify_transaction: Callable[[Transaction], bool], log: RestoredLog = EMPTY_LOG
    ) -> Engine:
        """Return an engine of its own."""


SchemeMaker = Callable[[bytes, Sequence[bytes]], RememberingScheme]
CodecMaker = Callable[[EngineKind], Codec[Message]]
VerifierMaker = Callable[[], TransactionVerifier]
BarrierMaker = Callable[[Disk, Callable[[SyncPoint], None]], Barrier]
Proposer = Callable[[Engine, ProposalContext, Iterable[Transaction]], Executed]


def make_engine(
    genesis: Genesis,
    verify_transaction: Callable[[Transaction], bool],
    log: RestoredLog = EMPTY_LOG,
    *,
    programs: Mapping[str, type[Actor]] = PROGRAMS,
    apply_mode: ApplyMode | None = None,
    policies: Mapping[str, Callable[[], Policy]] = POLICIES,
) -> Engine:
    """Return an engine of its own: from genesis, or from a log read back."""
    return Engine(
        genesis,
        programs=programs,
        verify_transaction=verify_transaction,
        operations=log.operations,
        header=log.header,
        base=log.base,
        apply_mode=apply_mode,
        policies=policies,
    )


def make_scheme(seed: bytes, public_keys: Sequence[bytes], shared: Memo[bool] | None = None) -> RememberingScheme:
    """Return an Ed25519 scheme of its own; `shared` has what others have verified."""
    return Ed25519Scheme(seed, public_keys, shared)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorFactory:
    """The makers of a validator's parts.

    `around` gives the context in which every synchronous step of the validator runs: a mutant is in place for just so
    long (checker/mutants).
    """

    engine: ExecutionEngineMaker = field(default=make_engine)
    scheme: SchemeMaker = field(default=make_scheme)
    codec: CodecMaker = field(default=message_codec)
    verifier: VerifierMaker = field(default=TransactionVerifier)
    barrier: BarrierMaker = field(default=Barrier)
    propose: Proposer = field(default=Engine.propose)
    around: Callable[[], AbstractContextManager[None]] = field(default=nullcontext)


def sharing(factories: Iterable[ValidatorFactory]) -> Iterator[ValidatorFactory]:
    """Yield factories whose validators share results of pure functions: decoded messages, signatures, hashed trees."""
    decoded: Memo[Message] = Memo(DECODED_MAX)
    votes: Memo[bool] = Memo(SIGNATURES_MAX)
    transactions: Memo[bool] = Memo(SIGNATURES_MAX)
    grow = growing_with(Memo[Grown](TREES_MAX))
    for factory in factories:
        yield replace(
            factory,
            engine=_growing(factory.engine, grow),
            codec=partial(message_codec, shared=decoded),
            scheme=partial(make_scheme, shared=votes),
            verifier=partial(TransactionVerifier, transactions),
        )


def _growing(make: ExecutionEngineMaker, grow: GrowTree) -> ExecutionEngineMaker:
    """Return a maker of engines whose trees are hashed by `grow`."""

    def made(
        genesis: Genesis, verify_transaction: Callable[[Transaction], bool], log: RestoredLog = EMPTY_LOG
    ) -> Engine:
        engine = make(genesis, verify_transaction, log)
        engine.database.grow_by(grow)
        return engine

    return made
