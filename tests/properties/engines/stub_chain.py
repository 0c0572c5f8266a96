"""The blocks of an engine network: headers and seals, which is all that engines see of a block."""

from hashlib import sha256

import msgspec

from validators.consensus.headers import read_facts
from validators.consensus.interface import HeaderFacts

GENESIS = bytes(32)
"""The digest of the block that all begin with."""

OTHER_GENESIS = sha256(b"another chain").digest()
"""The digest of the block that another chain begins with."""


class StubChain:
    """All blocks that were ever built, by digest, and their seals; an execution finds none of `bad` valid."""

    def __init__(self):
        self.blocks = {each: HeaderFacts(0, each, b"", 0, -1, b"") for each in (OTHER_GENESIS, GENESIS)}
        self.seals = {}
        self.bad = {}

    def build(self, proposer, view, parent):
        """Build a block that is unlike all others."""
        height = self.blocks[parent].height + 1
        return self.note(read_facts(msgspec.msgpack.encode([1, height, 0, view, parent, proposer, len(self.blocks)])))

    def note(self, facts):
        """Keep a block, and return it."""
        return self.blocks.setdefault(facts.digest, facts)

    def path_to(self, digest):
        """Return a block and all below it that are known, down to the one above genesis; the highest first."""
        path = []
        while digest in self.blocks and self.blocks[digest].height:
            path.append(digest)
            digest = self.blocks[digest].parent
        return path

    def is_sound(self, ref, parent, *, is_slot):
        """Return whether an execution finds a block valid, on a parent if one is given."""
        facts = self.blocks[ref.digest]
        below = self.blocks.get(facts.parent, facts)
        is_next = facts.view == ref.view and (parent is None or facts.parent == parent.digest)
        # A block of an earlier slot than its parent's is sealed all the same; of an earlier view it is never judged.
        is_later = facts.height == below.height + 1 and facts.view > below.view
        return ref.digest not in self.bad and is_next and (is_later or not is_slot)
