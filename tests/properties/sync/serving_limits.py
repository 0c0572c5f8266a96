"""Limits of a block exchange: the longest answer, how many answers a peer gets, how much it may give.

No run has so many blocks that an answer is full, nor a peer that fills its room; who asks too often in a run is a
Byzantine validator, and what it does not get it was not owed. Here a chain is just as long, and blocks as large, as the
limits are.
"""

from typing import Final, cast

from network.types import Label
from tests.properties.draws import Asked, Draw
from tests.properties.stub_port import COSTS, SentMessage
from tests.properties.sync.stub_exchange import GENESIS, Made, StubExchange, make_block
from validators.execution.blocks import Block
from validators.messages import BlockRequest, BlockResponse
from validators.storage import SimulatedDisk
from validators.sync.follower import Goal, PeerBlock, Purpose
from validators.sync.serving import Answer

_MIB: Final = 1024 * 1024

ANSWER_BLOCKS: Final = 64
ANSWER_BYTES: Final = 8 * _MIB
"""The most of an answer; one block goes out whatever its size."""

_PEER_BYTES: Final = 64 * _MIB
_PEER_BLOCK_BYTES_MIN: Final = 16 * 1024
"""The room of a peer for blocks that are not final, and the least that a block takes of it."""

_BLOCKS: Final = "BlockRequest"
_SECOND_US: Final = 1_000_000
_LARGE_EVERY: Final = 5
_REQUESTS: Final = 24
_PEERS: Final = 3
_GIFTS: Final = 12
_TURNS: Final = 19
_LOOK_EVERY: Final = 3
_VIEW: Final = 1_000


def check_limits(draw: Draw) -> Asked:
    """Yield what is asked of the limits of a block exchange, and whether it is so."""
    if draw(_LARGE_EVERY):
        yield from _check_long_answers(draw)
    else:
        yield from _check_large_answers(draw)
    yield from _check_serving(draw)
    yield from _check_rooms(draw)
    yield from _check_full_room(draw)


def _make_chain(count: int) -> list[Made]:
    """Return a chain of blocks without transactions."""
    chain: list[Made] = []
    parent = GENESIS
    for height in range(1, count + 1):
        chain.append(make_block(0, height, parent))
        parent = chain[-1].digest
    return chain


def _keep(chain: list[Made], final: Made | None = None) -> StubExchange:
    """Return a replica that has these blocks, above a final one."""
    real = StubExchange(final or make_block(1, 0, GENESIS), SimulatedDisk())
    for made in chain:
        real.follower.add_block(made.digest, made.block)
    return real


def _check_long_answers(draw: Draw) -> Asked:
    """Ask for more blocks than one answer holds, and give more than that."""
    chain = _make_chain(ANSWER_BLOCKS - 1 + draw(4))
    real = _keep(chain)
    newest_first = [made.sealed(b"") for made in reversed(chain)]
    floor_height = draw(4)
    found = real.exchange.answer_to(BlockRequest(chain[-1].digest, floor_height))
    expected = newest_first[: min(ANSWER_BLOCKS, len(chain) - floor_height)]
    yield "an answer is longer than it may be, or shorter than it has to be", [*found] == expected
    parts = [tuple(newest_first[begin : begin + ANSWER_BLOCKS]) for begin in range(0, len(chain), ANSWER_BLOCKS)]
    yield "answers do not lead down to genesis", [*real.exchange.served_from(chain[-1].digest)] == parts
    other = _keep([])
    other.exchange.take(1, newest_first)
    kept = [other.follower.block(made.digest) is not None for made in reversed(chain)]
    yield (
        "of an answer more is taken than it may hold, or less",
        kept == [place < ANSWER_BLOCKS for place in range(len(chain))],
    )


