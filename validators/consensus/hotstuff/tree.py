"""The blocks above the final block as consensus knows them, and the commit rule over them."""

from dataclasses import dataclass, field
from typing import Final

from network.types import Digest
from validators.consensus.hotstuff.finality import Commit, read_chain
from validators.consensus.hotstuff.messages import QuorumCertificate, TimeoutCertificate
from validators.consensus.interface import BlockRef, HeaderFacts

BLOCKS_PER_VIEW_MAX: Final = 4
"""Most blocks kept of a view, because an equivocating leader can make any number."""


@dataclass(frozen=True, slots=True)
class JustifiedBlock:
    """A block, the certificate of its parent, and the timeout certificate with which its leader entered the view."""

    facts: HeaderFacts
    justify: QuorumCertificate
    timeout: TimeoutCertificate | None

    @property
    def ref(self) -> BlockRef:
        """The block."""
        return BlockRef(self.facts.view, self.facts.digest)


@dataclass(slots=True)
class SealedTree:
    """Sealed blocks above the final view, by digest."""

    _blocks: dict[Digest, JustifiedBlock] = field(default_factory=dict)
    _by_view: dict[int, list[Digest]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self._blocks)

    def get(self, digest: Digest) -> JustifiedBlock | None:
        """Return a block that is known."""
        return self._blocks.get(digest)

    def of_view(self, view: int) -> list[JustifiedBlock]:
        """Return the known blocks of a view in the order of their arrival."""
        return [self._blocks[digest] for digest in self._by_view.get(view, ())]

    def add(self, block: JustifiedBlock) -> bool:
        """Add a block; return False if it is known, or its view is full."""
        siblings = self._by_view.setdefault(block.facts.view, [])
        if block.facts.digest in self._blocks or len(siblings) >= BLOCKS_PER_VIEW_MAX:
            return False
        self._blocks[block.facts.digest] = block
        siblings.append(block.facts.digest)
        return True

    def prune(self, final_view: int) -> None:
        """Forget the blocks of the final view and below."""
        for view in [view for view in self._by_view if view <= final_view]:
            for digest in self._by_view.pop(view):
                del self._blocks[digest]

    def find_commit(self, high: QuorumCertificate, final_view: int, length: int) -> Commit | None:
        """Return the proof of the highest block that a chain of consecutive views below a certificate makes final.

        A missing block may have hidden a chain when its certificate came, so all blocks below the highest are tried.
        """
        certificate = high
        while certificate.view > final_view:
            headers = self._headers_below(certificate.digest, length)
            chain = read_chain(headers, certificate) if len(headers) == length else None
            if chain is not None and chain[0].view > final_view:
                return Commit(tuple(headers), certificate)
            block = self.get(certificate.digest)
            if block is None:
                return None
            certificate = block.justify
        return None

    def _headers_below(self, digest: Digest, length: int) -> list[bytes]:
        """Return the headers of a block and its nearest ancestors, the lowest first, as far as they are known."""
        found: list[bytes] = []
        while len(found) < length and (block := self.get(digest)) is not None:
            found.insert(0, block.facts.header)
            digest = block.facts.parent
        return found
