"""Blocks that are asked for: lost ones and missing ones, whom to ask and when, what is kept, and served.

A block that is asked of the wrong peer, kept with another seal or served in too long an answer costs a run a round trip
and is made up for by the next one; that several blocks are lost at a start needs several faults of one disk. Here a
replica has lost some of its final blocks and lacks some of those above them, and hears sound and unsound answers.
"""

from typing import Final

from network.types import Label
from tests.properties.draws import Asked, Draw
from tests.properties.stub_port import SentMessage
from tests.properties.sync.reference_exchange import Given, ReferenceExchange
from tests.properties.sync.serving_limits import check_limits
from tests.properties.sync.stub_exchange import GENESIS, SOUND_SEALS, Made, StubExchange, make_block
from validators.execution.blocks import Block
from validators.messages import BlockRelay, BlockRequest
from validators.storage import BlockFile, SimulatedDisk
from validators.sync.follower import Goal, Purpose

_FINAL_MAX: Final = 6
_ABOVE: Final = 7
_STEPS: Final = 30
_ANSWER_MAX: Final = 4
_FIRST_VIEW: Final = 1_000
"""No goal is of a view below those of blocks: none is over because of its view."""


def check_exchanges(draw: Draw) -> Asked:
    """Yield what is asked of a block exchange, and whether it is so."""
    stage = _Stage(draw)
    yield from stage.compare()
    for _ in range(_STEPS):
        yield from stage.step()
        yield from stage.compare()
    again = BlockFile(stage.disk)
    again.load()
    found = {made.digest: again.get(made.digest) for made in stage.blocks}
    stored = {
        digest: encoded for digest, (_, encoded) in stage.plain.stored.items() if digest not in stage.plain.damaged
    }
    yield (
        "other blocks are on the disk than were stored, and had again",
        found == {made.digest: stored.get(made.digest) for made in stage.blocks},
    )
    yield from stage.look_at_forgotten()
    yield from check_limits(draw)


