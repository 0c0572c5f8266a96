"""The longest chain of one validator (docs/longest-chain.md): slots, fork choice, finality by depth.

Three things never happen, whatever the order of events and however often the validator restarts:

- two blocks are sealed for one slot;
- a block is followed whose branch does not descend from the last final block;
- a block is followed that is more than one slot ahead.

In a step the event changes the tree, which may make another block the best. `step` then asks for the judgement of tips
that would be better than the head. It follows the best block that can be followed, and makes the blocks final that are
deep enough below it. Blocks come with their seals (`BlockArrived`), or as headers alone (`Announcement`,
`HeadResponse`). For a header alone, the application fetches the block with all its ancestors before it judges it.
"""

from collections.abc import Mapping, Sequence

from network.types import Digest, Micros, NodeId
from validators.consensus.interface import (
    Adopt,
    AlarmReached,
    Append,
    AskAgain,
    BlockArrived,
    BlockRef,
    Build,
    Built,
    Effect,
    Event,
    Finality,
    Finalized,
    FloorAdopted,
    HeaderFacts,
    Judge,
    Judged,
    MessageCheck,
    Position,
    Question,
    Received,
    Relay,
    ReportActivity,
    Send,
    SetAlarm,
    Started,
    TimeoutReached,
)
from validators.consensus.longest_chain.config import LongestChainConfig
from validators.consensus.longest_chain.derived import derive_forks
from validators.consensus.longest_chain.election import NOBODY, leader_of
from validators.consensus.longest_chain.joining import JOIN_TIMER, Joining
from validators.consensus.longest_chain.messages import (
    Announcement,
    Burial,
    HeadRequest,
    HeadResponse,
    JournalRecord,
    LongestChainMessage,
    SealedHeader,
    facts_of,
    view_of,
)
from validators.consensus.longest_chain.screening import check_message
from validators.consensus.longest_chain.sealing import make_seal
from validators.consensus.longest_chain.slots import SlotBook
from validators.consensus.longest_chain.tree import BlockState, ForkTree, TreeBlock
from validators.consensus.signing import Scheme
from validators.derived import Derived, DerivedSize
from validators.events import Entered

SLOT_ALARM = "slot"
"""The next slot begins."""

CONFLICTING_BLOCKS = "ConflictingBlocks"
"""Evidence: one leader has sealed two blocks of one slot."""

TRUSTED = "TrustedOnFirstSight"
"""A replica without a final block of its own took the final block of the peer with the greatest head."""


