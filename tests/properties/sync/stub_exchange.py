"""A block exchange with a real follower, a real block file and an engine that only says what is final."""

from hashlib import sha256
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

from msgspec import msgpack

from tests.properties.stub_port import COSTS, SAME, StubPort, settings_of
from validators.consensus.interface import HeaderFacts, MessageCheck
from validators.consensus.signing import Scheme
from validators.execution import ExecutionLayer
from validators.execution.blocks import Block, Header
from validators.storage import BlockFile, SimulatedDisk
from validators.sync.block_exchange import BlockExchange
from validators.sync.follower import Follower, Goal, Settled
from validators.sync.seals import Seals
from validators.sync.serving import Serving

GENESIS: Final = bytes(32)
SOUND_SEALS: Final = b"sound 1", b"sound 2"
FORGED: Final = "forged"
SEAL_SIGNATURES: Final = 2
"""Signatures that are verified for a seal, be it sound or not."""


class Made(NamedTuple):
    """A block by its digest."""

    digest: bytes
    block: Block

    @property
    def height(self) -> int:
        """The block's height."""
        return self.block.header.height

    @property
    def parent(self) -> bytes:
        """The digest of the block below it."""
        return self.block.header.parent

    @property
    def facts(self) -> HeaderFacts:
        """The block as consensus reads it."""
        header = self.block.header
        encoded = msgpack.encode(header)
        return HeaderFacts(header.view, self.digest, header.parent, header.height, header.proposer, encoded)

    def sealed(self, seal: bytes) -> bytes:
        """Return the block as it travels and is stored."""
        header, transactions = self.block.header, self.block.transactions
        return msgpack.encode((header, transactions, seal) if seal else (header, transactions))


def make_block(number: int, height: int, parent: bytes, *transactions: bytes) -> Made:
    """Return a block of one transaction or none; `number` tells it from others of its height."""
    header = Header(
        version=1,
        height=height,
        consensus_epoch=0,
        view=3 * height + number,
        parent=parent,
        proposer=number,
        slot=0,
        timestamp_ms=height,
        state_root=bytes(32),
        tx_root=_root_of(*transactions),
        receipts_root=bytes(32),
    )
    return Made(sha256(msgpack.encode(header)).digest(), Block(header, transactions))


def _root_of(*transactions: bytes) -> bytes:
    """Return the root of a list of one item or none (docs/chain.md)."""
    leaves = [sha256(bytes(8) + item).digest() for item in transactions]
    return sha256(len(leaves).to_bytes(8, "big") + b"".join(leaves)).digest()


class StubExchange:
    """The parts of one replica that get, keep and give blocks, and what they have said.

    Attributes:
        leaders: By view the validator that leads it, None where that is not known.
        settled: The goals that were settled, and whether their blocks are ready.
    """

    def __init__(
        self,
        final: Made,
        disk: SimulatedDisk,
        *,
        node: int = 0,
        validators: int = 4,
        is_sealed: bool = False,
        stores_voted: bool = False,
    ) -> None:
        kind = SimpleNamespace(check_seal=_check_seal if is_sealed else None, stores_voted=stores_voted)
        settings = settings_of(node, validators, kind)
        self.bare = StubPort()
        self.leaders: dict[int, int | None] = {}
        self.settled: list[tuple[Goal, bool]] = []
        self.refused: list[tuple[str, str]] = []
        self.repaired: list[tuple[str, int, str]] = []
        self.chain = SimpleNamespace(finalized=None, finalized_digest=None, executed=lambda _digest: None)
        self.make_final(final)
        self.follower = Follower(
            cast("ExecutionLayer", self.chain),
            execute=lambda _block, _digest: None,
            request=self._request,
            settle=self._settle,
            find_fault=lambda _goal, _header: "",
        )
        self.file = BlockFile(disk)
        self.file.load()
        self.serving = Serving(self.bare.port, SAME, answers_per_second=COSTS.answers_per_second, refuse=self._refuse)
        self.exchange = BlockExchange(
            *(self.bare.port, SAME, self.follower, self.file),
            settings=settings,
            serving=self.serving,
            seals=Seals(self.bare.port, settings, cast("Scheme", None)),
            refuse=self._refuse,
            repaired=lambda what, height, source: self.repaired.append((what, height, source)),
        )

    def make_final(self, final: Made) -> None:
        """Let a block be the last final one."""
        self.chain.finalized, self.chain.finalized_digest = final.block.header, final.digest

    def _refuse(self, what: str, reason: str) -> None:
        # Behind the colon stands what a decoder says.
        self.refused.append((what, reason.partition(":")[0]))

    def _request(self, digest: bytes, goal: Goal) -> None:
        self.exchange.request(digest, self.leaders[goal.view] if goal.digest == digest else None)

    def _settle(self, goal: Goal, settled: Settled) -> None:
        self.settled.append((goal, settled.is_ready))


def _check_seal(*given: Any, config: object) -> MessageCheck:
    # The reason is one only where the seal is not sound.
    return MessageCheck(given[2] in SOUND_SEALS, FORGED, SEAL_SIGNATURES)
