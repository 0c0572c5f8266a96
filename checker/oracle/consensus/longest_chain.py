"""The longest chain in its plainest form: the numbered rules of docs/longest-chain.md, each a function.

Received data is kept in lists and dictionaries, and every other value is computed at each use. Blocks are requested,
followed and dropped in the order of the rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from checker.oracle.consensus import calls
from checker.oracle.consensus.calls import Facts
from checker.oracle.consensus.signatures import Signatures

ANNOUNCEMENT: Final = 0
BURIAL: Final = 1
HEAD_REQUEST: Final = 2
HEAD_RESPONSE: Final = 3
"""Tags of messages and records."""

NOBODY: Final = -1
WAITING_MAX: Final = 1_024
LOST_MAX: Final = 4_096
DRAW: Final = 2**64

Config = Mapping[str, Any]


class Sealed(NamedTuple):
    """A header and its leader's seal."""

    header: bytes
    seal: bytes


class Answered(NamedTuple):
    """An answer to a request for heads; `final` is the burial of the peer's final block, empty for none."""

    sender: int
    head: Sealed
    final: Sequence[Sealed]


@dataclass
class Block:
    """A stored block, and the facts known of it."""

    facts: Facts
    seal: bytes
    is_asked: bool = False
    is_sound: bool = False
    is_bad: bool = False


class Header(msgspec.Struct, array_like=True, frozen=True):
    """The first fields of a header."""

    version: int
    height: int
    epoch: int
    slot: int
    parent: bytes
    proposer: int


def slot_of(wall_us: int, config: Config) -> int:
    """LC-1: The slot of a time on the wall clock."""
    slot: int = wall_us // config["slot_us"]
    return slot


def leader_of(slot: int, validators: int, config: Config) -> int:
    """LC-2: The leader of a slot: validators take turns, if there is no lottery."""
    if config.get("lottery_key") is None:
        return slot % validators
    return drawn_leader(slot, validators, config["lottery_key"], config["empty_slot_share_ppm"])


def drawn_leader(slot: int, validators: int, key: int, empty_ppm: int) -> int:
    """LC-3: The leader that the lottery draws, None for `empty_ppm` of a million slots."""
    drawn = sha256(b"stampede_LOTTERY" + key.to_bytes(8, "big") + slot.to_bytes(8, "big")).digest()
    first, second = int.from_bytes(drawn[:8], "big"), int.from_bytes(drawn[8:16], "big")
    if first * 1_000_000 // DRAW < empty_ppm:
        return NOBODY
    return second * validators // DRAW


def read_header(header: bytes) -> Facts | None:
    """LC-7: The facts of an encoded header, None for other bytes."""
    try:
        read = msgspec.msgpack.decode(header, type=Header)
    except (msgspec.MsgspecError, ValueError):
        return None
    return Facts(read.slot, sha256(header).digest(), read.parent, read.height, read.proposer, header)


def known_header(header: bytes) -> Facts:
    """LC-7: The facts of a header that was checked before."""
    facts = read_header(header)
    assert facts is not None, f"a header that was checked cannot be read: {header.hex()}"
    return facts


def is_next(facts: Facts, parent: Facts) -> bool:
    """LC-24: Whether a block has the next height and a later slot than its parent."""
    return facts.height == parent.height + 1 and facts.view > parent.view


def is_better(facts: Facts, other: Facts) -> bool:
    """LC-26: Whether a block is better than another: higher, or as high with a lower digest."""
    return facts.height > other.height or (facts.height == other.height and facts.digest < other.digest)


def read_sealed(pair: Sequence[bytes]) -> Sealed:
    """Return a decoded header with its seal."""
    header, seal = pair
    return Sealed(header, seal)


def read_burial(encoded: bytes) -> list[Sealed]:
    """Return the sealed headers of an encoded burial, the final block's first."""
    _tag, chain = msgspec.msgpack.decode(encoded)
    return [read_sealed(each) for each in chain]


def read_answer(sender: int, message: Sequence[Any]) -> Answered:
    """Return a decoded answer to a request for heads."""
    _tag, head, final = message
    return Answered(sender, read_sealed(head), [] if final is None else [read_sealed(each) for each in final[1]])


