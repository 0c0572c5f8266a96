"""A bare stage: engines of one kind that agree on the names of blocks, without executions, disks or a bus.

Most of a run's time goes into the blocks; the engine's own decisions are a few microseconds each. Here a few engines
meet more cuts, losses, crashes between append and sync, and late answers than hundreds of runs have, on one queue of
instants. Around each engine stands the least that `validators/` owes it: appends are durable after a sync, what is
sent waits for that, blocks are asked for until they come, and a life begins with what was durable.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from network.types import MILLISECOND_US
from tests.properties.draws import Draw
from tests.properties.engines.keyed_scheme import KeyedScheme
from tests.properties.engines.stub_agenda import Action, Agenda
from tests.properties.engines.stub_chain import GENESIS, StubBlock, StubChain
from tests.properties.engines.stub_node import StageWatch, StubNode, WantedBlock
from validators.consensus.interface import (
    AlarmReached,
    Append,
    BlockArrived,
    BlockRef,
    Build,
    Built,
    CancelTimer,
    ConsensusEngine,
    Effect,
    EngineConfig,
    EngineMessage,
    Event,
    Finality,
    Finalized,
    Judge,
    Judged,
    Question,
    Received,
    Record,
    Relay,
    ReportActivity,
    Send,
    SetAlarm,
    SetTimer,
    Started,
    TimeoutReached,
)
from validators.consensus.kind import EngineKind
from validators.events import Entered

INTERVAL_US: Final = 150 * MILLISECOND_US
"""A leader's block is so much later than the one before it."""

_LATENCY_US: Final = 25 * MILLISECOND_US
_SYNC_US: Final = 12 * MILLISECOND_US
_WORK_US: Final = 20 * MILLISECOND_US
_SLOW_FACTOR: Final = 40
_VERIFY_US: Final = 300