def _check_large_answers(draw: Draw) -> Asked:
    """Ask for blocks that fill an answer to the last byte, or overfill it by one; or begin with one that does alone."""
    first, second = (5, 6, 9)[draw(3)] * _MIB, (1 + draw(2)) * _MIB
    rest = max(ANSWER_BYTES - first - second, _MIB // 2) + draw(2)
    small, *others = _make_chain(4)
    sizes = [len(small.sealed(b"")), rest, second, first]
    chain = [small, *(_stretch(made, size) for made, size in zip(others, sizes[1:], strict=True))]
    room, expected = ANSWER_BYTES, list[int]()
    for size in reversed(sizes):
        if expected and size > room:
            break
        expected.append(size)
        room -= size
    found = _keep(chain).exchange.answer_to(BlockRequest(chain[-1].digest, 0))
    yield "an answer has more bytes than it may, or fewer than it has to", [*map(len, found)] == expected


def _stretch(made: Made, size: int) -> Made:
    """Return a block with another body, so that it has this length, of which five bytes say how long the body is."""
    # Nobody hashes it: what is held has been found sound.
    return made._replace(block=Block(made.block.header, (bytes(size - len(made.sealed(b"")) - 5),)))


class _PlainServing:
    """The answers of a replica that has a chain, to peers that ask for more than their share."""

    def __init__(self, chain: list[Made]) -> None:
        self.answered: dict[tuple[int, str], int] = {}
        self.under_way: list[Answer] = []
        self.refused: list[tuple[str, str]] = []
        self.works: list[tuple[int, object]] = []
        self._chain = chain

    def ask(self, peer: int, kind: str, asked: Made, floor_height: int) -> None:
        """Answer a request of a peer, or refuse it."""
        answered = self.answered.get((peer, kind), 0)
        # Silence is no answer: a request for a block that is not here counts for nothing.
        is_silent = kind == _BLOCKS and asked not in self._chain and peer not in [each.peer for each in self.under_way]
        self.answered[peer, kind] = answered + (not is_silent or answered >= COSTS.answers_per_second)
        if answered >= COSTS.answers_per_second:
            self.refused.append((kind, "TooManyAnswers"))
        elif peer in [answer.peer for answer in self.under_way]:
            self.refused.append((kind, "AnswerUnderWay"))
        elif kind == _BLOCKS and asked in self._chain:
            below = [made for made in reversed(self._chain) if made.height <= asked.height]
            blocks = tuple(made.sealed(b"") for made in below if made.height > floor_height or made is asked)
            label = Label("BlockResponse", asked.block.header.view, asked.height)
            self.under_way.append(Answer(peer, BlockResponse(blocks), label))
            self.works.append((COSTS.serve_block_us * len(blocks), self.under_way[-1]))

    def finish(self) -> SentMessage:
        """Return the answer that is ready first, which leaves."""
        self.works.pop(0)
        return SentMessage(*self.under_way.pop(0))


def _check_serving(draw: Draw) -> Asked:
    """Ask for blocks, more often than is answered, while answers are prepared."""
    unknown, *chain = _make_chain(4)
    real, plain = _keep(chain, unknown), _PlainServing(chain)
    for _ in range(_REQUESTS):
        sent: list[SentMessage] = []
        timers: dict[object, int] = {}
        real.bare.sent.clear()
        real.bare.timers.clear()
        match draw(8):
            case 0:
                real.serving.begin_second()
                plain.answered.clear()
            case 1 | 2 if plain.works:
                real.serving.send(cast("Answer", real.bare.works.pop(0)[1]))
                sent = [plain.finish()]
            case _:
                peer, kind = draw(_PEERS), _BLOCKS if draw(4) else "SnapshotRequest"
                asked, floor_height = [unknown, *chain][draw(4)], draw(4)
                timers = {} if plain.answered else {("answers",): _SECOND_US}
                plain.ask(peer, kind, asked, floor_height)
                if kind == _BLOCKS:
                    real.exchange.serve(peer, BlockRequest(asked.digest, floor_height))
                else:
                    real.serving.may_answer(peer, kind)
        yield "requests are refused otherwise than beside an answer or beyond a share", real.refused == plain.refused
        yield "an answer holds other blocks, or takes another time", real.bare.works == plain.works
        yield "other answers leave than were prepared", real.bare.sent == sent
        yield "the second of the answers begins at another time", real.bare.timers == timers
        sizes = [(size.found, size.bound) for size in real.serving.derived(_PEERS + 1).sizes]
        kinds = len(dict.fromkeys(kind for _, kind in plain.answered))
        yield (
            "other peers are remembered than were answered",
            sizes == [(len(plain.under_way), _PEERS), (len(plain.answered), kinds * _PEERS)],
        )


def _check_rooms(draw: Draw) -> Asked:
    """Give a replica more than a peer has room for, of blocks large and tiny, while some become final."""
    chain = _make_chain(_GIFTS)
    real = _keep([])
    held: dict[bytes, tuple[Made, int | None, int]] = {}
    final_height, wanted = 0, b""
    for turn in range(_TURNS):
        made = chain[draw(len(chain))]
        match draw(7):
            case 0:
                final_height = min(final_height + draw(3), _GIFTS)
                real.chain.finalized = make_block(1, final_height, GENESIS).block.header
                real.follower.prune()
                held = {digest: each for digest, each in held.items() if each[0].height > final_height}
            case 1 if made.digest not in held:
                real.follower.abandon(lambda _goal: True)
                real.leaders[_VIEW], wanted = None, made.digest
                real.follower.want(Goal(Purpose.CERTIFY, _VIEW, wanted))
            case _:
                peer = (None, 1, 2)[draw(3)]
                used = sum(room for _, giver, room in held.values() if giver == peer)
                length = _draw_length(_PEER_BYTES - used, draw)
                room = max(length, _PEER_BLOCK_BYTES_MIN)
                is_useful = made.digest not in held and made.height > final_height
                is_awaited = made.digest == wanted
                expected = is_useful and (peer is None or used + room <= _PEER_BYTES or is_awaited)
                sent = None if peer is None else PeerBlock(peer, length)
                found = real.follower.add_block(made.digest, made.block, sent)
                yield "a block is kept, or not, where its giver has room for the other", found == expected
                if expected:
                    held[made.digest] = made, peer, room
                    if is_awaited:
                        # What it stands on would be waited for then.
                        real.follower.abandon(lambda _goal: True)
                        wanted = b""
        if turn % _LOOK_EVERY == 0:
            derived = real.follower.derived(1)
            yield "a follower keeps what does not follow from its blocks", derived.kept == derived.rebuilt
            sizes = [size for size in derived.sizes if size.formula == "PEER_BYTES_MAX"]
            bounds = [size.bound for size in sizes]
            yield "a peer has another room than its limit", bounds == [_PEER_BYTES + _PEER_BLOCK_BYTES_MIN] * len(sizes)
            rooms = sorted(size.found for size in sizes if size.found)
            given = [sum(room for _, giver, room in held.values() if giver == peer) for peer in (1, 2)]
            yield "the rooms of peers are taken otherwise than by what they gave", rooms == sorted(filter(None, given))


def _check_full_room(draw: Draw) -> Asked:
    """Leave a peer just room for a block that it gives, or a byte less; another peer has all of its own."""
    first, second = _make_chain(2)
    made = make_block(0, 1, GENESIS, bytes(_PEER_BLOCK_BYTES_MIN + draw(9)))
    encoded, peer, is_short = made.sealed(b""), draw(_PEERS), draw(2) == 0
    real = _keep([])
    held = PeerBlock(peer, _PEER_BYTES - len(encoded) + is_short)
    real.follower.add_block(second.digest, second.block, held)
    giver = (peer + draw(2)) % _PEERS
    real.exchange.take(giver, [encoded])
    is_kept = real.follower.block(made.digest) is not None
    yield "a block is not counted for its length, or for its giver", is_kept == (giver != peer or not is_short)
    # What did not fit has left room for a smaller one.
    real.exchange.take(giver, [first.sealed(b"")])
    is_kept = real.follower.block(first.digest) is not None
    yield (
        "a peer has room for a block beside a full one, or another peer has none",
        is_kept == (giver != peer or is_short),
    )


def _draw_length(left: int, draw: Draw) -> int:
    """Draw the length of a block: tiny, middling, a large one, or just what is left, or a byte more."""
    lengths = (1, _PEER_BLOCK_BYTES_MIN - 1, _PEER_BLOCK_BYTES_MIN + 1, 30 * _MIB, left, left + 1)
    return max(lengths[draw(len(lengths))], 1)