def write(*fields: object) -> bytes:
    """Return the encoding of a message or record: its tag and its fields."""
    return msgspec.msgpack.encode(fields)


class LongestChain:
    """The rules of a replica in one life."""

    MESSAGE_PARTS: ClassVar[Mapping[int, str]] = {
        ANNOUNCEMENT: "vote",
        HEAD_REQUEST: "request",
        # A head and a final block that a joining replica trusts.
        HEAD_RESPONSE: "certificate",
    }

    def __init__(self, life: calls.Life, signatures: Signatures) -> None:
        self.me = life.me
        self.validators = len(life.public_keys)
        self.is_observer = life.is_observer
        self.config: Config = life.config
        self.depth = int(life.config["finality_depth"])
        self.signatures = signatures
        self.effects: list[calls.Effect] = []
        # Slots.
        self.first_slot = 1
        self.entered = 0
        self.building: int | None = None
        self.waiting: dict[bytes, tuple[Facts, bytes]] = {}
        self.sealed: dict[int, Sealed | None] = {}
        # Blocks: stored blocks in the order of LC-27, and lost digests, the oldest first.
        self.final = Facts(0, life.genesis, b"", 0, NOBODY, b"")
        self.head = self.final
        self.burial: list[Sealed] = []
        self.here: dict[bytes, Block] = {}
        self.lost: dict[bytes, None] = {}
        self.has_kept = False
        # Joining.
        self.has_journal = False
        self.may_lead = False
        self.judges_by_headers = False
        self.round = 0
        self.is_round_open = False
        self.answers: dict[int, Answered] = {}

    def emit(self, effect: calls.Effect) -> None:
        """Add an effect to those of the step."""
        self.effects.append(effect)

    # -- checks --------------------------------------------------------------------------------

    def check(self, sender: int, message: bytes) -> calls.Answer:
        """LC-15: The answer to the check of a message, with the signatures that were verified for it."""
        before = self.signatures.verified
        read = msgspec.msgpack.decode(message)
        reason = ""
        if read[0] == ANNOUNCEMENT:
            reason = self.announcement_fault(read_sealed(read[1]))
        elif read[0] == HEAD_RESPONSE:
            reason = self.answer_fault(read_answer(sender, read))
        return calls.Answer(reason, self.signatures.verified - before)

    def announcement_fault(self, sealed: Sealed) -> str:
        """LC-11: The reason to refuse an announcement, empty for none."""
        facts = read_header(sealed.header)
        if facts is not None and (facts.digest in self.here or facts.height <= self.final.height):
            return "stale"
        return self.seal_fault(facts, sealed.seal)

    def answer_fault(self, answer: Answered) -> str:
        """LC-12: The reason to refuse an answer, empty for none."""
        if not self.is_round_open or answer.sender in self.answers:
            return "stale"
        if answer.final and len(answer.final) <= self.depth:
            return "too few headers on the final block"
        fault = self.seal_fault(read_header(answer.head.header), answer.head.seal)
        return fault or self.burial_fault(answer.final)

    def seal_fault(self, facts: Facts | None, seal: bytes) -> str:
        """LC-8, LC-9: The reason to refuse a sealed header, empty for none."""
        if facts is None or facts.view <= 0 or facts.height <= 0:
            return "malformed header"
        leader = leader_of(facts.view, self.validators, self.config)
        if leader == NOBODY or facts.proposer != leader:
            return "wrong leader"
        is_sealed = self.signatures.verify(facts.proposer, b"stampede_SLOT", facts.digest, seal)
        return "" if is_sealed else "invalid seal"

    def burial_fault(self, burial: Sequence[Sealed]) -> str:
        """LC-10: The reason to refuse a burial, empty for none."""
        for each in burial:
            if fault := self.seal_fault(read_header(each.header), each.seal):
                return fault
        for below, above in pairwise(known_header(each.header) for each in burial):
            if above.parent != below.digest or not is_next(above, below):
                return "headers are not linked"
        return ""

    def check_seal(self, block: Facts, seal: bytes) -> calls.Answer:
        """LC-13: The answer to the check of a block's seal."""
        before = self.signatures.verified
        return calls.Answer(self.seal_fault(block, seal), self.signatures.verified - before)

    def verify_finality(self, finality: bytes) -> bool:
        """LC-14: Whether a finality from outside is proved."""
        burial = read_burial(finality)
        return len(burial) > self.depth and not self.burial_fault(burial)

    # -- steps ---------------------------------------------------------------------------------

    def step(self, event: calls.Event) -> Sequence[calls.Effect]:
        """LC-30: The effects of an event: its own, then questions, then the adoption of a better head."""
        self.effects = []
        self.has_kept = False
        self.take(event)
        if self.has_kept or isinstance(event, (calls.Judged, calls.AskAgain, calls.TimeoutReached)):
            self.ask_for_better()
            self.adopt_best()
        return self.effects

    def take(self, event: calls.Event) -> None:
        """Give an event to its rule."""
        if isinstance(event, calls.Started):
            self.start()
        elif isinstance(event, calls.AlarmReached):
            self.reach(slot_of(event.wall_us, self.config))
        elif isinstance(event, calls.Built):
            self.seal(event)
        elif isinstance(event, calls.BlockArrived):
            self.arrive(event.block, event.seal)
        elif isinstance(event, calls.Received):
            self.receive(event.sender, msgspec.msgpack.decode(event.message))
        elif isinstance(event, calls.Judged):
            self.judge(event.digest, event.ok)
        elif isinstance(event, calls.TimeoutReached):
            self.end_round(event.number)
        elif isinstance(event, calls.FloorAdopted):
            self.adopt_floor(read_burial(event.finality))
        else:
            self.ask_again()

    def receive(self, sender: int, message: Sequence[Any]) -> None:
        """LC-39: An announced head arrives like any block, and an answer counts."""
        if message[0] == ANNOUNCEMENT:
            self.arrive_sealed(read_sealed(message[1]))
        elif message[0] == HEAD_REQUEST:
            self.name_head(sender)
        else:
            answer = read_answer(sender, message)
            self.arrive_sealed(answer.head)
            if self.is_round_open:
                self.answers[sender] = answer

    # -- slots ---------------------------------------------------------------------------------

    def start(self) -> None:
        """LC-4: A start sets the alarm of the first slot, and then asks for heads."""
        self.set_alarm(self.first_slot)
        self.begin_joining()

    def set_alarm(self, slot: int) -> None:
        """LC-1: The alarm of a slot goes off when the clock shows its beginning."""
        self.emit(calls.SetAlarm("slot", slot, slot * self.config["slot_us"]))

    def reach(self, slot: int) -> None:
        """LC-5: The slot of the clock is entered, unless it was entered before or lies before the first."""
        next_slot = self.entered + 1 if self.entered else self.first_slot
        if slot < next_slot:
            self.set_alarm(next_slot)
        else:
            self.entered = slot
            self.enter(slot)

    def enter(self, slot: int) -> None:
        """LC-6: Entering a slot: the report, the next alarm, the blocks that waited, and the leader's own block."""
        self.emit(calls.Entered(slot, leader_of(slot, self.validators, self.config)))
        self.set_alarm(slot + 1)
        self.release(slot)
        self.build(slot)

    def release(self, slot: int) -> None:
        """LC-19: The blocks that waited for their slot are kept, the lowest slot first, in it the lowest digest."""
        come = sorted((facts.view, digest) for digest, (facts, _) in self.waiting.items() if facts.view <= slot + 1)
        for _, digest in come:
            self.keep(*self.waiting.pop(digest))

    def build(self, slot: int) -> None:
        """LC-16: The leader builds on its head."""
        is_leader = leader_of(slot, self.validators, self.config) == self.me
        if not is_leader or self.is_observer or not self.may_lead:
            return
        if slot > self.head.view:
            self.building = slot
            self.emit(calls.Build(slot, self.head.view, self.head.digest))

    def seal(self, built: calls.Built) -> None:
        """LC-17: A built block is sealed, written, relayed and announced, and kept like any other."""
        if built.view != self.building:
            return
        self.building = None
        if built.block is None:
            return
        facts = built.block
        seal = self.signatures.sign(b"stampede_SLOT", facts.digest)
        announcement = write(ANNOUNCEMENT, Sealed(facts.header, seal))
        self.emit(calls.Append(announcement))
        self.emit(calls.Relay(facts.digest, seal))
        self.emit(calls.Send(None, announcement))
        self.keep(facts, seal)

    def arrive_sealed(self, sealed: Sealed) -> None:
        """LC-18: A block arrives by its sealed header."""
        self.arrive(known_header(sealed.header), sealed.seal)

    def arrive(self, facts: Facts, seal: bytes) -> None:
        """LC-18: A block is kept, or waits if its slot is further ahead than the next slot."""
        last = self.entered + 1 if self.entered else self.first_slot
        if facts.view <= last:
            self.keep(facts, seal)
        else:
            self.waiting[facts.digest] = facts, seal
            self.give_up_furthest()

    def give_up_furthest(self) -> None:
        """LC-20: Of too many waiting blocks, the block of the highest slot, then digest, is given up."""
        if len(self.waiting) > WAITING_MAX:
            _, furthest = max((facts.view, digest) for digest, (facts, _) in self.waiting.items())
            del self.waiting[furthest]

    # -- the blocks here -----------------------------------------------------------------------

    def keep(self, facts: Facts, seal: bytes) -> None:
        """LC-22: A new block is kept, unless it is lost."""
        if facts.digest in self.here:
            return
        if self.is_lost(facts):
            self.lose(facts.digest)
            return
        self.here[facts.digest] = Block(facts, seal)
        self.has_kept = True
        self.compare_with_neighbours(facts)
        self.report_conflict(facts, Sealed(facts.header, seal))

    def is_lost(self, facts: Facts) -> bool:
        """LC-22: Whether a block is not above the final block, or does not stand on it."""
        if facts.height == self.final.height + 1:
            return facts.parent != self.final.digest
        return facts.height <= self.final.height or facts.parent in self.lost

    def lose(self, digest: bytes) -> None:
        """LC-23: A block is lost with all that stand on it or wait for it, and is remembered for a while."""
        losing = [digest]
        for each in losing:
            if each != self.final.digest:
                self.here.pop(each, None)
                self.lost[each] = None
                losing += self.standing_on(each)
        while len(self.lost) > LOST_MAX:
            del self.lost[next(iter(self.lost))]

    def standing_on(self, digest: bytes) -> list[bytes]:
        """LC-22: The stored blocks whose parent is this block, stored or not."""
        return [each for each, block in self.here.items() if block.facts.parent == digest]

    def compare_with_neighbours(self, facts: Facts) -> None:
        """LC-24: A block is bad beside a parent that is bad or does not lead to it; so are blocks that wait for it."""
        block, parent = self.here[facts.digest], self.here.get(facts.parent)
        if facts.parent == self.final.digest:
            block.is_bad = not is_next(facts, self.final)
        elif parent is not None:
            block.is_bad = parent.is_bad or not is_next(facts, parent.facts)
        for each in self.standing_on(facts.digest):
            if block.is_bad or not is_next(self.here[each].facts, facts):
                self.refuse(each)

    def refuse(self, digest: bytes) -> None:
        """LC-24: A block is bad with all that stands on it."""
        bad = [digest]
        for each in bad:
            if each in self.here:
                self.here[each].is_bad = True
            bad += self.standing_on(each)

    def report_conflict(self, facts: Facts, sealed: Sealed) -> None:
        """LC-21: Two different sealed headers of a slot are evidence against its leader, once."""
        first = self.sealed.setdefault(facts.view, sealed)
        if first is not None and first != sealed:
            self.sealed[facts.view] = None
            evidence = (write(ANNOUNCEMENT, first), write(ANNOUNCEMENT, sealed))
            self.emit(calls.ReportActivity("ConflictingBlocks", facts.proposer, facts.view, "", evidence))

    def branch_of(self, digest: bytes) -> list[Block]:
        """LC-25: The blocks here from the lowest up to a block, each the parent of the next."""
        branch: list[Block] = []
        while (block := self.here.get(digest)) is not None:
            branch.append(block)
            digest = block.facts.parent
        return branch[::-1]

    def grounds(self) -> dict[bytes, None]:
        """LC-25: The final block, and the blocks that can be followed."""
        found: dict[bytes, None] = {self.final.digest: None}
        # A parent that is not bad is lower by 1.
        for block in sorted(self.here.values(), key=lambda each: each.facts.height):
            if block.is_sound and not block.is_bad and block.facts.parent in found:
                found[block.facts.digest] = None
        return found

    # -- questions and the head ----------------------------------------------------------------

    def ask_for_better(self) -> None:
        """LC-27: Better blocks are requested where a branch ends, and where it leaves the followable blocks."""
        grounds = self.grounds()
        parents = {block.facts.parent: None for block in self.here.values()}
        for digest, block in self.here.items():
            is_open = not (block.is_bad or block.is_sound or block.is_asked)
            is_end = digest not in parents
            if is_open and is_better(block.facts, self.head) and (is_end or block.facts.parent in grounds):
                self.ask_unless_far(block)

    def ask_unless_far(self, block: Block) -> None:
        """LC-45: A replica that may join from a snapshot asks for nothing far above its head."""
        is_far = block.facts.height > self.head.height + self.depth
        if not (is_far and not self.burial and self.is_round_open):
            self.ask(block)

    def ask(self, block: Block) -> None:
        """LC-27: The question for the judgement of a block on its parent."""
        block.is_asked = True
        self.emit(calls.Judge("adopt", block.facts.view, block.facts.digest, 0, block.facts.parent))

    def ask_again(self) -> None:
        """LC-29: Questions without an answer count as not asked."""
        for block in self.here.values():
            block.is_asked = False

    def judge(self, digest: bytes, ok: bool | None) -> None:  # noqa: FBT001 - the answer to a question
        """LC-28: A block is bad or sound; all blocks under a sound block are requested."""
        if ok is False:
            self.refuse(digest)
            return
        if ok:
            self.stand_on_own_state(digest)
        if digest in self.here:
            self.here[digest].is_sound = True
        self.judges_by_headers = ok is None
        self.ask_heads_again()
        for below in self.branch_of(digest)[:-1]:
            if not (below.is_bad or below.is_sound or below.is_asked):
                self.ask(below)

    def adopt_best(self) -> None:
        """LC-30: The best block that can be followed becomes the head, if it is better."""
        best = self.head
        for digest in self.grounds():
            if digest in self.here and is_better(self.here[digest].facts, best):
                best = self.here[digest].facts
        if best != self.head:
            abandoned = self.count_abandoned(best)
            self.head = best
            self.emit(calls.Adopt(best.view, best.digest, best.height, abandoned))
            self.bury()

    def count_abandoned(self, best: Facts) -> int:
        """LC-31: The blocks of the former head's branch that are not on the new head's."""
        kept = {block.facts.digest: None for block in self.branch_of(best.digest)}
        return sum(block.facts.digest not in kept for block in self.branch_of(self.head.digest))

    # -- finality ------------------------------------------------------------------------------

    def bury(self) -> None:
        """LC-32: The block that is deep enough under the new head is final."""
        branch = self.branch_of(self.head.digest)
        if len(branch) > self.depth:
            burial = [Sealed(block.facts.header, block.seal) for block in branch[-1 - self.depth :]]
            self.make_final(burial)
            self.emit(calls.Finalized(write(BURIAL, burial)))

    def make_final(self, burial: list[Sealed]) -> None:
        """LC-32, LC-43: A final block goes into the journal, without the headers on it."""
        self.burial = burial
        facts = known_header(burial[0].header)
        self.stand_on(facts)
        self.forget_slots(facts.view)
        self.emit(calls.Append(write(BURIAL, burial[:1])))

    def stand_on(self, facts: Facts) -> None:
        """LC-24, LC-33: A final block sorts the blocks by height, and drops every lost block."""
        self.final = facts
        self.lost.pop(facts.digest, None)
        before, self.here = sorted(self.here.values(), key=lambda block: block.facts.height), {}
        for block in before:
            if block.facts.digest == facts.digest:
                continue
            if self.is_lost(block.facts):
                self.lose(block.facts.digest)
            else:
                self.here[block.facts.digest] = block
        for digest in self.standing_on(facts.digest):
            if not is_next(self.here[digest].facts, facts):
                self.refuse(digest)
        if self.head.digest not in self.here:
            self.head = facts

    def forget_slots(self, slot: int) -> None:
        """LC-34: Sealed headers of slots up to the final block's are forgotten."""
        self.sealed = {each: sealed for each, sealed in self.sealed.items() if each > slot}

    # -- joining and restart -------------------------------------------------------------------

    def replay(self, records: Sequence[bytes], floor: bytes | None) -> str:
        """LC-35: A journal names the final block, and the slots that are over."""
        named = [*([] if floor is None else [floor]), *records]
        self.has_journal = bool(named)
        for record in named:
            tag, content = msgspec.msgpack.decode(record)
            facts = known_header(content[0] if tag == ANNOUNCEMENT else content[0][0])
            self.first_slot = max(self.first_slot, facts.view + 1)
            if tag == BURIAL and facts.height > self.final.height:
                self.burial = read_burial(record)
                self.stand_on(facts)
        return ""

    def begin_joining(self) -> None:
        """LC-36, LC-37: A start asks for heads; a replica with a journal leads nothing before the round's end."""
        is_lone = self.validators == 1 and self.me == 0
        self.may_lead = is_lone or not self.has_journal
        if not is_lone:
            self.open_round()

    def open_round(self) -> None:
        """LC-36: A round asks all validators for their heads, and gives them time."""
        self.round += 1
        self.is_round_open = True
        self.answers = {}
        self.emit(calls.Send(None, write(HEAD_REQUEST)))
        self.emit(calls.SetTimer("join", self.round, self.config["fetch_timeout_us"]))

    def ask_heads_again(self) -> None:
        """LC-41: A replica that judges by headers alone learns of final blocks from answers."""
        if self.judges_by_headers and not self.is_round_open:
            self.open_round()

    def name_head(self, sender: int) -> None:
        """LC-38: A request is answered with the head, and the burial of the final block where it is whole."""
        if self.head.digest in self.here:
            head = Sealed(self.head.header, self.here[self.head.digest].seal)
            final = (BURIAL, self.burial) if len(self.burial) > self.depth else None
            self.emit(calls.Send(sender, write(HEAD_RESPONSE, head, final)))

    def end_round(self, number: int) -> None:
        """LC-37, LC-40: The open round's timer ends it, and the greatest answer counts."""
        greatest: Answered | None = None
        if self.is_round_open and number == self.round:
            self.is_round_open = False
            self.may_lead = True
            # Of equal heads `max` takes the first: that of the lowest number.
            heard = [self.answers[sender] for sender in sorted(self.answers)]
            greatest = max(heard, key=lambda answer: known_header(answer.head.header).height, default=None)
            self.answers = {}
        self.ask_heads_again()
        if greatest is not None and greatest.final:
            self.trust(greatest)

    def trust(self, answer: Answered) -> None:
        """LC-42: The final block under the greatest head is taken on first sight, if there is no own final block."""
        final, head = known_header(answer.final[0].header), known_header(answer.head.header)
        is_lost = final.digest in self.lost or self.is_lost(final)
        may_take = not self.burial or (self.judges_by_headers and not is_lost)
        if final.height > self.head.height and may_take:
            detail = f"final block of height {final.height} under a head of height {head.height}"
            self.emit(calls.ReportActivity("TrustedOnFirstSight", answer.sender, final.view, detail, ()))
            self.adopt_floor(list(answer.final))
            self.emit(calls.Finalized(write(BURIAL, answer.final)))

    def adopt_floor(self, burial: list[Sealed]) -> None:
        """LC-43: A higher final block from outside is the new final block, and its other headers arrive."""
        if known_header(burial[0].header).height > self.final.height:
            self.make_final(burial)
            for sealed in burial[1:]:
                self.arrive_sealed(sealed)

    def stand_on_own_state(self, digest: bytes) -> None:
        """LC-44: A sound block whose branch has no known root shows the final block of the state."""
        branch = self.branch_of(digest)
        if not self.burial and branch and branch[0].facts.parent != self.final.digest:
            lowest = branch[0].facts
            self.stand_on(Facts(0, lowest.parent, b"", lowest.height - 1, NOBODY, b""))