class StubStage(Agenda):
    """All engines, and one queue of instants.

    Attributes:
        loss_percent: Messages that are lost, of a hundred.
        crash_every: Of so many steps that append something one ends with a loss of power; 0 for none.
        slow_every: Of so many executions one takes longer than a view waits; 0 for none.
        cut: Links over which nothing comes, by the places of sender and receiver.
        chain: All blocks.

    Args:
        kind: The kind of all engines.
        config: Their configuration.
        numbers: The validators by their index. One that is there twice has a twin, which signs with the same key: by
            two that know nothing of each other it says what a Byzantine validator may.
        draw: Draws times and chances.
        watch_of: Returns who sees what a validator does, by its index.
    """

    def __init__(
        self,
        kind: EngineKind,
        config: EngineConfig,
        *,
        numbers: Sequence[int],
        draw: Draw,
        watch_of: Callable[[int], StageWatch],
    ) -> None:
        super().__init__()
        self.kind: Final = kind
        self.config: Final = config
        self.validators: Final = len(dict.fromkeys(numbers))
        self.chain: Final = StubChain()
        self.loss_percent = 0
        self.crash_every = 0
        self.slow_every = 0
        self.cut: dict[tuple[int, int], None] = {}
        self._draw = draw
        self.schemes: Final = [KeyedScheme(number) for number in range(self.validators)]
        self.nodes: Final = [
            StubNode(place, number, self._make(number), watch_of(number)) for place, number in enumerate(numbers)
        ]
        self._acts: Final[Mapping[type[Any], Callable[[StubNode, Any], None]]] = {
            Append: lambda _node, _append: None,
            Send: self._send,
            SetTimer: self._set_timer,
            SetAlarm: self._set_alarm,
            CancelTimer: self._cancel_timer,
            Build: self._build,
            Judge: self._judge,
            Finalized: self._finalize,
            Entered: self._enter,
            Relay: self._relay,
            ReportActivity: lambda node, report: node.watch.reported(node, report),
        }

    def start(self) -> None:
        """Begin the first life of each."""
        for node in self.nodes:
            self._step(node, Started())

    # -- power ---------------------------------------------------------------------------------

    def crash(self, node: StubNode) -> None:
        """Cut the power: what was not durable is lost, and what waited for it never leaves."""
        if not node.is_on:
            return
        node.is_on, node.life = False, node.life + 1
        kept = len(node.records) - (node.appended - node.durable)
        del node.records[kept:]
        node.appended = node.durable
        node.waiting, node.goals = [], []
        node.timers, node.fetching = {}, {}
        node.blocks = {digest: self.chain.blocks[digest] for digest in node.stored}
        node.watch.lost(node)

    def restart(self, node: StubNode) -> None:
        """Begin a life with what the disk has."""
        if node.is_on:
            return
        node.is_on, node.view, node.synced_us = True, 0, self.now_us
        node.engine = self._make(node.number)
        node.engine.replay(tuple(node.records), node.floor)
        node.done = dict.fromkeys(reversed(self.chain.path_to(node.final)))
        node.watch.booted(node)
        self._step(node, Started())
        for digest in node.stored:
            self._report_block(node, node.number, digest)

    def _make(self, number: int) -> ConsensusEngine:
        return self.kind.make(
            me=number,
            validators=self.validators,
            scheme=self.schemes[number],
            config=self.config,
            genesis=GENESIS,
            is_observer=False,
        )

    # -- steps ---------------------------------------------------------------------------------

    def _post_to(self, node: StubNode, after_us: int, action: Action) -> None:
        """Have something done later in this life."""
        life = node.life
        self.post(after_us, lambda: action() if node.is_on and node.life == life else None)

    def _step(self, node: StubNode, event: Event) -> None:
        effects = node.engine.step(event)
        records = [effect.record for effect in effects if isinstance(effect, Append)]
        for record in records:
            node.watch.appended(node, record)
            node.records.append(record)
            node.appended += 1
        if records:
            # One sync is under way at a time, and ends in its turn.
            node.synced_us = max(node.synced_us, self.now_us) + 1 + self._draw(_SYNC_US)
            count = node.appended
            self._post_to(node, node.synced_us - self.now_us, partial(self._end_sync, node, records, count))
        self._perform(node, effects)
        if records and self.crash_every and self._draw(self.crash_every) == 0:
            self.crash(node)
            self.post(MILLISECOND_US * (1 + self._draw(400)), lambda: self.restart(node))

    def _perform(self, node: StubNode, effects: list[Effect]) -> None:
        for effect in effects:
            act = self._acts.get(type(effect))
            if act is not None:
                act(node, effect)

    def _behind(self, node: StubNode, action: Action) -> None:
        """Do something once all that is appended is durable."""
        if node.durable == node.appended:
            action()
        else:
            node.waiting.append((node.appended, action))

    def _end_sync(self, node: StubNode, records: list[Record], count: int) -> None:
        node.durable = count
        node.history += records
        while node.waiting and node.waiting[0][0] <= count:
            node.waiting.pop(0)[1]()

    # -- messages ------------------------------------------------------------------------------

    def _send(self, node: StubNode, send: Send) -> None:
        self._behind(node, partial(self._send_now, node, send))

    def _send_now(self, node: StubNode, send: Send) -> None:
        node.watch.sent(node, send.message)
        for peer in self.nodes if send.to is None else self._nodes_of(send.to):
            self._carry(node, peer, partial(self._receive, peer, node.number, send.message))

    def _nodes_of(self, number: int) -> list[StubNode]:
        return [node for node in self.nodes if node.number == number]

    def _carry(self, node: StubNode, peer: StubNode, arrive: Action) -> None:
        """Have something arrive, unless it is lost or comes while the receiver has no power."""
        is_lost = self._draw(100) < self.loss_percent or (node.place, peer.place) in self.cut
        if peer is not node and not is_lost:
            self.post(1 + self._draw(_LATENCY_US), lambda: arrive() if peer.is_on else None)

    def _receive(self, node: StubNode, sender: int, message: EngineMessage) -> None:
        checked = node.engine.check(sender, message)
        if checked.ok:
            # Other events come between the check and the step, as they do while a signature is verified.
            self._post_to(node, self._draw(_VERIFY_US), lambda: self._step(node, Received(sender, message)))
        else:
            node.watch.refused(node, sender, message.traced_name, checked.reason)

    def _relay(self, node: StubNode, relay: Relay) -> None:
        block = StubBlock(self.chain.blocks[relay.digest].facts, relay.seal)
        self.chain.blocks[relay.digest] = node.blocks[relay.digest] = block
        self._report_block(node, node.number, relay.digest)
        if self.kind.stores_voted:
            self._store(node, relay.digest)
        leave = partial(self._relay_now, node, relay.digest)
        # A seal is a promise.
        if relay.seal:
            self._behind(node, leave)
        else:
            leave()

    def _relay_now(self, node: StubNode, digest: bytes) -> None:
        node.watch.relayed(node, self.chain.blocks[digest].facts)
        for peer in self.nodes:
            self._carry(node, peer, partial(self._take_block, peer, node.number, digest))

    def _take_block(self, node: StubNode, sender: int, digest: bytes) -> None:
        node.fetching.pop(digest, None)
        if digest not in node.blocks:
            node.blocks[digest] = self.chain.blocks[digest]
            self._report_block(node, sender, digest)
        self._advance(node)

    def _report_block(self, node: StubNode, sender: int, digest: bytes) -> None:
        """Let an engine know of a sealed block."""
        facts, seal = self.chain.blocks[digest]
        if self.kind.check_seal is None or not seal:
            return
        checked = self.kind.check_seal(self.schemes[node.number], facts, seal, self.validators, config=self.config)
        if checked.ok:
            self._post_to(node, 0, lambda: self._step(node, BlockArrived(sender, facts, seal)))
        else:
            node.watch.refused(node, sender, "seal", checked.reason)

    # -- timers --------------------------------------------------------------------------------

    def _set_timer(self, node: StubNode, timer: SetTimer) -> None:
        event = TimeoutReached(timer.name, timer.number)
        self._arm(node, (timer.name, timer.number), timer.after_us, lambda: self._step(node, event))

    def _cancel_timer(self, node: StubNode, cancelled: CancelTimer) -> None:
        node.timers.pop((cancelled.name, cancelled.number), None)

    def _set_alarm(self, node: StubNode, alarm: SetAlarm) -> None:
        self._arm(
            node,
            (alarm.name, alarm.number),
            max(alarm.at_wall_us - self.now_us, 0),
            lambda: self._step(node, AlarmReached(alarm.name, alarm.number, self.now_us)),
        )

    def _arm(self, node: StubNode, key: tuple[str, int], after_us: int, action: Action) -> None:
        token = node.timers[key] = self._posted

        def fire() -> None:
            if node.timers.get(key) == token:
                del node.timers[key]
                action()

        self._post_to(node, after_us, fire)

    # -- blocks --------------------------------------------------------------------------------

    def _enter(self, node: StubNode, entered: Entered) -> None:
        node.view = entered.view
        node.watch.entered(node, entered)

    def _build(self, node: StubNode, build: Build) -> None:
        parent = build.parent

        def make() -> None:
            due_us = self.now_us + self._draw(INTERVAL_US)
            self._post_to(node, due_us - self.now_us, lambda: self._propose(node, build.view, parent))

        self._want(node, WantedBlock(parent.digest, make))

    def _propose(self, node: StubNode, view: int, parent: BlockRef) -> None:
        if node.view > view:
            return
        facts = self.chain.build(node.number, view, parent.digest, now_us=self.now_us)
        node.watch.built(node, facts)
        node.done[facts.digest] = None
        self._post_to(node, self._draw(_WORK_US), lambda: self._step(node, Built(view, facts.digest, facts)))

    def _judge(self, node: StubNode, judge: Judge) -> None:
        self._want(node, WantedBlock(judge.ref.digest, lambda: self._answer(node, judge)))

    def _answer(self, node: StubNode, judge: Judge) -> None:
        """Answer a question about a block that is executed; one about a view that was left is not needed any more."""
        question, ref, parent = judge.question, judge.ref, judge.parent
        if question is Question.VERIFY and ref.view < node.view:
            return
        facts = self.chain.blocks[ref.digest].facts
        is_of_parent = parent is None or facts.parent == parent.digest
        is_sound = facts.view == ref.view and is_of_parent and ref.digest not in self.chain.bad
        if is_sound and (question is not Question.VERIFY or self.kind.stores_voted):
            self._store(node, ref.digest)
        self._behind(node, lambda: self._step(node, Judged(question, ref, is_sound)))

    def _store(self, node: StubNode, digest: bytes) -> None:
        """Have a block on the disk, with all below it, when what is appended so far is durable."""
        path = self.chain.path_to(digest)[:-1]
        self._behind(node, partial(node.stored.update, dict.fromkeys(path)))

    def _finalize(self, node: StubNode, finalized: Finalized) -> None:
        node.watch.finalized(node, finalized.finality)
        digest = finalized.finality.digest

        def settle() -> None:
            node.final = digest
            self._behind(node, lambda: self._prune(node, finalized.finality))

        self._want(node, WantedBlock(digest, settle))

    def _prune(self, node: StubNode, finality: Finality) -> None:
        view_of, retention = self.kind.records.view_of, self.config.view_retention
        if node.records and view_of(node.records[0]) <= finality.view - 2 * retention:
            node.records = [record for record in node.records if view_of(record) >= finality.view - retention]
            node.floor = finality

    def _want(self, node: StubNode, goal: WantedBlock) -> None:
        node.goals.append(goal)
        self._advance(node)

    def _advance(self, node: StubNode) -> None:
        """Execute what can be, and ask for what is missing."""
        for goal in list(node.goals):
            missing = self._find_missing(node, goal.digest)
            if missing is None:
                node.goals.remove(goal)
                self._post_to(node, self._work_us(), partial(self._execute, node, goal))
            elif missing not in node.fetching:
                node.fetching[missing] = None
                self._fetch(node, missing)

    def _work_us(self) -> int:
        """Return how long an execution takes: now and then longer than a view waits."""
        is_slow = self.slow_every and self._draw(self.slow_every) == 0
        return self._draw(_WORK_US) * (_SLOW_FACTOR if is_slow else 1)

    def _execute(self, node: StubNode, goal: WantedBlock) -> None:
        node.done |= dict.fromkeys(self.chain.path_to(goal.digest))
        goal.act()

    def _find_missing(self, node: StubNode, digest: bytes) -> bytes | None:
        while digest not in node.done:
            if digest not in node.blocks:
                return digest
            digest = node.blocks[digest].facts.parent
        return None

    def _fetch(self, node: StubNode, digest: bytes) -> None:
        """Ask any validator that is there until the block has come."""
        peer = self.nodes[self._draw(len(self.nodes))]
        is_open = peer.is_on and (peer.place, node.place) not in self.cut and digest in peer.blocks

        def come() -> None:
            if digest not in node.fetching:
                return
            if is_open and peer is not node:
                self._take_block(node, peer.number, digest)
            else:
                self._fetch(node, digest)

        self._post_to(node, 1 + 2 * self._draw(_LATENCY_US), come)
