"""A validator's chain as consensus sees it: it builds, judges, relays and finalizes blocks.

The application owns the execution layer, unfinalized blocks with goals over them, and the block file. Consensus asks
through the public methods. Answers go back as events through `Answers`, once the work has taken its virtual time and
the data that a promise relies on is on the disk (`_certify`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, assert_never

from network.codec import Codec
from network.port import Port
from validators.consensus.headers import read_facts
from validators.consensus.interface import BlockRef, Built, Event, Finality, Judged, Question
from validators.consensus.signing import Scheme
from validators.derived import Derived
from validators.events import DIVERGED, BlockExecuted, BlockFinalized, BlockRolledBack, BlockUndone, Uncertified
from validators.execution import ExecutedBlock, ExecutionLayer, FinalizationOutcome, InvalidBlockError, ProposalContext
from validators.execution.blocks import Block, Header, block_digest, decode_sealed, encode_header, encode_sealed
from validators.finalizer import Finalizer
from validators.header_rules import HeaderRules
from validators.identity import TransactionVerifier
from validators.mempool.gossip import Gossip
from validators.messages import Message
from validators.settings import Proposer, ValidatorSettings
from validators.state import Snapshot
from validators.stats import ValidatorCounts
from validators.storage import Barrier, BlockFile, FinalizedLog
from validators.sync.block_exchange import BlockExchange
from validators.sync.follower import Follower, Goal, Purpose, Settled, run_block
from validators.sync.rules import SyncRule
from validators.sync.seals import Seals
from validators.sync.serving import Serving
from validators.sync.snapshots import SnapshotJoin, SnapshotSource


class ExecutionOver(NamedTuple):
    """An execution's virtual time is over; `mode` is its reason: propose or verify."""

    digest: bytes
    mode: str
    view: int
    invalid: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """Receivers of answers: consensus gets events, the validator the rest."""

    answer: Callable[[Event], None]
    halt: Callable[[str], None]
    refuse: Callable[[str, str], None]
    applied: Callable[[ExecutedBlock], None]
    joined: Callable[[Header, Snapshot, Finality], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The validator's other parts that the application uses."""

    port: Port
    codec: Codec[Message]
    settings: ValidatorSettings
    counts: ValidatorCounts
    verifier: TransactionVerifier
    gossip: Gossip
    block_file: BlockFile
    log: FinalizedLog
    barrier: Barrier
    scheme: Scheme
    serving: Serving
    repaired: Callable[[str, int, str], None]
    leader: Callable[[int], int | None]
    propose: Proposer


class Application:
    """One incarnation's chain, as consensus sees it."""

    def __init__(self, layer: ExecutionLayer, surroundings: Surroundings, answers: Answers) -> None:
        self.layer = layer
        self._port = surroundings.port
        self._codec = surroundings.codec
        self._settings = surroundings.settings
        self._counts = surroundings.counts
        self._verifier = surroundings.verifier
        self._gossip = surroundings.gossip
        self._block_file = surroundings.block_file
        self._barrier = surroundings.barrier
        self._leader = surroundings.leader
        self._headers = HeaderRules(self._settings, surroundings.leader, lambda: self._port.wall_us)
        self._propose = surroundings.propose
        self._answers = answers
        self._proposing: BlockRef | None = None
        find_fault = self._headers.find_fault
        self._follower = Follower(
            layer, execute=self._execute, request=self._request, settle=self._settle, find_fault=find_fault
        )
        self.exchange = BlockExchange(
            *(self._port, self._codec, self._follower, self._block_file),
            settings=self._settings,
            serving=surroundings.serving,
            seals=Seals(self._port, self._settings, surroundings.scheme),
            refuse=answers.refuse,
            repaired=surroundings.repaired,
        )
        self._finalizer = Finalizer(
            *(layer, self._follower, surroundings.log, self._barrier),
            snapshot_gap_blocks=self._settings.snapshot_gap_blocks,
            store=self._store,
            seek_snapshot=self._seek_snapshot,
            applied=self._note_finalized,
            halt=answers.halt,
        )
        self.source = SnapshotSource(
            layer, self._settings, surroundings.serving, finality=lambda: self._finalizer.finality
        )
        self.join = SnapshotJoin(
            *(self._port, self._codec, layer),
            settings=self._settings,
            scheme=surroundings.scheme,
            joined=answers.joined,
            give_up=self._give_snapshots_up,
            refuse=answers.refuse,
        )

    def height_of(self, digest: bytes) -> int | None:
        """Return the height of an unfinalized block, None where it is not here."""
        block = self._follower.block(digest)
        return None if block is None else block.header.height

    # -- requests of consensus -----------------------------------------------------------------

    def enter(self, view: int) -> None:
        """Drop builds and verifications of earlier views, because a new view has begun."""
        self._follower.abandon(lambda goal: goal.purpose >= Purpose.VERIFY and goal.view < view)
        if self._proposing is not None and self._proposing.view < view:
            self._proposing = None

    def build(self, view: int, parent: BlockRef) -> None:
        """Build a block on `parent` when the block interval since its timestamp is over, by the local clock."""
        self._proposing = BlockRef(view, parent.digest)
        self._follower.want(Goal(Purpose.PROPOSE, view, parent.digest))

    def judge(self, question: Question, ref: BlockRef, parent: BlockRef | None) -> None:
        """Execute a block and answer whether its result matches its header; some answers come only later.

        While the state is about to be replaced no proposal can be judged, which consensus is told at once.
        """
        if self._settings.speculates:
            self._follower.want(Goal(Purpose[question.name], *ref, b"" if parent is None else parent.digest))
            self._ignore_proposals_while_paused()
        elif question is Question.ADOPT:
            self._answers.answer(Judged(question, ref, None))

    def adopt(self, ref: BlockRef) -> None:
        """Store a head that is followed before it is final, with its ancestors, and apply it once it is durable."""
        if self.layer.executed(ref.digest) is not None:
            for executed in self.layer.path_to(ref.digest):
                self._store(executed.digest, executed.block)
            self._barrier.then(partial(self._apply_early, ref.digest))

    def finalize(self, finality: Finality) -> None:
        """Apply a block and its ancestors as soon as all of them are here."""
        self._finalizer.finalize(finality)

    def take_blocks(self, peer: int, encoded_blocks: Sequence[bytes]) -> str:
        """Keep a peer's blocks and continue waiting work; return why a block was refused, empty for none.

        The blocks may show that this validator is far behind.
        """
        fault = self.exchange.take(peer, encoded_blocks)
        self._finalizer.join_if_far_behind()
        self._follower.advance()
        return fault

    def pause(self) -> None:
        """Stop all work: a snapshot is about to replace this state, or its parts are still arriving."""
        self._follower.pause()

    def resume(self) -> None:
        """Resume the work."""
        self.exchange.report_sealed()
        self._follower.resume()

    def go_by_blocks(self) -> None:
        """Fetch and execute every block up to the present final block: no peer has a snapshot, or one was just joined.

        A second snapshot at once would be old again on arrival: a slow validator would never catch up.
        """
        self._finalizer.go_by_blocks()
        self._follower.resume()

    def derived(self, view: int, views: int) -> tuple[Derived, ...]:
        """Return the derived state of the chain's parts; `views` is the number of views that may need a block."""
        return (
            self.layer.derived(),
            self._follower.derived(view),
            self.exchange.derived(views),
            self.join.derived(),
            self.source.derived(),
        )

    def _give_snapshots_up(self) -> None:
        self._counts.reach(SyncRule.SNAPSHOT_GIVEN_UP)
        self.go_by_blocks()

    # -- timers and finished work --------------------------------------------------------------

    def pace(self, view: int) -> None:
        """Propose after the block interval, if a proposal is still wanted."""
        proposing = self._proposing
        if proposing is None or proposing.view != view:
            return
        self._proposing = None
        if not self._follower.is_ready(proposing.digest):
            self._answers.answer(Built(view, None))
            return
        parent = self._header_of(proposing.digest)
        context = ProposalContext(
            parent=proposing.digest,
            view=view,
            proposer=self._settings.node,
            timestamp_ms=self._headers.time_of(view, parent),
        )
        # Executed now, answered when its virtual time is over: the result is fixed by the state at this moment.
        executed = self._propose(self.layer, context, self._gossip.candidates())
        self._note_undone()
        self._follower.add_block(executed.digest, executed.block)
        self._follower.begin(executed.digest, is_own=True)
        self._port.work(self._execution_cost(executed), ExecutionOver(executed.digest, "propose", view))

    def end_execution(self, over: ExecutionOver) -> None:
        """Handle the end of an execution's virtual time."""
        self._follower.end(over.digest)
        if over.invalid:
            self._follower.mark_invalid(over.digest, over.invalid)
        self._count_execution(over.digest, over.mode)
        if over.mode == "propose":
            # Finality may have dropped the branch in the meantime: then there is nothing to vote for.
            built = self.layer.executed(over.digest)
            facts = None if built is None else read_facts(encode_header(built.header))
            self._answers.answer(Built(over.view, None if facts is None else over.digest, facts))
        self._follower.advance()

    def recover(self) -> int:
        """Execute again the certified blocks above the finalized block; return the cost in virtual microseconds.

        The block of the highest view is certified again, which matters where blocks are applied early.
        """
        cost_us = 0
        highest = BlockRef(0, b"")
        for encoded in self._block_file.above(self.layer.finalized.height):
            block, seal = decode_sealed(encoded)
            digest = block_digest(block)
            self._follower.add_block(digest, block)
            self._follower.seal(digest, seal)
            # Lowest first, so that parents are executed before children; a missing block is fetched later.
            if self._follower.is_ready(block.header.parent):
                cost_us += self._execution_cost(run_block(self.layer, block))
                self._count_execution(digest, "recover")
                highest = max(highest, BlockRef(block.header.view, digest))
        self._counts.applied_early += self.layer.certify(highest.digest)
        return cost_us

    # -- executing -----------------------------------------------------------------------------

    def _count_execution(self, digest: bytes, mode: str) -> None:
        executed = self.layer.executed(digest)
        if executed is not None:
            header = executed.header
            self._counts.executed += 1
            self._counts.height = max(self._counts.height, header.height)
            root = executed.root
            self._port.trace(BlockExecuted(header.height, header.view, digest, root, mode))

    def _request(self, digest: bytes, goal: Goal) -> None:
        self.exchange.request(digest, self._leader(goal.view) if goal.digest == digest else None)

    def _execute(self, block: Block, digest: bytes) -> None:
        outcome = run_block(self.layer, block)
        self._note_undone()
        reason = outcome.reason if isinstance(outcome, InvalidBlockError) else ""
        if isinstance(outcome, InvalidBlockError) and outcome.own_root is not None:
            # The checks compare the root that this validator computed with the root that the header claims.
            header = block.header
            self._port.trace(BlockExecuted(header.height, header.view, digest, outcome.own_root, DIVERGED))
        self._follower.begin(digest)
        over = ExecutionOver(digest, "verify", block.header.view, reason)
        self._port.work(self._execution_cost(outcome), over)

    def _execution_cost(self, outcome: ExecutedBlock | InvalidBlockError) -> int:
        signatures = self._verifier.take_unpaid()
        if isinstance(outcome, InvalidBlockError):
            return self._settings.costs.of_execution(0, 0, signatures)
        return outcome.cost_us(self._settings.costs, signatures)

    def _header_of(self, digest: bytes) -> Header:
        executed = self.layer.executed(digest)
        return self.layer.finalized if executed is None else executed.header

    # -- goals reached -------------------------------------------------------------------------

    def _settle(self, goal: Goal, settled: Settled) -> None:
        if not settled.is_ready:
            self._answers.refuse(goal.purpose.name.lower(), settled.reason)
        if goal.purpose is Purpose.PROPOSE:
            if settled.is_ready:
                self._propose_when_due(goal)
        elif goal.purpose is Purpose.FINALIZE:
            self._finalizer.settle(goal, settled)
        elif goal.purpose is Purpose.CERTIFY:
            self._certify(goal, settled)
        elif goal.purpose is Purpose.VERIFY or goal.purpose is Purpose.ADOPT:
            self._verify(goal, settled)
        else:
            assert_never(goal.purpose)

    def _propose_when_due(self, goal: Goal) -> None:
        interval_us = self._settings.block_interval_us
        due_us = self._header_of(goal.digest).timestamp_ms * 1_000 + interval_us
        # Never longer than the interval: a clock behind the parent's timestamp must not cost its leader the view.
        left_us = min(due_us - self._port.wall_us, interval_us)
        if left_us > 0:
            self._port.set_timer(("pace", goal.view), left_us)
        else:
            self.pace(goal.view)

    def _verify(self, goal: Goal, settled: Settled) -> None:
        is_sound = settled.is_ready and not self._headers.find_fault(goal, self._header_of(goal.digest))
        block = self._follower.block(goal.digest) if self._settings.consensus.stores_voted else None
        if is_sound and block is not None:
            self._store(goal.digest, block)
        self._answers.answer(Judged(Question[goal.purpose.name], goal.ref, is_sound))

    def _certify(self, goal: Goal, settled: Settled) -> None:
        """Report a certification once the block would survive a crash."""
        block = self._follower.block(goal.digest)
        is_sound = settled.is_ready and block is not None and self._headers.is_of_view(block.header, goal.view)
        if is_sound and block is not None:
            self._store(goal.digest, block)
        # A refusal takes the same way, so that answers keep the order of their questions.
        self._barrier.then(partial(self._report_certification, goal.ref, is_sound=is_sound))

    def _report_certification(self, ref: BlockRef, *, is_sound: bool) -> None:
        if is_sound:
            self._apply_early(ref.digest)
        else:
            self._port.trace(Uncertified(ref.view, ref.digest))
        self._answers.answer(Judged(Question.CERTIFY, ref, is_sound))

    def _apply_early(self, digest: bytes) -> None:
        self._counts.applied_early += self.layer.certify(digest)
        self._note_undone()

    def _note_undone(self) -> None:
        """Trace the blocks that the layer has just undone for another branch, and those it executed again."""
        for executed in self.layer.take_undone():
            self._counts.undone += 1
            self._port.trace(BlockUndone(executed.header.height, executed.digest))
        for executed in self.layer.take_reexecuted():
            header = executed.header
            self._counts.reexecuted += 1
            reapplied = BlockExecuted(header.height, header.view, executed.digest, header.state_root, "reapply")
            self._port.trace(reapplied)

    def _store(self, digest: bytes, block: Block) -> None:
        if digest not in self._block_file:  # encoding takes time, and an adopted head comes with its whole branch
            seal = self._follower.seal_of(digest)
            self._block_file.append(height=block.header.height, digest=digest, block=encode_sealed(block, seal))

    # -- finality ------------------------------------------------------------------------------

    def _seek_snapshot(self) -> None:
        self._follower.pause()
        self._ignore_proposals_while_paused()
        self.join.begin(self.exchange.peers())

    def _ignore_proposals_while_paused(self) -> None:
        if self._follower.is_paused:
            for goal in self._follower.abandon(lambda goal: goal.purpose is Purpose.VERIFY):
                self._answers.answer(Judged(Question.VERIFY, goal.ref, None))

    def _note_finalized(self, finalization: FinalizationOutcome) -> None:
        self._counts.rebuilt += finalization.is_rebuilt
        self._counts.pruned += finalization.is_pruned
        self._note_undone()
        for executed in finalization.applied:
            header = executed.header
            self._counts.finalized += 1
            root = executed.root
            self._port.trace(BlockFinalized(header.height, header.view, executed.digest, root))
            self._answers.applied(executed)
            self._gossip.remove_included(executed.block)
        for dropped in finalization.dropped:
            self._counts.rolled_back += 1
            self._port.trace(BlockRolledBack(dropped.header.height, dropped.digest))