class _Stage:
    """A replica that has stored a few final blocks, and what it has to come to.

    Attributes:
        plain: What has to come of it.
        blocks: All blocks that there are: final ones, others of their heights, and branches above them.
        real: The parts that are judged.
    """

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        validators = 1 + draw(5)
        node, is_sealed, stores_voted = draw(validators + 1), draw(2) == 0, draw(2) == 0
        finals = _draw_finals(draw)
        plain = self.plain = ReferenceExchange(
            node, validators, finals[-1], is_sealed=is_sealed, stores_voted=stores_voted
        )
        self.blocks = [*finals, *_draw_branches(finals, draw)]
        self.disk = SimulatedDisk()
        file = BlockFile(self.disk)
        for made in finals:
            plain.stored[made.digest] = made, made.sealed(SOUND_SEALS[0] if is_sealed else b"")
            file.append(height=made.height, digest=made.digest, block=plain.stored[made.digest][1])
        # Some are lost before the start, which asks for them, and some behind it, which shows when they are read.
        lost = [made for made in finals if draw(3) == 0]
        late = [made for made in finals if made not in lost and draw(4) == 0]
        self._spoil(lost)
        self.real = StubExchange(
            *(finals[-1], self.disk),
            node=node,
            validators=validators,
            is_sealed=is_sealed,
            stores_voted=stores_voted,
        )
        self._spoil(late)
        for made in lost:
            self.real.exchange.restore(made.digest)
            plain.lose(made.digest)
        plain.damaged = {made.digest: None for made in late}
        for made in lost:
            del plain.stored[made.digest]

    def _spoil(self, blocks: list[Made]) -> None:
        for made in blocks:
            encoded = self.plain.stored[made.digest][1]
            place = self.disk.read("blocks").index(encoded) + self.draw(len(encoded))
            (byte,) = self.disk.read("blocks", place, 1)
            self.disk.overwrite("blocks", place, bytes([byte ^ 1]))

    def step(self) -> Asked:
        """Let something happen."""
        match self.draw(12):
            case 0 | 1:
                self._want()
            case 2 | 3 | 4:
                self._take()
            case 5 | 6 | 7 if self.plain.timers:
                self._run_out()
            case 8:
                self._make_final()
            case 9:
                yield from self._ask()
            case 10:
                self._build()
            case _:
                yield from self._relay()

    def _want(self) -> None:
        """Want a block, or give one up."""
        real, plain, draw = self.real, self.plain, self.draw
        if draw(4) == 0:
            given_up = _FIRST_VIEW + draw(len(plain.leaders) + 1)
            real.follower.abandon(lambda goal: goal.view == given_up)
            plain.goals = [goal for goal in plain.goals if goal.view != given_up]
            return
        view = _FIRST_VIEW + len(plain.leaders)
        leader = draw(plain.validators + 1)
        plain.leaders[view] = real.leaders[view] = None if leader == plain.validators else leader
        goal = Goal(Purpose.CERTIFY, view, self._draw_block().digest)
        real.follower.want(goal)
        plain.goals.append(goal)
        plain.advance()

    def _draw_block(self) -> Made:
        return self.blocks[self.draw(len(self.blocks))]

    def _take(self) -> None:
        """Take blocks of a peer: such as were asked for, more often than not."""
        draw, plain = self.draw, self.plain
        asked = [*plain.asked]
        named = asked[draw(len(asked))] if asked and draw(3) else self._draw_block().digest
        by_digest = {made.digest: made for made in self.blocks}
        answer: list[Given] = []
        while named in by_digest and len(answer) <= draw(_ANSWER_MAX):
            answer.append(self._give(by_digest[named]))
            named = by_digest[named].parent
        peer = draw(plain.validators)
        self.real.exchange.take(peer, [given.encoded for given in answer])
        plain.take(peer, answer)
        self.real.follower.advance()
        plain.advance()

    def _give(self, made: Made) -> Given:
        draw = self.draw
        seals = (*SOUND_SEALS, *SOUND_SEALS, b"forged", b"") if self.plain.is_sealed else (b"", b"", b"", b"", b"stray")
        seal = seals[draw(len(seals))]
        encoded = made.sealed(seal)
        match draw(9):
            case 0:
                kind = "SealedBlock" if seal else "Block"
                return Given(encoded[:-1], made, seal, f"{kind} of {len(encoded) - 1} bytes")
            case 1:
                other = made._replace(block=Block(made.block.header, (b"of another block",)))
                return Given(other.sealed(seal), made, seal, "tx_root")
        return Given(encoded, made, seal)

    def _run_out(self) -> None:
        timers = [*self.plain.timers]
        _, digest = timers[self.draw(len(timers))]
        self.real.bare.timers.pop(("fetch", digest), None)
        self.real.exchange.retry(digest)
        self.plain.run_out(digest)

    def _make_final(self) -> None:
        """Let the next block be final, if one is here."""
        plain, real = self.plain, self.real
        ready = [made for made, _ in plain.held.values() if made.parent == plain.final.digest]
        if ready:
            made = ready[self.draw(len(ready))]
            plain.make_final(made)
            real.file.append(height=made.height, digest=made.digest, block=plain.stored[made.digest][1])
            real.make_final(made)
            real.follower.prune()
            real.follower.advance()
            plain.advance()

    def _ask(self) -> Asked:
        """Ask for a block and those below it."""
        made, plain = self._draw_block(), self.plain
        floor_height = self.draw(made.height + 2)
        expected = plain.answer_to(made.digest, floor_height)
        found = self.real.exchange.answer_to(BlockRequest(made.digest, floor_height))
        yield "other blocks are served than are asked for and here", [*found] == expected

    def _build(self) -> None:
        """Build a block, and put a seal beside it, be it that the block is gone meanwhile."""
        made, plain, real = self._draw_block(), self.plain, self.real
        is_new = made.digest not in plain.held
        if is_new and self.draw(4):
            real.follower.add_block(made.digest, made.block)
            plain.keep(made, b"")
        if is_new:
            seal = SOUND_SEALS[0] if plain.is_sealed else b""
            real.exchange.seal(made.digest, seal)
            plain.seal(made, seal)
        real.follower.advance()
        plain.advance()

    def _relay(self) -> Asked:
        """Send a block to everybody, and tell consensus of all that have seals."""
        made, plain, real = self._draw_block(), self.plain, self.real
        real.exchange.relay(made.digest)
        if made.digest in plain.held:
            seal = plain.held[made.digest][1]
            label = Label("BlockRelay", made.block.header.view, made.height)
            plain.sent.append(SentMessage(None, BlockRelay(made.sealed(seal)), label))
        real.exchange.report_sealed()
        for made, _ in sorted(plain.held.values(), key=lambda held: (held[0].height, held[0].digest)):
            plain.report(plain.node, made.digest)
        yield (
            "blocks are had with other seals than came first",
            [*real.follower.sealed()]
            == [
                (made.block, seal)
                for made, seal in sorted(plain.held.values(), key=lambda held: (held[0].height, held[0].digest))
                if seal
            ],
        )

    def compare(self) -> Asked:
        """Compare what has come of it so far."""
        real, plain = self.real, self.plain
        yield "requests or relays leave otherwise than in turn", real.bare.sent == plain.sent
        yield "other timers of blocks are armed than are waited for", real.bare.timers == plain.timers
        yield "other blocks are refused than are unsound", real.refused == plain.refused
        yield "consensus hears of other blocks than came with a seal", real.bare.works == plain.arrived
        yield "a seal is verified for another time than it takes", real.bare.spent_us == plain.spent_us
        yield "other blocks are had again than were lost", real.repaired == plain.repaired
        yield "other goals are settled than can be", real.settled == plain.settled
        yield "other blocks are missing than goals wait for", [*real.follower.missing()] == plain.missing()
        held = {made.digest: real.follower.block(made.digest) for made in self.blocks}
        expected = {made.digest: made.block if made.digest in plain.held else None for made in self.blocks}
        yield "other blocks are kept than came and are not too old", held == expected
        derived = real.exchange.derived(3)
        yield "a block exchange keeps what does not follow from what it asks for", derived.kept == derived.rebuilt
        count = len(plain.asked) + len(plain.lost)
        (size,) = derived.sizes
        yield (
            "a block exchange remembers more or less than it asks for",
            (len(derived.kept), size.found, size.bound) == (count, len(plain.asked), len(plain.lost) + 3),
        )
        rooms = real.follower.derived(0)
        yield "a follower keeps what does not follow from its blocks", rooms.kept == rooms.rebuilt

    def look_at_forgotten(self) -> Asked:
        """Store a lost block behind the exchange's back: that it is still thought lost has to show."""
        for digest in [*self.plain.lost][:1]:
            self.real.file.append(height=1, digest=digest, block=b"")
            derived = self.real.exchange.derived(0)
            forgotten = [name for name in derived.kept if name not in derived.rebuilt]
            yield "that a block is thought lost and is not passes unseen", len(forgotten) == 1


def _draw_finals(draw: Draw) -> list[Made]:
    """Draw a chain of final blocks."""
    finals: list[Made] = []
    parent = GENESIS
    for height in range(1, 2 + draw(_FINAL_MAX)):
        made = make_block(0, height, parent, *([b"one"] if draw(2) else []))
        finals.append(made)
        parent = made.digest
    return finals


def _draw_branches(finals: list[Made], draw: Draw) -> list[Made]:
    """Draw a block beside the last final one, and blocks above both, on one another."""
    last = finals[-1]
    blocks = [last, make_block(1, last.height, last.parent)]
    for number in range(2, 2 + _ABOVE):
        parent = blocks[0] if number == 2 else blocks[draw(len(blocks))]
        blocks.append(make_block(number, parent.height + 1, parent.digest, *([b"one"] if draw(2) else [])))
    return blocks[1:]
