"""One validator: the thin trio shell around its synchronous parts.

It receives an event, hands it to the part that decides, and performs the effects that come back.
Two things are to be seen here:

- the write-ahead order. What consensus appends goes to the journal at once; what it sends goes
  through ``Barrier.then`` and so leaves only after the sync (``_perform``);
- virtual cost. Verifying a signature, executing a block and syncing the disk complete as later
  events of the kernel's queue; messages arrive meanwhile.

A restart (``_recover``) reads the disk and nothing else: the operation log becomes the state, whose
root must be that of the last finalized header; the journal becomes consensus; certified blocks that
were not final are executed again.
"""

import traceback
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, assert_never

from network.codec import Refused
from network.port import Delivery, Inbound, Port, TimerFired, WorkDone
from network.types import Label
from validators.application import BROKEN, Answers, Application, ExecutionOver, Surroundings, ValidatorCounts
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
from validators.execution import Engine, Executed, Genesis, InvalidEncodingError, RootMismatchError
from validators.execution.blocks import decode_block
from validators.gossip import Gossip, Verified
from validators.identity import TransactionVerifier
from validators.messages import (
    BlockRelay,
    BlockRequest,
    BlockResponse,
    ConsensusMessage,
    TransactionGossip,
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


class _Recovered(NamedTuple):
    pass


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
        self._simplex: Simplex
        self._application: Application | None = None
        self._is_started = False
        self._steps: deque[list[Effect]] = deque()
        self._gossip = Gossip(port, self._codec, self._verifier, settings, refuse=self._refuse)

    @property
    def engine(self) -> Engine | None:
        """The validator's own engine, for the checks at the end of a run; None where its disk gave none."""
        return None if self._application is None else self._application.engine

    @property
    def is_serving(self) -> bool:
        """Whether the validator has recovered and has not halted."""
        return self._is_started and not self._counts.halted

    async def run(self) -> None:
        """Recover from the disk, then serve events until the power goes."""
        try:
            with self._factory.around():
                self._recover()
        except _DOUBTFUL as error:
            self._halt(str(error))
        while True:
            event = await self._port.receive()
            if not self._counts.halted:
                self._handle_or_halt(event)

    def _handle_or_halt(self, event: Inbound) -> None:
        """Serve one event; a broken invariant ends this validator and not the run, so that the checks can judge it."""
        try:
            with self._factory.around():
                self._handle(event)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one validator is a finding, not a breakdown
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(frame.filename).name}:{frame.lineno}"
            self._halt(f"{BROKEN} at {place}: {type(error).__name__}: {error}")

    # -- start ---------------------------------------------------------------------------------

    def _recover(self) -> None:
        self._block_file.load()
        entries = list(self._log.replay())
        application = self._application = self._make_application(self._reopen_engine(entries))
        self._simplex = Simplex(
            me=self._settings.node,
            validators=self._settings.validators,
            scheme=self._scheme,
            config=self._settings.consensus,
            genesis=application.engine.genesis_digest,
        )
        self._simplex.replay([decode_artifact(encoded) for encoded in self._journal.replay()])
        cost_us = self._settings.costs.block_us * len(entries) + application.recover()
        self._port.work(cost_us, _Recovered())

    def _reopen_engine(self, entries: list[FinalizedEntry]) -> Engine:
        if not entries:
            return self._factory.engine(self._genesis, self._verifier, None, None)
        encoded = self._block_file.get(entries[-1].digest)
        if encoded is None:
            raise CorruptLogError(f"block of finalized height {entries[-1].height} is not in the block file")
        operations = [operation for entry in entries for operation in entry.operations]
        return self._factory.engine(self._genesis, self._verifier, operations, decode_block(encoded).header)

    def _make_application(self, engine: Engine) -> Application:
        surroundings = Surroundings(
            port=self._port,
            codec=self._codec,
            settings=self._settings,
            counts=self._counts,
            verifier=self._verifier,
            gossip=self._gossip,
            block_file=self._block_file,
            log=self._log,
            barrier=self._barrier,
            leader=lambda view: self._simplex.leader(view),  # noqa: PLW0108 - consensus is made after the application
        )
        answers = Answers(
            proposed=lambda view, digest: self._perform(self._simplex.proposed(view, digest)),
            verified=lambda proposal, ok: self._perform(self._simplex.verified(proposal, ok)),
            certified=lambda proposal, ok: self._perform(self._simplex.certified(proposal, ok)),
            halt=self._halt,
            refuse=self._refuse,
            applied=self._on_applied,
        )
        return Application(engine, surroundings, answers)

    def _start(self, application: Application) -> None:
        self._is_started = True
        finalized = application.engine.finalized
        self._port.trace(
            "boot", self._incarnation, self._simplex.view, finalized.height, application.engine.database.canonical_root
        )
        self._gossip.start()
        self._perform(self._simplex.start())
        # The journal may know of a finalization that the log had no time for.
        application.finalize(self._simplex.finalized_view, self._simplex.finalized_payload)

    def _halt(self, reason: str) -> None:
        """Stop for good with a named reason: a validator never goes on with doubtful state."""
        self._counts.halted = reason
        self._port.trace("halted", reason)

    # -- events --------------------------------------------------------------------------------

    def _handle(self, event: Inbound) -> None:
        application = self._application
        assert application is not None, "a validator without an application has halted"
        if isinstance(event, WorkDone):
            self._handle_work(event.token, application)
        elif not self._is_started:
            self._port.trace("refused", type(event).__name__, "recovering")
        elif isinstance(event, Delivery):
            self._handle_delivery(event, application)
        elif isinstance(event, TimerFired):
            self._handle_timer(event.key, application)
        else:
            self._gossip.submit(event.payload)

    def _handle_work(self, token: object, application: Application) -> None:
        if isinstance(token, SyncPoint):
            self._barrier.finish(token)
        elif isinstance(token, _Checked):
            self._perform(self._simplex.receive(token.sender, token.message))
        elif isinstance(token, ExecutionOver):
            application.end_execution(token)
        elif isinstance(token, Verified):
            self._gossip.pool(token)
        else:
            self._start(application)

    def _handle_delivery(self, delivery: Delivery, application: Application) -> None:
        try:
            message = self._codec.decode(delivery.payload)
        except Refused as error:
            self._refuse("message", error.reason.name)
            return
        if isinstance(message, BlockRelay):
            application.exchange.take((message.block,))
        elif isinstance(message, BlockResponse):
            application.exchange.take(message.blocks)
        elif isinstance(message, BlockRequest):
            application.exchange.serve(delivery.source, message)
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

    def _handle_timer(self, key: object, application: Application) -> None:
        match key:
            case ("consensus", str(name), int(view)):
                self._perform(self._simplex.timer(name, view))
            case ("pace", int(view)):
                application.pace(view)
            case ("fetch", bytes(digest)):
                application.exchange.retry(digest)
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
        self._steps.append(steps)
        if len(self._steps) > 1:
            # An effect of an earlier step was answered at once: that step's other effects come first.
            return
        application = self._application
        assert application is not None, "effects come after recovery"
        while self._steps:
            for effect in self._steps[0]:
                self._perform_one(effect, application)
            self._steps.popleft()

    def _perform_one(self, effect: Effect, application: Application) -> None:  # noqa: C901, PLR0912 - one flat line per kind of effect
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
            case Propose(view, parent):
                application.propose(view, parent)
            case Verify(proposal, parent):
                application.verify(proposal, parent)
            case Certify(proposal):
                application.certify(proposal)
            case Finalized(proposal):
                application.finalize(proposal.view, proposal.payload)
            case Entered(view, leader):
                self._port.trace("enter", view, leader)
                application.enter(view)
            case RelayPayload(payload):
                # Before the vote is durable, as the specification has it: a block is not a promise.
                application.relay(payload)
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
        height = None
        if self._application is not None and isinstance(message, Notarize | Finalize | Notarization | Finalization):
            height = self._application.height_of(message.proposal.payload)
        return Label(kind, view_of(message), height)

    def _trace_certificate(self, artifact: Artifact) -> None:
        if isinstance(artifact, Notarization | Finalization):
            view, payload = artifact.proposal.view, artifact.proposal.payload
        elif isinstance(artifact, Nullification):
            view, payload = artifact.view, b""
        else:
            return
        signers = certificate_signers(artifact)
        self._port.trace("certificate", type(artifact).__name__.lower(), view, payload, tuple(signers))

    def _start_sync(self, point: SyncPoint) -> None:
        self._port.work_on("disk", self._settings.costs.sync_us, point)
