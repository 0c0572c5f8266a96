"""The blocks of a bare stage: headers and seals, which is all that engines see of a block."""

from hashlib import sha256
from typing import Final, NamedTuple

from network.types import MILLISECOND_US
from validators.consensus.headers import read_facts
from validators.consensus.interface import HeaderFacts
from validators.execution.blocks import VERSION, Header, encode_header

GENESIS: Final = bytes(32)
"""The digest of the block that all begin with."""


class StubBlock(NamedTuple):
    """A block without a body, and its seal."""

    facts: HeaderFacts
    seal: bytes


class StubChain:
    """All blocks that were ever built, by digest; `bad` are those that no execution finds valid."""

    def __init__(self) -> None:
        self.blocks: Final = {GENESIS: StubBlock(HeaderFacts(0, GENESIS, b"", 0, -1, b""), b"")}
        self.bad: Final = dict[bytes, None]()

    def build(self, number: int, view: int, parent: bytes, *, now_us: int) -> HeaderFacts:
        """Build a block that is unlike all others."""
        header = Header(
            version=VERSION,
            height=self.height_of(parent) + 1,
            consensus_epoch=0,
            view=view,
            parent=parent,
            proposer=number,
            slot=0,
            timestamp_ms=now_us // MILLISECOND_US,
            state_root=GENESIS,
            tx_root=sha256(b"%d" % len(self.blocks)).digest(),
            receipts_root=GENESIS,
        )
        facts = read_facts(encode_header(header))
        assert facts is not None, "a header has the fields of its start"
        self.blocks[facts.digest] = StubBlock(facts, b"")
        return facts

    def path_to(self, digest: bytes) -> list[bytes]:
        """Return a block and all below it down to genesis, the highest first."""
        path = [digest]
        while path[-1] != GENESIS:
            path.append(self.blocks[path[-1]].facts.parent)
        return path

    def height_of(self, digest: bytes) -> int:
        """Return a block's height."""
        return self.blocks[digest].facts.height
