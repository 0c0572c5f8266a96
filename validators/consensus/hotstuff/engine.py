"""The chained HotStuff state machine of one validator, with the commit rules of three or two blocks.

Four things never happen, whatever the order of events and however often the validator restarts:

- a second vote is cast in a view, or a vote in a view that was given up;
- the lock, or the highest certificate, moves back;
- a block becomes final that does not descend from the previous final block;
- a message leaves before the journal holds the entries that it relies on: they are appended in the same step.

In a step the event adds blocks, certificates and votes, which may mark the machine *dirty*. `step` then asks, until
nothing is dirty, whether it can propose or vote in the current view.
"""

from collections.abc import Sequence
from typing import Final

from network.types import Digest, NodeId
from validators.consensus.hotstuff.casting import Voter
from validators.consensus.hotstuff.certificates import certify_block, certify_timeout, genesis_certificate
from validators.consensus.hotstuff.chain import CertifiedChain
from validators.consensus.hotstuff.config import HotStuffConfig
from validators.consensus.hotstuff.derived import derive_memory
from validators.consensus.hotstuff.finality import Commit
from validators.consensus.hotstuff.journal import HotStuffRecord, Memory, restore
from validators.consensus.hotstuff.messages import (
    BlockVote,
    HotStuffMessage,
    QuorumCertificate,
    TimeoutCertificate,
    ViewTimeout,
)
from validators.consensus.hotstuff.screening import MessageScreen
from validators.consensus.hotstuff.sealing import decode_seal, encode_seal, leader_of
from validators.consensus.hotstuff.tally import GivenUp, TimeoutTally, VoteTally
from validators.consensus.hotstuff.tree import JustifiedBlock
from validators.consensus.interface import (
    AskAgain,
    BlockArrived,
    BlockRef,
    Build,
    Built,
    CancelTimer,
    Effect,
    Event,
    Finality,
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
    SetTimer,
    Started,
    TimeoutReached,
)
from validators.consensus.quorum import faults_of, quorum_of
from validators.consensus.signing import Scheme
from validators.derived import Derived
from validators.events import Entered

VIEW_TIMER: Final = "view"
"""The time of the current view is over."""

CONFLICTING_VOTES: Final = "ConflictingVotes"
TIMED_OUT: Final = "TimedOut"