class LongestChain:
    """One validator's consensus; see `EngineMaker` for the arguments."""

    def __init__(
        self,
        *,
        me: NodeId,
        validators: int,
        scheme: Scheme,
        config: LongestChainConfig,
        genesis: Digest,
        is_observer: bool = False,
    ) -> None:
        self._me = me
        self._validators = validators
        self._scheme = scheme
        self._config = config
        self._is_observer = is_observer
        self._tree = ForkTree(genesis)
        self._slots = SlotBook()
        self._joining = Joining(me, validators)
        self._finality: Burial | None = None
        self._parents: dict[int, HeaderFacts] = {}
        self._counts = dict.fromkeys(("adopted", "switches", "abandoned_most"), 0)
        self._is_dirty = False
        self._effects: list[Effect] = []

    @property
    def position(self) -> Position:
        """The current slot and its leader."""
        return Position(self._slots.current, self._led_by(self._slots.current))

    @property
    def finality(self) -> Burial | None:
        """The proof of the highest final block; None while that is genesis."""
        return self._finality

    def leader(self, view: int) -> NodeId | None:
        """Return the leader of a slot, None where the lottery chose nobody."""
        return leader_of(view, self._validators, self._config)

    def _led_by(self, view: int) -> NodeId:
        leader = self.leader(view)
        return NOBODY if leader is None else leader

    def statistics(self) -> Mapping[str, int]:
        """Return figures of this life, by name."""
        return {**self._counts, "blocks_kept": len(self._tree), "blocks_waiting": len(self._slots.waiting)}

    def replay(self, records: Sequence[JournalRecord], floor: Finality | None) -> None:
        """Restore from the journal of an earlier life, oldest record first; blocks follow from the disk."""
        assert floor is None or isinstance(floor, Burial), f"{floor!r} is no finality of the longest chain"
        self._joining.is_restarted = bool(records) or floor is not None
        for record in records if floor is None else (floor, *records):
            self._slots.remember(view_of(record), is_own=isinstance(record, Announcement))
            if isinstance(record, Burial) and record.block.height > self._tree.floor.height:
                self._finality = record
                self._tree.finalize(record.block)

    def derived(self, records: Sequence[JournalRecord], floor: Finality | None) -> Derived:
        """Return the final block, the last own slot and the blocks above, beside the same data from the journal."""
        fresh = LongestChain(
            me=self._me, validators=self._validators, scheme=self._scheme, config=self._config, genesis=b""
        )
        fresh.replay(records, floor)
        final, fresh_final = self._tree.floor.view, fresh._tree.floor.view
        forks = derive_forks(self._tree, self._slots)
        # Pruning may have dropped the entry of an own slot below the final slot: no block can be proposed there.
        own, fresh_own = max(self._slots.last_own, final), max(fresh._slots.last_own, fresh_final)
        return forks._replace(
            kept={**forks.kept, "final slot": final, "last own slot": own},
            rebuilt={**forks.rebuilt, "final slot": fresh_final, "last own slot": fresh_own},
            sizes=(
                *forks.sizes,
                DerivedSize("own blocks under way", len(self._parents), 1, "one a slot"),
                DerivedSize("answers that nobody waits for", self._joining.stale, 0, "0"),
            ),
        )

    def check(self, sender: NodeId, message: LongestChainMessage) -> MessageCheck:
        """Return whether a message is sound and of use; verifies only signatures of useful messages."""
        return check_message(
            message,
            scheme=self._scheme,
            validators=self._validators,
            config=self._config,
            is_known=lambda facts: self._tree.get(facts.digest) is not None or facts.height <= self._tree.floor.height,
            is_asked=self._joining.asks(sender),
        )

    def step(self, event: Event) -> list[Effect]:
        """Process an event, follow the best block that can be followed, and return the step's effects."""
        match event:
            case BlockArrived() | Received():
                self._receive(event)
            case AlarmReached(name, _, wall_us) if name == SLOT_ALARM:
                self._reach(wall_us)
            case Judged(Question.ADOPT, ref, ok):
                self._take_judgement(ref, ok)
            case Built(view, _, facts):
                self._propose(view, facts)
            case TimeoutReached(name, number) if name == JOIN_TIMER:
                self._end_joining(number)
            case Started():
                self._start()
            case FloorAdopted(finality):
                self._adopt_floor(finality)
            case AskAgain():
                self._tree.forget_questions()
                self._is_dirty = True
            case _:
                raise TypeError(f"the longest chain takes no such event: {event!r}")
        if self._is_dirty:
            self._is_dirty = False
            self._advance()
        # A new list, not a cleared one: the caller performs its effects later and keeps the list.
        effects, self._effects = self._effects, []
        return effects

    def _emit(self, *effects: Effect) -> None:
        self._effects += effects

    # -- slots ---------------------------------------------------------------------------------

    def _start(self) -> None:
        self._set_alarm(self._slots.current)
        self._emit(*self._joining.begin(self._config.fetch_timeout_us))

    def _set_alarm(self, view: int) -> None:
        self._emit(SetAlarm(SLOT_ALARM, view, view * self._config.slot_us))

    def _reach(self, wall_us: Micros) -> None:
        """Enter the slot that the clock shows, if it is a later slot; slots that were slept through are over."""
        view = wall_us // self._config.slot_us
        if not self._slots.enter(view):
            # The clock has been set back between the alarm and now.
            self._set_alarm(self._slots.next)
            return
        self._emit(Entered(view, self._led_by(view)))
        self._set_alarm(view + 1)
        for facts, seal in self._slots.release():
            self._keep(facts, seal)
        if self.leader(view) == self._me and not self._is_observer and self._joining.may_lead:
            self._build(view)

    def _build(self, view: int) -> None:
        parent = self._tree.head
        # The head may be of this slot or of the next slot, whose leader's clock is ahead.
        if view > self._slots.last_own and view > parent.view:
            self._parents = {view: parent}
            self._emit(Build(view, BlockRef(parent.view, parent.digest)))

    def _propose(self, view: int, facts: HeaderFacts | None) -> None:
        if self._parents.pop(view, None) is None or facts is None:
            return
        seal = make_seal(self._scheme, facts.digest)
        announcement = Announcement(SealedHeader(facts.header, seal))
        self._slots.remember(view, is_own=True)
        # On the disk before seal and announcement leave: another life could otherwise seal another block of this slot.
        self._emit(Append(announcement), Relay(facts.digest, seal), Send(None, announcement))
        self._keep(facts, seal)

    # -- blocks --------------------------------------------------------------------------------

    def _receive(self, event: BlockArrived | Received) -> None:
        match event:
            case BlockArrived(_, facts, seal):
                self._take(facts, seal)
            case Received(_, Announcement(sealed)):
                self._take_header(sealed)
            case Received(sender, HeadResponse() as answer):
                self._take_header(answer.head)
                self._joining.hear(sender, answer)
            case Received(sender, HeadRequest()):
                self._name_head(sender)
            case _:
                raise TypeError(f"the longest chain takes no such message: {event!r}")

    def _name_head(self, sender: NodeId) -> None:
        """Answer with the head, and with the proof of the final block where it is complete."""
        head = self._tree.get(self._tree.head.digest)
        if head is not None:
            final = self._finality
            proved = final if final is not None and len(final.chain) > self._config.finality_depth else None
            self._emit(Send(sender, HeadResponse(SealedHeader(head.facts.header, head.seal), proved)))

    def _take_header(self, sealed: SealedHeader) -> None:
        facts = facts_of(sealed)
        assert facts is not None, "checked"
        self._take(facts, sealed.seal)

    def _take(self, facts: HeaderFacts, seal: bytes) -> None:
        """Keep a block, or let it wait for its slot: blocks more than one slot ahead are not followed yet."""
        if not self._slots.hold(facts, seal):
            self._keep(facts, seal)

    def _keep(self, facts: HeaderFacts, seal: bytes) -> None:
        if self._tree.add(facts, seal):
            self._is_dirty = True
            other = self._slots.find_conflict(facts, seal)
            if other is not None:
                pair = Announcement(other), Announcement(SealedHeader(facts.header, seal))
                self._emit(ReportActivity(CONFLICTING_BLOCKS, facts.proposer, facts.view, "", pair))

    def _take_judgement(self, ref: BlockRef, ok: bool | None) -> None:  # noqa: FBT001 - the answer to a question
        if ok is False:
            self._tree.mark_bad(ref.digest)
        else:
            if self._finality is None and ok:
                self._stand_on_own_state(ref.digest)
            self._tree.mark_sound(ref.digest)
            # A replica that executes only final blocks believes the headers, which the block's own branch has signed.
            self._joining.is_by_headers = ok is None
            self._emit(*self._joining.go_on(self._config.fetch_timeout_us))
            for below in self._tree.unjudged_below(ref.digest):
                self._ask(below)
        self._is_dirty = True

    def _stand_on_own_state(self, digest: Digest) -> None:
        """Start at the state's final block where a lost journal does not name it, because blocks descend from it."""
        path = self._tree.path_to(digest)
        if path and path[0].facts.parent != self._tree.floor.digest:
            first = path[0].facts
            self._tree.finalize(HeaderFacts(0, first.parent, b"", first.height - 1, -1, b""))

    def _ask(self, block: TreeBlock) -> None:
        block.state = BlockState.ASKED
        facts = block.facts
        self._emit(Judge(Question.ADOPT, BlockRef(facts.view, facts.digest), BlockRef(0, facts.parent)))

    def _advance(self) -> None:
        for tip in self._tree.candidates():
            if not self._waits_for_heads(tip):
                self._ask(tip)
        best = self._tree.best()
        if best is not None:
            self._follow(best)

    def _waits_for_heads(self, tip: TreeBlock) -> bool:
        """Whether a tip is so far above a replica without a final block that it may join from a snapshot instead."""
        is_far = tip.facts.height > self._tree.head.height + self._config.finality_depth
        return is_far and self._finality is None and self._joining.is_open

    def _follow(self, block: TreeBlock) -> None:
        abandoned = self._tree.follow(block)
        facts = block.facts
        self._counts["adopted"] += 1
        self._counts["switches"] += abandoned > 0
        self._counts["abandoned_most"] = max(self._counts["abandoned_most"], abandoned)
        self._emit(Adopt(BlockRef(facts.view, facts.digest), facts.height, abandoned))
        path = self._tree.path_to(facts.digest)
        if len(path) > self._config.finality_depth:
            chain = path[-1 - self._config.finality_depth :]
            burial = Burial(tuple(SealedHeader(each.facts.header, each.seal) for each in chain))
            self._finalize(burial)

    def _finalize(self, burial: Burial) -> None:
        self._finality = burial
        self._tree.finalize(burial.block)
        self._slots.forget_below(burial.view)
        self._emit(Append(burial), Finalized(burial))

    # -- from outside --------------------------------------------------------------------------

    def _adopt_floor(self, burial: Finality) -> None:
        assert isinstance(burial, Burial), f"{burial!r} is no finality of the longest chain"
        if burial.block.height > self._tree.floor.height:
            self._finality = burial
            self._tree.finalize(burial.block)
            self._slots.forget_below(burial.view)
            self._emit(Append(burial))
            for sealed in burial.chain[1:]:
                self._take_header(sealed)

    def _end_joining(self, number: int) -> None:
        """Adopt the final block of the greatest head if this replica has none of its own; trust on first sight."""
        greatest = self._joining.end(number)
        self._emit(*self._joining.go_on(self._config.fetch_timeout_us))
        self._is_dirty = True
        if greatest is None or greatest.final is None:
            return
        burial = greatest.final
        is_ahead = burial.block.height > self._tree.head.height
        may_take = self._finality is None or (self._joining.is_by_headers and not self._tree.is_lost(burial.block))
        if is_ahead and may_take:
            head = facts_of(greatest.head)
            assert head is not None, "checked"
            what = f"final block of height {burial.block.height} under a head of height {head.height}"
            self._emit(ReportActivity(TRUSTED, greatest.sender, burial.view, what))
            self._adopt_floor(burial)
            self._emit(Finalized(burial))
