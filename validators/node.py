"""One validator: the thin trio shell around its synchronous parts.

It receives an event, hands it to the part that decides, and has the returned effects performed (`EffectRunner`).
Verifying a signature, executing a block and syncing the disk complete as later events; messages arrive meanwhile.

A restart (`_recover`, `validators.recovery`) reads nothing but the disk. The operation log becomes the state, whose
root must be that of the last finalized header. The journal becomes consensus. Certified blocks that were not final are
executed again. A validator whose journal is lost continues as an observer. A peer's snapshot takes the same way
(`_adopt`): it is written as the base of the log, and the state is reopened from the disk.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TypeAlias, assert_never, cast

import msgspec

from network.plugin_errors import note_error, place_of
from network.port import ClientPayload, Delivery, Inbound, Port, TimerDue, WorkDone
from validators.application import Answers, Application, ExecutionOver, Surroundings
from validators.blocked_peers import BlockedPeers
from validators.consensus.interface import (
    AlarmReached,
    AskAgain,
    BlockArrived,
    ConsensusEngine,
    Event,
    Finality,
    FloorAdopted,
    Received,
    Started,
    TimeoutReached,
)
from validators.derived import Derived
from validators.effects import EffectRunner
from validators.events import Booted, Halted, MessageRefused, SnapshotJoined, StoppedVoting
from validators.execution import ExecutedBlock, ExecutionLayer, Genesis
from validators.execution.blocks import Header, encode_header, header_digest
from validators.identity import journal_head
from validators.intake import Intake
from validators.mempool.gossip import Gossip, Verified
from validators.mempool.pool import Pooled
from validators.outbox import Outbox
from validators.pruning import JournalPruner, PruneDue
from validators.recovery import Adopted, Recovered, RepairLog, reopen_consensus, reopen_state
from validators.restored import RestoredLog, StateBase
from validators.settings import ValidatorFactory, ValidatorSettings
from validators.state import Snapshot
from validators.stats import BROKEN, DISK, ValidatorCounts
from validators.storage import BlockFile, Disk, DiskError, FinalizedLog, Journal, SyncPoint
from validators.sync.serving import Answer
from validators.sync.snapshots import Checked

Work: TypeAlias = (
    SyncPoint | Received | BlockArrived | ExecutionOver | Verified | Answer | Checked | PruneDue | Recovered | Adopted
)
"""Everything that a validator gives its port to work on; the port returns it when its time is over."""


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
        on_applied: Callable[[ExecutedBlock], None],
    ) -> None:
        self._port = port
        self._disk = disk
        self._genesis = genesis
        self._settings = settings
        self._factory = factory
        self._counts = counts
        self._incarnation = incarnation
        self._on_applied = on_applied
        self._codec = factory.codec(settings.consensus)
        self._journal = Journal(disk)
        self._journal_head = journal_head(genesis, settings.node, public_keys)
        self._repairs = RepairLog(port, settings.consensus.records, counts)
        self._block_file = BlockFile(disk, self._repairs.found)
        self._log = FinalizedLog(disk)
        self._barrier = factory.barrier(disk, partial(port.work_on, "disk", settings.costs.sync_us))
        self._pruner = JournalPruner(
            port,
            self._barrier,
            self._journal,
            settings.consensus.records,
            view_retention=settings.consensus_config.view_retention,
            sync_us=settings.costs.sync_us,
            reach=counts.reach,
        )
        self._verifier = factory.verifier()
        self._scheme = factory.scheme(seed, public_keys)
        self._consensus: ConsensusEngine
        self._application: Application | None = None
        self._is_started = False
        peers = self._peers = BlockedPeers(port, settings)
        self._runner = self._make_runner()
        self._intake = Intake(port, self._codec, settings.consensus, costs=settings.costs, counts=counts, peers=peers)
        self._gossip = self._make_gossip()

    def _make_gossip(self) -> Gossip:
        pool = self._factory.pool(self._next_nonce, self._verifier, self._counts.reach)
        return Gossip(
            *(self._port, self._codec, pool, self._settings),
            refuse=self._intake.refuse,
            reach=self._counts.reach,
        )

    def _make_runner(self) -> EffectRunner:
        outbox = Outbox(
            self._port,
            self._codec,
            self._settings.consensus,
            height_of=lambda digest: self.application.height_of(digest),  # noqa: PLW0108 - it is made anew
            sends_certificates=self._settings.is_validator,
        )
        return EffectRunner(
            *(self._port, self._codec, self._settings.consensus.records),
            journal=self._journal,
            barrier=self._barrier,
            outbox=outbox,
            pruner=self._pruner,
            blame=self._peers.blame,
        )

    @property
    def around(self) -> Callable[[], AbstractContextManager[None]]:
        """The context in which each step of this validator runs."""
        return self._factory.around

    @property
    def application(self) -> Application:
        """The application that consensus asks; recovery makes it, and a validator without it has halted."""
        assert self._application is not None, "a validator without an application has halted"
        return self._application

    @property
    def layer(self) -> ExecutionLayer | None:
        """The validator's own execution layer, for the checks at the end of a run; None if its disk gave none."""
        return None if self._application is None else self._application.layer

    @property
    def pooled(self) -> Mapping[bytes, Pooled]:
        """The transactions that wait here for a block, by digest, for the checks."""
        return self._gossip.pooled

    def derived(self, disk: Disk, replicas: int) -> tuple[Derived, ...]:
        """Return all derived data, beside the same data from its source, for the checks.

        `disk` is its disk, as written and without faults, `replicas` the number of replicas on the bus.
        """
        records, config = self._settings.consensus.records, self._settings.consensus_config
        view, layer = self._consensus.position.view, self.application.layer
        final_view = 0 if self._consensus.finality is None else self._consensus.finality.view
        views = view + 2 - max(min(final_view, layer.finalized.view) - 3 * config.view_retention, 0)
        floor = records.decode_finality(self._journal.floor) if self._journal.floor else None
        artifacts = [records.decode(artifact) for artifact in self._journal.artifacts]
        return (
            self._gossip.derived(),
            *self.application.derived(view, views),
            self._consensus.derived(artifacts, floor),
            self._scheme.derived(),
            self._intake.serving.derived(replicas),
            self._journal.derived(disk),
            self._pruner.derived(),
            self._block_file.derived(disk),
            self._barrier.derived(),
        )

    def served_chain(self) -> Iterator[tuple[bytes, ...]]:
        """Return the answers that a peer without any block would get here, newest first, for the checks."""
        return self.application.exchange.served_from(self.application.layer.finalized_digest)

    @property
    def is_serving(self) -> bool:
        """Whether the validator has recovered and has not halted."""
        return self._is_started and not self._counts.halted

    async def run(self) -> None:
        """Recover from the disk, then serve events until the power goes."""
        self._counts.halted = ""
        self._do_or_halt(self._recover)
        await self._port.serve(self._take)

    def _take(self, event: Inbound) -> None:
        if not self._counts.halted:
            self._do_or_halt(self._handle, event)

    def _do_or_halt(self, step: Callable[..., None], *given: Inbound) -> None:
        """Do one step; a broken invariant stops this validator but not the run, so that the checks can judge it.

        A failing disk stops it too: its contents are unknown, and no vote and no answer may rely on them.
        """
        try:
            if self._factory.around is nullcontext:
                step(*given)  # an empty context would cost more than this call, once per message
            else:
                with self._factory.around():
                    step(*given)
        except DiskError as error:
            self._halt(f"{DISK}: {error}")
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one validator is a finding, not a breakdown
            self._halt(f"{BROKEN}: {error}")
            # For a reader of this run only: a moved line or a renamed class must change neither log nor digest.
            self._counts.halted += f" ({place_of(error)})"
            note_error(error)

    # -- start ---------------------------------------------------------------------------------

    def _recover(self) -> None:
        self._block_file.load()
        self._reopen(Recovered())
        make = partial(self._make_consensus, self.application.layer.genesis_digest)
        self._consensus, self._counts.observes = reopen_consensus(
            self._disk, self._journal, self._journal_head, repairs=self._repairs, make=make
        )

    def _reopen(self, over: Recovered | Adopted) -> None:
        """Rebuild the state from the disk; `over` follows when that has taken its time."""

        def layer_of(log: RestoredLog) -> ExecutionLayer:
            return self._factory.layer(self._genesis, self._verifier, log._replace(find_block=self._block_file.get))

        state = reopen_state(self._log, layer_of, self._repairs)
        state.layer.watch(self._counts.reach)
        application = self._application = self._make_application(state.layer)
        cost_us = self._settings.costs.block_us * len(state.entries) + application.recover()
        application.pause()
        for entry in state.entries:
            if entry.digest not in self._block_file:
                application.exchange.restore(entry.digest)
        self._port.work(cost_us, over)

    def _make_consensus(self, genesis_digest: bytes, is_observer: bool) -> ConsensusEngine:  # noqa: FBT001 - the answer to a question
        return self._settings.consensus.make(
            me=self._settings.node,
            validators=self._settings.validators,
            scheme=self._scheme,
            config=self._settings.consensus_config,
            genesis=genesis_digest,
            is_observer=is_observer,
        )

    def _make_application(self, layer: ExecutionLayer) -> Application:
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
            scheme=self._scheme,
            serving=self._intake.serving,
            repaired=self._repairs.repaired,
            leader=lambda view: self._consensus.leader(view),  # noqa: PLW0108 - consensus is made after the application
            propose=self._factory.propose,
        )
        answers = Answers(
            answer=self._step,
            halt=self._halt,
            refuse=self._intake.refuse,
            applied=self._on_applied,
            joined=self._adopt,
        )
        return Application(layer, surroundings, answers)

    def _start(self, application: Application) -> None:
        self._is_started = True
        self._trace_boot(application.layer)
        if self._counts.observes:
            self._port.trace(StoppedVoting(self._counts.observes))
        self._gossip.start()
        self._step(Started())
        self._resume(application)

    def _trace_boot(self, layer: ExecutionLayer) -> None:
        # The layer has compared this root with the root of the log it read; blocks may have been applied early since.
        view, height, root = self._consensus.position.view, layer.finalized.height, layer.finalized.state_root
        self._port.trace(Booted(self._incarnation, view, height, root))

    def _resume(self, application: Application) -> None:
        application.resume()
        # The journal may know of a finalization that the log had no time for.
        if self._consensus.finality is not None:
            application.finalize(self._consensus.finality)

    def _adopt(self, header: Header, snapshot: Snapshot, finality: Finality) -> None:
        """Replace this state by a peer's proved snapshot, by way of the disk.

        Consensus gets the snapshot's finality first, durably. It would otherwise ask the new state to certify blocks
        below it, now or after a crash, and give up views that are final.
        """
        self._step(FloorAdopted(finality))
        self._barrier.then(partial(self._install, header, snapshot))

    def _install(self, header: Header, snapshot: Snapshot) -> None:
        self._log.install(
            height=header.height, encoded=msgspec.msgpack.encode(StateBase(encode_header(header), snapshot))
        )
        self._barrier.then(lambda: self._reopen(Adopted(header_digest(header))))

    def _go_on_from_snapshot(self, adopted: Adopted, application: Application) -> None:
        layer = application.layer
        if layer.finalized_digest == adopted.digest:
            self._counts.snapshots_joined += 1
            height, root = layer.finalized.height, layer.finalized.state_root
            self._port.trace(SnapshotJoined(height, adopted.digest, root))
            self._gossip.remove_spent()
            application.go_by_blocks()
        else:
            # The disk did not give the snapshot back, so this is a start from the rest of the disk.
            self._trace_boot(layer)
        self._step(AskAgain())
        self._resume(application)

    def _halt(self, reason: str) -> None:
        """Stop for good with a named reason: a validator never continues with doubtful state."""
        self._counts.halted = reason
        self._port.trace(Halted(reason))

    # -- events --------------------------------------------------------------------------------

    def _handle(self, event: Inbound) -> None:
        application = self.application
        if isinstance(event, WorkDone):
            self._handle_work(cast("Work", event.token), application)
        elif not self._is_started:
            self._port.trace(MessageRefused(event.traced_name, "recovering"))
        elif isinstance(event, Delivery):
            self._intake.take(event, application, self._gossip, self._consensus)
        elif isinstance(event, TimerDue):
            self._handle_timer(event.key, application)
        elif isinstance(event, ClientPayload):
            self._gossip.submit(event.payload)
        else:
            assert_never(event)

    def _handle_work(self, token: Work, application: Application) -> None:
        if isinstance(token, SyncPoint):
            self._barrier.finish(token)
        elif isinstance(token, (Received, BlockArrived)):
            self._step(token)
        elif isinstance(token, ExecutionOver):
            application.end_execution(token)
        elif isinstance(token, Verified):
            self._gossip.pool(token)
        elif isinstance(token, Answer):
            self._intake.serving.send(token)
        elif isinstance(token, Checked):
            application.join.check(token)
        elif isinstance(token, PruneDue):
            self._pruner.prune(token)
        elif isinstance(token, Adopted):
            self._go_on_from_snapshot(token, application)
        elif isinstance(token, Recovered):
            self._start(application)
        else:
            assert_never(token)

    def _handle_timer(self, key: object, application: Application) -> None:
        match key:
            case ("consensus", str(name), int(number)):
                self._step(TimeoutReached(name, number))
            case ("alarm", str(name), int(number)):
                self._step(AlarmReached(name, number, self._port.wall_us))
            case ("pace", int(view)):
                application.pace(view)
            case ("snapshot",):
                application.join.retry()
            case ("answers",):
                self._intake.serving.begin_second()
            case ("peer", int(peer)):
                self._peers.admit(peer)
            case ("fetch", bytes(digest)):
                application.exchange.retry(digest)
            case "regossip":
                self._gossip.regossip()
            case _:
                raise ValueError(f"a timer of an unknown kind is due: {key!r}")

    def _step(self, event: Event) -> None:
        self._runner.perform(self._consensus.step(event), self.application)

    def _next_nonce(self, public_key: bytes) -> int:
        # Looked up each time, because the application is replaced with each state.
        return self.application.layer.next_nonce(public_key)
