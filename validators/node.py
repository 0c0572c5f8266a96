"""One validator: the thin trio shell around its synchronous parts.

It receives an event, hands it to the part that decides, and performs the effects that come back.
Two things are to be seen in this file and nowhere else:

- the write-ahead order. What consensus appends goes to the journal at once; what it sends goes
  through ``Barrier.then`` and so leaves only after the sync (``_perform``). A certification is
  reported only when the block is on the disk (``_certify``), and a finalized block is applied only
  when its operations are (``_finalize``);
- virtual cost. Verifying a signature, executing a block and syncing the disk complete as later
  events of the kernel's queue; messages arrive meanwhile.

A restart (``_recover``) reads the disk and nothing else: the operation log becomes the state, whose
root must be that of the last finalized header; the journal becomes consensus; certified blocks that
were not final are executed again.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, assert_never

from network.codec import Refused
from network.port import Delivery, Inbound, Port, TimerFired, WorkDone
from network.types import Label
from validators.block_exchange import BlockExchange
from validators.consensus import (
    Append,
    Artifact,
    Broadcast,
    CancelTimer,
    CertificateResponse,
    Certify,
    CorruptArtifactError,
    Effect,
    Entered,
    Finalization,
    Finalize,
    Finalized,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Propose,
    RelayPayload,
    Report,
    Send,
    SetTimer,
    Simplex,
    Verify,
    certificate_signers,
    decode_artifact,
    encode_artifact,
    view_of,
)
from validators.execution import Engine, Executed, Genesis, InvalidEncodingError, ProposalContext, RootMismatchError
from validators.execution.blocks import Block, Header, block_digest, decode_block, encode_block
from validators.follower import Follower, Goal, Purpose, Settled, run_block
from validators.gossip import Gossip, Verified
from validators.identity import TransactionVerifier
from validators.messages import (
    BlockRelay,
    BlockRequest,
    BlockResponse,
    ConsensusMessage,
    TransactionGossip,
    block_label,
    message_codec,
)
from validators.settings import ValidatorFactory, ValidatorSettings
from validators.state import CorruptLog
from validators.storage import (
    BlockFile,
    CorruptLogError,
    CorruptRecordError,
    Disk,
    FinalizedEntry,
    FinalizedLog,
    Journal,
    SyncPoint,
)

_DOUBTFUL: Final = (
    CorruptArtifactError,
    CorruptLog,
    CorruptLogError,
    CorruptRecordError,
    InvalidEncodingError,
    RootMismatchError,
)
"""What a disk may hold that a validator must not go on with."""


class _Checked(NamedTuple):
    """A consensus message whose signatures have been verified."""

    sender: int
    message: ConsensusMessage


class _ExecutionOver(NamedTuple):
    digest: bytes
    mode: str
    view: int


class _Recovered(NamedTuple):
    pass


@dataclass(slots=True)
class ValidatorCounts:
    """What one validator has done in its whole life, over all its restarts."""

    height: int = 0
    executed: int = 0
    rolled_back: int = 0
    finalized: int = 0
    refused: int = 0
    halted: str = ""


class Validator:
    """One incarnation of a validator, from power on to crash."""

    def __init__(
        self,
        *,
        port: Port,
        disk: Disk,
        genesis: Genesis,
        seed: bytes,
        public_keys: tuple[bytes, ...],
        settings: ValidatorSettings,
        factory: ValidatorFactory,
        counts: ValidatorCounts,
        incarnation: int,
        on_applied: Callable[[Executed], None],
    ) -> None:
        self._port = port
        self._disk = disk
        self._genesis = genesis
        self._settings = settings
        self._factory = factory
        self._counts = counts
        self._incarnation = incarnation
        self._on_applied = on_applied
        self._codec = message_codec()
        self._journal = Journal(disk)
        self._block_file = BlockFile(disk)
        self._log = FinalizedLog(disk)
        self._barrier = factory.barrier(disk, self._start_sync)
        self._verifier = TransactionVerifier()
        self._scheme = factory.scheme(seed, public_keys)
        self._engine: Engine
        self._follower: Follower
        self._simplex: Simplex
        self._is_started = False
        self._finalizing: bytes | None = None
        self._signatures_charged = 0
        self._paced: dict[int, Propose] = {}
        self._gossip = Gossip(port, self._codec, self._verifier, settings, refuse=self._refuse)
        self._exchange: BlockExchange

    @property
    def engine(self) -> Engine | None:
        """The validator's own engine, for the checks at the end of a run; None where its disk gave none."""
        return getattr(self, "_engine", None)

    @property
    def is_serving(self) -> bool:
        """Whether the validator has recovered and has not halted."""
        return self._is_started and not self._counts.halted

    async def run(self) -> None:
        """Recover from the disk, then serve events until the power goes."""
        try:
            self._recover()
        except _DOUBTFUL as error:
            self._halt(str(error))
        while True:
            event = await self._port.receive()
            if not self._counts.halted:
                self._handle(event)

    # -- start ---------------------------------------------------------------------------------

    def _recover(self) -> None:
        self._block_file.load()
        entries = list(self._log.replay())
        self._engine = self._reopen_engine(entries)
        self._follower = Follower(self._engine, execute=self._execute, request=self._request, settle=self._settle)
        self._exchange = BlockExchange(
            self._port, self._codec, self._follower, self._block_file, self._settings, refuse=self._refuse
        )
        self._simplex = Simplex(
            me=self._settings.node,
            validators=self._settings.validators,
            scheme=self._scheme,
            config=self._settings.consensus,
            genesis=self._engine.genesis_digest,
        )
        self._simplex.replay([decode_artifact(encoded) for encoded in self._journal.replay()])
        cost_us = self._settings.costs.block_us * len(entries) + self._execute_certified()
        self._port.work(cost_us, _Recovered())

    def _reopen_engine(self, entries: list[FinalizedEntry]) -> Engine:
        if not entries:
            return self._factory.engine(self._genesis, self._verifier, None, None)
        encoded = self._block_file.get(entries[-1].digest)
        if encoded is None:
            raise CorruptLogError(f"block of finalized height {entries[-1].height} is not in the block file")
        operations = [operation for entry in entries for operation in entry.operations]
        return self._factory.engine(self._genesis, self._verifier, operations, decode_block(encoded).header)

    def _execute_certified(self) -> int:
        """Execute again the certified blocks above the finalized one; return what it costs, in microseconds."""
        cost_us = 0
        for encoded in self._block_file.above(self._engine.finalized.height):
            block = decode_block(encoded)
            digest = block_digest(block)
            self._follower.add_block(digest, block)
            if self._follower.is_ready(block.header.parent):
                cost_us += self._execution_cost(run_block(self._engine, block))
                self._count_execution(digest, "recover")
        return cost_us

    def _count_execution(self, digest: bytes, mode: str) -> None:
        executed = self._engine.executed(digest)
        if executed is not None:
            header = executed.header
            self._counts.executed += 1
            self._counts.height = max(self._counts.height, header.height)
            self._port.trace("executed", header.height, header.view, digest, header.state_root, mode)

    def _start(self) -> None:
        self._is_started = True
        self._port.trace(
            "boot",
            self._incarnation,
            self._simplex.view,
            self._engine.finalized.height,
            self._engine.finalized.state_root,
        )
        self._gossip.start()
        self._perform(self._simplex.start())
        if self._simplex.finalized_view > self._engine.finalized.view:
            self._want_finalized(self._simplex.finalized_view, self._simplex.finalized_payload)

    def _halt(self, reason: str) -> None:
        """Stop for good with a named reason: a validator never goes on with doubtful state."""
        self._counts.halted = reason
        self._port.trace("halted", reason)

    # -- events --------------------------------------------------------------------------------

    def _handle(self, event: Inbound) -> None:
        if isinstance(event, WorkDone):
            self._handle_work(event.token)
        elif not self._is_started:
            self._port.trace("refused", type(event).__name__, "recovering")
        elif isinstance(event, Delivery):
            self._handle_delivery(event)
        elif isinstance(event, TimerFired):
            self._handle_timer(event.key)
        else:
            self._gossip.submit(event.payload)

    def _handle_work(self, token: object) -> None:
        if isinstance(token, SyncPoint):
            self._barrier.finish(token)
        elif isinstance(token, _Checked):
            self._perform(self._simplex.receive(token.sender, token.message))
        elif isinstance(token, _ExecutionOver):
            self._end_execution(token)
        elif isinstance(token, Verified):
            self._gossip.pool(token)
        else:
            self._start()

    def _handle_delivery(self, delivery: Delivery) -> None:
        try:
            message = self._codec.decode(delivery.payload)
        except Refused as error:
            self._refuse("message", error.reason.name)
            return
        if isinstance(message, BlockRelay):
            self._exchange.take((message.block,))
        elif isinstance(message, BlockResponse):
            self._exchange.take(message.blocks)
        elif isinstance(message, BlockRequest):
            self._exchange.serve(delivery.source, message)
        elif isinstance(message, TransactionGossip):
            self._gossip.take(message.transactions)
        else:
            self._check_consensus(delivery.source, message)

    def _check_consensus(self, sender: int, message: ConsensusMessage) -> None:
        verdict = self._simplex.check(sender, message)
        if not verdict.ok:
            if verdict.reason != "stale":
                self._refuse(type(message).__name__, verdict.reason)
            return
        cost_us = verdict.signatures_verified * self._settings.costs.verify_signature_us
        self._port.work(cost_us, _Checked(sender, message))

    def _refuse(self, what: str, reason: str) -> None:
        self._counts.refused += 1
        self._port.trace("refused", what, reason)

    def _handle_timer(self, key: object) -> None:
        match key:
            case ("consensus", str(name), int(view)):
                self._perform(self._simplex.timer(name, view))
            case ("pace", int(view)):
                self._propose_now(view)
            case ("fetch", bytes(digest)):
                self._exchange.retry(digest)
            case _:
                self._gossip.regossip()

    # -- consensus effects ---------------------------------------------------------------------

    def _perform(self, effects: Iterable[Effect]) -> None:
        """Perform one step's effects: first everything is appended, only then the rest in order."""
        steps = list(effects)
        artifacts = [effect.artifact for effect in steps if isinstance(effect, Append)]
        for artifact in artifacts:
            self._journal.append(encode_artifact(artifact))
        # After all appends, so that one sync covers them; and once durable, because a certificate that a crash takes
        # back was never held.
        for artifact in artifacts:
            self._barrier.then(partial(self._trace_certificate, artifact))
        for effect in steps:
            self._perform_one(effect)

    def _perform_one(self, effect: Effect) -> None:  # noqa: C901, PLR0912 - one flat line per kind of effect
        match effect:
            case Append():
                pass
            case Broadcast(message):
                self._barrier.then(lambda: self._broadcast(message))
            case Send(to, message):
                self._barrier.then(lambda: self._send(to, message))
            case SetTimer(name, view, after_us):
                self._port.set_timer(("consensus", name, view), self._port.now_us + after_us)
            case CancelTimer(name, view):
                self._port.cancel_timer(("consensus", name, view))
            case Propose():
                self._pace(effect)
            case Verify(proposal, parent):
                self._follower.want(Goal(Purpose.VERIFY, proposal.view, proposal.payload, proposal, parent.payload))
            case Certify(proposal):
                self._follower.want(Goal(Purpose.CERTIFY, proposal.view, proposal.payload, proposal))
            case Finalized(proposal):
                self._want_finalized(proposal.view, proposal.payload)
            case Entered(view, leader):
                self._port.trace("enter", view, leader)
                self._follower.abandon(lambda goal: goal.purpose >= Purpose.VERIFY and goal.view < view)
            case RelayPayload(payload):
                # Before the vote is durable, as the specification has it: a block is not a promise.
                self._relay(payload)
            case Report(activity, signer, view):
                self._port.trace("report", activity, signer, view)
            case _:
                assert_never(effect)

    def _broadcast(self, message: ConsensusMessage) -> None:
        if isinstance(message, Notarize | Finalize):
            self._port.trace("vote", type(message).__name__.lower(), message.proposal.view, message.proposal.payload)
        elif isinstance(message, Nullify):
            self._port.trace("vote", "nullify", message.view, b"")
        self._port.broadcast(self._codec.encode(message), self._label(message))

    def _send(self, to: int, message: ConsensusMessage) -> None:
        self._port.send(to, self._codec.encode(message), self._label(message))

    def _label(self, message: ConsensusMessage) -> Label:
        """Say what a message is about: its certificate's view rather than the one asked for, its block's height."""
        kind = type(message).__name__
        if isinstance(message, CertificateResponse):
            message = message.certificate
        block = None
        if isinstance(message, Notarize | Finalize | Notarization | Finalization):
            block = self._follower.block(message.proposal.payload)
        return Label(kind, view_of(message), None if block is None else block.header.height)

    def _trace_certificate(self, artifact: Artifact) -> None:
        if isinstance(artifact, Notarization | Finalization):
            view, payload = artifact.proposal.view, artifact.proposal.payload
        elif isinstance(artifact, Nullification):
            view, payload = artifact.view, b""
        else:
            return
        signers = certificate_signers(artifact)
        self._port.trace("certificate", type(artifact).__name__.lower(), view, payload, tuple(signers))

    # -- proposing -----------------------------------------------------------------------------

    def _pace(self, propose: Propose) -> None:
        """Wait until the block interval since the parent's timestamp is over, by the local clock."""
        self._paced = {propose.view: propose}
        self._follower.want(Goal(Purpose.PROPOSE, propose.view, propose.parent.payload))

    def _propose_when_due(self, view: int) -> None:
        parent = self._header_of(self._paced[view].parent.payload)
        due_us = parent.timestamp_ms * 1_000 + self._settings.block_interval_us
        if due_us > self._port.now_us:
            self._port.set_timer(("pace", view), due_us)
        else:
            self._propose_now(view)

    def _propose_now(self, view: int) -> None:
        propose = self._paced.pop(view, None)
        if propose is None or view != self._simplex.view or not self._follower.is_ready(propose.parent.payload):
            return
        context = ProposalContext(
            parent=propose.parent.payload,
            view=view,
            proposer=self._settings.node,
            timestamp_ms=max(self._port.now_us // 1_000, self._header_of(propose.parent.payload).timestamp_ms + 1),
        )
        executed = self._engine.propose(context, self._gossip.candidates())
        self._follower.add_block(executed.digest, executed.block)
        self._follower.begin(executed.digest)
        self._port.work(self._execution_cost(executed), _ExecutionOver(executed.digest, "propose", view))

    def _header_of(self, digest: bytes) -> Header:
        executed = self._engine.executed(digest)
        return self._engine.finalized if executed is None else executed.header

    def _relay(self, digest: bytes) -> None:
        block = self._follower.block(digest)
        if block is not None:
            relay = BlockRelay(encode_block(block))
            self._port.broadcast(self._codec.encode(relay), block_label(relay, block.header))

    # -- executing -----------------------------------------------------------------------------

    def _request(self, digest: bytes, goal: Goal) -> None:
        self._exchange.request(digest, self._simplex.leader(goal.view) if goal.digest == digest else None)

    def _execute(self, block: Block, digest: bytes) -> None:
        outcome = run_block(self._engine, block)
        if isinstance(outcome, str):
            self._follower.mark_invalid(digest, outcome)
        self._follower.begin(digest)
        self._port.work(self._execution_cost(outcome), _ExecutionOver(digest, "verify", block.header.view))

    def _execution_cost(self, outcome: Executed | str) -> int:
        signatures, self._signatures_charged = (
            self._verifier.verified - self._signatures_charged,
            self._verifier.verified,
        )
        if isinstance(outcome, str):
            return self._settings.costs.of_execution(0, 0, signatures)
        summary = outcome.summary
        cycles = summary.cycles_used + summary.lane_cycles + summary.gc_cycles
        return self._settings.costs.of_execution(cycles, len(outcome.changes), signatures)

    def _end_execution(self, over: _ExecutionOver) -> None:
        self._follower.end(over.digest)
        self._count_execution(over.digest, over.mode)
        if over.mode == "propose":
            self._perform(self._simplex.proposed(over.view, over.digest))
        self._follower.advance()

    # -- goals reached -------------------------------------------------------------------------

    def _settle(self, goal: Goal, settled: Settled) -> None:
        if not settled.is_ready:
            self._refuse(goal.purpose.name.lower(), settled.reason)
        if goal.purpose is Purpose.PROPOSE:
            if settled.is_ready and goal.view in self._paced:
                self._propose_when_due(goal.view)
        elif goal.purpose is Purpose.FINALIZE:
            self._finalize(goal, settled)
        elif goal.purpose is Purpose.CERTIFY:
            self._certify(goal, settled)
        else:
            self._verify(goal, settled)

    def _verify(self, goal: Goal, settled: Settled) -> None:
        assert goal.proposal is not None, "consensus asked about a proposal"
        header = self._header_of(goal.digest)
        limit_ms = self._port.now_us // 1_000 + self._settings.max_skew_ms
        is_sound = (
            settled.is_ready
            and self._is_of_view(header, goal.view)
            and header.parent == goal.parent
            and header.timestamp_ms <= limit_ms
        )
        self._perform(self._simplex.verified(goal.proposal, is_sound))

    def _is_of_view(self, header: Header, view: int) -> bool:
        return header.view == view and header.proposer == self._simplex.leader(view)

    def _certify(self, goal: Goal, settled: Settled) -> None:
        """Report a certification once the block would survive a crash."""
        proposal = goal.proposal
        assert proposal is not None, "consensus asked about a proposal"
        block = self._follower.block(goal.digest)
        is_sound = settled.is_ready and block is not None and self._is_of_view(block.header, goal.view)
        if is_sound and block is not None:
            self._store(goal.digest, block)
        self._barrier.then(lambda: self._perform(self._simplex.certified(proposal, is_sound)))

    def _store(self, digest: bytes, block: Block) -> None:
        self._block_file.append(height=block.header.height, digest=digest, block=encode_block(block))

    # -- finality ------------------------------------------------------------------------------

    def _want_finalized(self, view: int, digest: bytes) -> None:
        self._follower.abandon(lambda goal: goal.view <= view and goal.purpose is not Purpose.PROPOSE)
        if self._finalizing is None:
            self._follower.want(Goal(Purpose.FINALIZE, view, digest))

    def _finalize(self, goal: Goal, settled: Settled) -> None:
        """Write the blocks and their operations, sync, and only then apply."""
        if not settled.is_ready:
            self._halt(f"finalized block of view {goal.view} cannot be executed: {settled.reason}")
            return
        self._finalizing = goal.digest
        for executed in self._engine.path_to(goal.digest):
            self._store(executed.digest, executed.block)
            self._log.append(FinalizedEntry(executed.header.height, executed.digest, tuple(executed.operations)))
        self._barrier.then(lambda: self._apply(goal.digest))

    def _apply(self, digest: bytes) -> None:
        finalization = self._engine.finalize(digest)
        for executed in finalization.applied:
            header = executed.header
            self._counts.finalized += 1
            self._port.trace("finalized", header.height, header.view, executed.digest, header.state_root)
            self._on_applied(executed)
            self._gossip.remove_included(executed.block)
        for dropped in finalization.dropped:
            self._counts.rolled_back += 1
            self._port.trace("rolled-back", dropped.header.height, dropped.digest)
        self._finalizing = None
        self._follower.prune()
        if self._simplex.finalized_view > self._engine.finalized.view:
            self._want_finalized(self._simplex.finalized_view, self._simplex.finalized_payload)

    def _start_sync(self, point: SyncPoint) -> None:
        self._port.work_on("disk", self._settings.costs.sync_us, point)
