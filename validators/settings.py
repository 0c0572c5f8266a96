"""Settings of a validator at its start: its place, its rules, the cost of its work, and its parts.

Every part comes from a factory of the validator's own. So a single validator of a cluster can get another part, a
mutant or another apply mode, without touching the rest (docs/design.md: validators share nothing but the bus).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from network.codec import Codec
from network.memo import Memo
from scheduler import POLICIES, Policy, Reach
from validators.actors import PROGRAMS, Actor
from validators.consensus.interface import EngineConfig
from validators.consensus.kind import EngineKind
from validators.consensus.signing import Ed25519Scheme, RememberingScheme
from validators.costs import Costs
from validators.execution import ApplyMode, Engine, ExecutedBlock, ExecutionLayer, Genesis, ProposalContext
from validators.execution.blocks import Transaction
from validators.identity import TransactionVerifier
from validators.mempool.pool import Mempool, TransactionPool
from validators.messages import Message, message_codec
from validators.restored import EMPTY_LOG, LayerMaker, RestoredLog
from validators.state import Sharing
from validators.storage import Barrier, Disk, SyncPoint

DECODED_MAX: Final = 4_096
SIGNATURES_MAX: Final = 65_536
"""Most results that the validators of a run share."""


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
    """A served piece of a snapshot is closed once it has this many bytes."""
    blocks_peers_us: int = 0
    """The time for which a peer is cut off that sent what no honest validator sends; 0 for never."""
    speculates: bool = True
    """Whether blocks are executed before they are final, to verify and to certify them; a validator must."""

    @property
    def is_validator(self) -> bool:
        """Whether this replica is a validator; any other replica follows and sends no vote."""
        return self.node < self.validators


SchemeMaker = Callable[[bytes, Sequence[bytes]], RememberingScheme]
CodecMaker = Callable[[EngineKind], Codec[Message]]
VerifierMaker = Callable[[], TransactionVerifier]
PoolMaker = Callable[[Callable[[bytes], int], TransactionVerifier, Reach], TransactionPool]
BarrierMaker = Callable[[Disk, Callable[[SyncPoint], None]], Barrier]
Proposer = Callable[[ExecutionLayer, ProposalContext, Iterable[Transaction]], ExecutedBlock]


def make_engine(
    genesis: Genesis,
    verify_transaction: Callable[[Transaction], bool],
    log: RestoredLog = EMPTY_LOG,
    *,
    programs: Mapping[str, type[Actor]] = PROGRAMS,
    apply_mode: ApplyMode | None = None,
    policies: Mapping[str, Callable[[], Policy]] = POLICIES,
) -> Engine:
    """Return a new engine, from genesis or from a log read back; raises the error of a wrong log."""
    base = log.read_base()
    return Engine(
        genesis,
        programs=programs,
        verify_transaction=verify_transaction,
        operations=log.operations() or None,
        header=log.last_header(base),
        base=None if base is None else base.snapshot,
        apply_mode=apply_mode,
        policies=policies,
    )


def propose_on(layer: ExecutionLayer, context: ProposalContext, candidates: Iterable[Transaction]) -> ExecutedBlock:
    """Have a layer build its block from the candidates."""
    return layer.propose(context, candidates)


def make_mempool(next_nonce: Callable[[bytes], int], verifier: TransactionVerifier, reach: Reach) -> TransactionPool:
    """Return the pool of the project's own chain, empty."""
    return Mempool(next_nonce, verifier, reach=reach)


def make_scheme(seed: bytes, public_keys: Sequence[bytes], shared: Memo[bool] | None = None) -> RememberingScheme:
    """Return a new Ed25519 scheme; `shared` has signatures that other validators have verified."""
    return Ed25519Scheme(seed, public_keys, shared)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorFactory:
    """The makers of a validator's parts.

    `around` gives the context in which every synchronous step of the validator runs; a mutant is in place only within
    it (checker/mutants).
    """

    layer: LayerMaker = field(default=make_engine)
    scheme: SchemeMaker = field(default=make_scheme)
    codec: CodecMaker = field(default=message_codec)
    verifier: VerifierMaker = field(default=TransactionVerifier)
    barrier: BarrierMaker = field(default=Barrier)
    propose: Proposer = field(default=propose_on)
    pool: PoolMaker = field(default=make_mempool)
    around: Callable[[], AbstractContextManager[None]] = field(default=nullcontext)


def sharing(factories: Iterable[ValidatorFactory]) -> Iterator[ValidatorFactory]:
    """Yield factories whose validators share results of pure functions: decoded messages, signatures, equal batches."""
    decoded: Memo[Message] = Memo(DECODED_MAX)
    votes: Memo[bool] = Memo(SIGNATURES_MAX)
    transactions: Memo[bool] = Memo(SIGNATURES_MAX)
    databases = Sharing()
    for factory in factories:
        yield replace(
            factory,
            layer=_sharing_state(factory.layer, databases),
            codec=partial(message_codec, shared=decoded),
            scheme=partial(make_scheme, shared=votes),
            verifier=partial(TransactionVerifier, transactions),
        )


def _sharing_state(make: LayerMaker, databases: Sharing) -> LayerMaker:
    """Return a maker of layers whose databases, where they have some, share equal data."""

    def made(
        genesis: Genesis, verify_transaction: Callable[[Transaction], bool], log: RestoredLog = EMPTY_LOG
    ) -> ExecutionLayer:
        layer = make(genesis, verify_transaction, log)
        if layer.tables is not None:
            layer.tables.database.share(databases)
        return layer

    return made