class HotStuff:
    """One validator's consensus; see `EngineMaker` for the arguments."""

    def __init__(
        self,
        *,
        me: NodeId,
        validators: int,
        scheme: Scheme,
        config: HotStuffConfig,
        genesis: Digest,
        is_observer: bool = False,
    ) -> None:
        assert 0 <= me < validators or is_observer, f"validator {me} of {validators}"
        self._effects: list[Effect] = []
        self._me = me
        self._validators = validators
        self._quorum = quorum_of(validators)
        self._config = config
        self._genesis = BlockRef(0, genesis)
        self._memory = Memory(high=genesis_certificate(genesis), locked=self._genesis)
        self._chain = CertifiedChain(self._memory, config, self._genesis, self._emit)
        self._voter = Voter(None if is_observer else me, scheme, config)
        self._votes = VoteTally()
        self._timeouts = TimeoutTally()
        self._screen = MessageScreen(validators=validators, scheme=scheme, votes=self._votes, timeouts=self._timeouts)
        self._given_up = 0
        self._building: QuorumCertificate | None = None
        self._verifying: BlockRef | None = None
        self._counts = dict.fromkeys(("certificates_assembled", "timeouts", "joined"), 0)
        self._is_dirty = False

    @property
    def position(self) -> Position:
        """The current view and its leader."""
        return Position(self._memory.view, self.leader(self._memory.view))

    @property
    def finality(self) -> Commit | None:
        """The proof of the highest final block; None while that is genesis."""
        return self._memory.commit

    def leader(self, view: int) -> NodeId:
        """Return the leader of a view, which is 1 or more."""
        return leader_of(view, self._validators)

    def derived(self, records: Sequence[HotStuffRecord], floor: Finality | None) -> Derived:
        """Return what it remembers, beside what its journal leads to, and the sizes of its tallies."""
        assert floor is None or isinstance(floor, Commit), f"{floor!r} is no finality of HotStuff"
        fresh = Memory(high=genesis_certificate(self._genesis.digest), locked=self._genesis)
        restore(fresh, records, self._me, floor)
        counted = {
            "blocks": len(self._chain.tree),
            "votes": len(self._votes),
            "timeouts": len(self._timeouts),
            "certifications": len(self._chain),
        }
        views = self._memory.view - self._chain.final_view + self._config.view_retention
        return derive_memory(self._memory, fresh, counted=counted, validators=self._validators, views=views)

    def statistics(self) -> dict[str, int]:
        """Return figures of this life, by name."""
        return {**self._counts, "votes_cast": self._voter.votes_cast, "blocks_kept": len(self._chain.tree)}

    def replay(self, records: Sequence[HotStuffRecord], floor: Finality | None = None) -> None:
        """Restore from the journal of an earlier life, pruned below `floor`; raises CorruptRecordError."""
        assert floor is None or isinstance(floor, Commit), f"{floor!r} is no finality of HotStuff"
        restore(self._memory, records, self._me, floor)

    def check(self, sender: NodeId, message: HotStuffMessage) -> MessageCheck:
        """Return whether a message is sound and of use; verifies only signatures of useful messages."""
        return self._screen.check(sender, message, self._memory.view)

    def step(self, event: Event) -> list[Effect]:  # noqa: C901, PLR0912 - one flat line per kind of event
        """Process an event, do what the current view can do now, and return the step's effects."""
        match event:
            case BlockArrived(sender, facts, seal):
                self._take_block(sender, facts, seal)
            case Received(_, BlockVote() as vote):
                self._count_vote(vote)
            case Received(_, ViewTimeout() as timeout):
                self._take_timeout(timeout)
            case Judged(Question.VERIFY, ref, ok):
                self._take_verification(ref, is_sound=ok is True)
            case Judged(_, ref, bool(ok)):
                self._take_certification(ref, is_sound=ok)
            case Built(view, digest):
                self._propose(view, digest)
            case TimeoutReached(name, number) if name == VIEW_TIMER:
                self._expire(number)
            case Started():
                self._start()
            case FloorAdopted(finality):
                self._adopt_floor(finality)
            case AskAgain():
                self._ask_again()
            case Judged():  # A block that cannot be certified yet is asked about again.
                pass
            case _:
                raise TypeError(f"HotStuff takes no such event: {event!r}")
        while self._is_dirty:
            self._is_dirty = False
            self._try_to_propose()
            self._try_to_vote()
        # A new list, not a cleared one: the caller performs its effects later and keeps the list.
        effects, self._effects = self._effects, []
        return effects

    # -- starting ------------------------------------------------------------------------------

    def _start(self) -> None:
        memory = self._memory
        self._emit(Entered(memory.view, self.leader(memory.view)))
        self._arm()
        self._chain.raise_high(memory.high)
        # They may never have left: the crash may have come between the sync and the sending.
        self._voter.found = memory.vote if memory.vote is not None and memory.vote.view >= memory.view - 1 else None
        if memory.timeout is not None and memory.timeout.view == memory.view:
            self._emit(Send(None, memory.timeout))
            self._timeouts.add(memory.timeout)
            # Where this validator alone is a quorum, no peer would ever bring it the certificate.
            self._complete_timeouts(memory.view)
        self._is_dirty = True

    def _expire(self, view: int) -> None:
        if view == self._memory.view:
            self._given_up += 1
            self._give_up(GivenUp.EXPIRED)

    def _adopt_floor(self, finality: Finality) -> None:
        assert isinstance(finality, Commit), f"{finality!r} is no finality of HotStuff"
        if finality.view > self._chain.final_view:
            is_higher = finality.certificate.view > self._memory.high.view
            self._chain.commit(finality)
            if is_higher:
                self._given_up = 0
            self._see_certificate(finality.certificate)
            self._is_dirty = True

    def _ask_again(self) -> None:
        self._chain.ask_again()
        self._building = self._verifying = None
        self._is_dirty = True

    # -- blocks, votes and certificates --------------------------------------------------------

    def _take_block(self, sender: NodeId, facts: HeaderFacts, encoded: bytes) -> None:
        if (found := self._voter.take_found(sender, facts.digest)) is not None:
            self._send_vote(found)
        seal = decode_seal(encoded)
        is_of_genesis = seal is not None and seal.justify.view == 0
        if seal is None or (is_of_genesis and seal.justify.digest != self._genesis.digest):
            return
        if not self._is_near(facts.view):  # Its certificate may show the way there.
            self._see_certificate(seal.justify)
        if self._is_near(facts.view) and self._chain.tree.add(JustifiedBlock(facts, seal.justify, seal.timeout)):
            self._see_certificate(seal.justify)
            if seal.timeout is not None:
                self._see_timeout_certificate(seal.timeout)
            self._count_vote(BlockVote(facts.proposer, facts.view, facts.digest, seal.vote))
            self._chain.update()
            self._is_dirty = True

    def _is_near(self, view: int) -> bool:
        return self._chain.final_view < view <= self._memory.view + self._config.view_retention

    def _take_certification(self, ref: BlockRef, *, is_sound: bool) -> None:
        self._chain.judged(ref, is_sound=is_sound)
        self._is_dirty = True
        for vote in self._votes.of_block(ref):
            self._count_vote(vote)

    def _count_vote(self, vote: BlockVote) -> None:
        if vote.view < self._memory.view - 1:
            return
        evidence = self._votes.add(vote)
        if evidence is not None:
            self._emit(ReportActivity(CONFLICTING_VOTES, vote.signer, vote.view, "", evidence))
        votes = self._votes.like(vote)
        is_quorum = len(votes) >= self._quorum and vote.view > self._memory.high.view
        # The certificate of a single voter would be on the disk without its block if the power failed now.
        if is_quorum and (self._quorum > 1 or self._chain.is_stored(BlockRef(vote.view, vote.digest))):
            self._counts["certificates_assembled"] += 1
            self._see_certificate(certify_block(votes, self._validators))

    def _see_certificate(self, certificate: QuorumCertificate) -> None:
        """Take in the certificate of a block, whoever sent it."""
        if self._chain.raise_high(certificate):
            self._given_up = 0
            self._is_dirty = True
        self._enter(certificate.view + 1)

    def _see_timeout_certificate(self, certificate: TimeoutCertificate) -> None:
        entry = self._memory.entry
        # A certificate of the view before is of use even to validators in this view: the leader shows it.
        if certificate.view >= self._memory.view - 1 and (entry is None or certificate.view > entry.view):
            self._chain.note(certificate)
            self._is_dirty = True
            self._enter(certificate.view + 1)

    def _take_timeout(self, message: ViewTimeout) -> None:
        """Count a timeout; follow f + 1 timeouts of peers, and a quorum's."""
        self._timeouts.add(message)
        self._see_certificate(message.high)
        if message.entry is not None:
            self._see_timeout_certificate(message.entry)
        # Of f + 1 validators one is honest, so no Byzantine validator can name a view that no honest validator reached.
        view = self._timeouts.view_of_others(self._me, faults_of(self._validators) + 1)
        if view > self._memory.view or (view == self._memory.view and not self._has_left(view)):
            self._join(view)
        self._complete_timeouts(message.view)
        self._is_dirty = True

    def _complete_timeouts(self, view: int) -> None:
        timeouts = self._timeouts.of_view(view)
        if len(timeouts) >= self._quorum and view >= self._memory.view:
            self._see_timeout_certificate(certify_timeout(timeouts, self._validators))

    # -- views ---------------------------------------------------------------------------------

    def _enter(self, view: int) -> None:
        """Move to a view unless the current view is as high."""
        if view <= self._memory.view:
            return
        self._emit(CancelTimer(VIEW_TIMER, self._memory.view))
        self._memory.view = view
        self._votes.prune(view - 1)
        self._building = self._verifying = None
        self._emit(Entered(view, self.leader(view)))
        self._arm()
        self._is_dirty = True

    def _arm(self) -> None:
        self._emit(SetTimer(VIEW_TIMER, self._memory.view, self._config.wait_us(self._given_up)))

    def _join(self, view: int) -> None:
        """Enter the view that f + 1 peers have reached, and send a timeout for it."""
        self._counts["joined"] += 1
        self._enter(view)
        self._give_up(GivenUp.JOINED)

    def _has_left(self, view: int) -> bool:
        """Whether no timeout is due for a view that peers leave: it was sent already, or cannot be sent."""
        said = self._memory.timeout
        return self._voter.is_observer or (said is not None and said.view >= view)

    def _give_up(self, reason: GivenUp) -> None:
        """Give the current view up: send the timeout, or repeat it, and stay until a quorum gives up."""
        memory = self._memory
        # Before the timeout: it may complete the certificate that leads to the next view.
        self._arm()
        if memory.timeout is None or memory.timeout.view < memory.view:
            self._say(self._voter.timeout(memory), reason)
            self._complete_timeouts(memory.view)
        else:
            # Repeated, because the first timeout may have been lost.
            self._emit(Send(None, memory.timeout))

    def _say(self, message: ViewTimeout | None, reason: GivenUp) -> None:
        view = self._memory.view
        self._counts["timeouts"] += 1
        self._emit(ReportActivity(TIMED_OUT, self.leader(view), view, reason.value))
        if message is not None:
            self._chain.note(message)
            self._emit(Send(None, message))
            self._timeouts.add(message)

    # -- proposing and voting ------------------------------------------------------------------

    def _try_to_propose(self) -> None:
        memory, view, high = self._memory, self._memory.view, self._memory.high
        if self.leader(view) != self._me or self._building is not None or not self._voter.may_vote(memory, view):
            return
        if self._may_propose(view, high) and self._chain.is_sound(high.ref):
            self._building = high
            self._emit(Build(view, high.ref))

    def _may_propose(self, view: int, high: QuorumCertificate) -> bool:
        """Whether a quorum can vote on the highest known certificate."""
        if high.view == view - 1:
            return True
        entry = self._memory.entry
        return entry is not None and entry.view == view - 1 and high.view >= entry.high_view

    def _propose(self, view: int, digest: Digest | None) -> None:
        memory, justify = self._memory, self._building
        if view != memory.view or justify is None or digest is None or not self._voter.may_vote(memory, view):
            return
        cast = self._voter.vote(BlockRef(view, digest), justify.view)
        self._chain.note(cast)
        seal = self._voter.seal(cast.vote, justify, memory.entry)
        self._emit(Relay(digest, encode_seal(seal)))
        self._send_vote(cast.vote)

    def _try_to_vote(self) -> None:
        memory = self._memory
        block = self._voter.choose(memory, self._chain.tree.of_view(memory.view))
        if block is None or self._verifying is not None or block.facts.proposer == self._me:
            return
        # The parent's own justification says what its certificate has locked; without it no vote is safe.
        if self._chain.is_known(block.justify.ref) and self._chain.is_sound(block.justify.ref):
            self._verifying = block.ref
            self._emit(Judge(Question.VERIFY, block.ref, block.justify.ref))

    def _take_verification(self, ref: BlockRef, *, is_sound: bool) -> None:
        block = self._chain.tree.get(ref.digest)
        is_asked = self._verifying == ref and ref.view == self._memory.view and block is not None
        if is_asked and is_sound and block is not None and self._voter.may_vote_for(self._memory, block):
            if block.timeout is not None and block.timeout != self._memory.entry:
                # Several certificates can be made of a view's timeouts; the vote rests on this certificate.
                self._chain.note(block.timeout)
            cast = self._voter.vote(ref, block.justify.view)
            self._chain.note(cast)
            self._send_vote(cast.vote)

    def _send_vote(self, vote: BlockVote) -> None:
        self._emit(Send(self.leader(vote.view + 1), vote))
        self._count_vote(vote)

    def _emit(self, *effects: Effect) -> None:
        self._effects.extend(effects)
