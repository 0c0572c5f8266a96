"""The blocks that a replica has to hold, ask for, keep and give, as lists and dicts by the documents' words."""

from typing import NamedTuple

from network.types import Label
from tests.properties.stub_port import COSTS, GRACE_US, TIMEOUT_US, SentMessage
from tests.properties.sync.serving_limits import ANSWER_BLOCKS, ANSWER_BYTES
from tests.properties.sync.stub_exchange import FORGED, SEAL_SIGNATURES, SOUND_SEALS, Made
from validators.consensus.interface import BlockArrived
from validators.messages import BlockRequest
from validators.sync.follower import Goal


class Given(NamedTuple):
    """A peer's gift of a block: its bytes, the block that they are, its seal, and what is wrong with its body."""

    encoded: bytes
    made: Made
    seal: bytes
    fault: str = ""


class ReferenceExchange:
    """The blocks that a replica holds, lacks and asks for.

    Attributes:
        held: Blocks above the final one, with their seals.
        stored: Blocks on the disk, as they were stored; `damaged` ones cannot be read, which nobody knows yet.
        asked: By block the place of the first peer that was asked, and the number of requests.
        goals: The blocks that are wanted.
    """

    def __init__(self, node: int, validators: int, final: Made, *, is_sealed: bool, stores_voted: bool) -> None:
        ring = [(node + step) % validators for step in range(1, validators + 1)]
        self.node, self.validators = node, validators
        self.peers = [peer for peer in ring if peer != node]
        self.final = final
        self.is_sealed, self.stores_voted = is_sealed, stores_voted
        self.held: dict[bytes, tuple[Made, bytes]] = {}
        self.stored: dict[bytes, tuple[Made, bytes]] = {}
        self.damaged: dict[bytes, None] = {}
        self.lost: dict[bytes, None] = {}
        self.asked: dict[bytes, list[int]] = {}
        self.timers: dict[tuple[str, bytes], int] = {}
        self.goals: list[Goal] = []
        self.leaders: dict[int, int | None] = {}
        self.sent: list[SentMessage] = []
        self.arrived: list[tuple[int, object]] = []
        self.refused: list[tuple[str, str]] = []
        self.repaired: list[tuple[str, int, str]] = []
        self.settled: list[tuple[Goal, bool]] = []
        self.spent_us = 0

    def find_lacking(self, goal: Goal) -> bytes | None:
        """Return the block that has to come first for a goal: None where all are here, its own where none is of use."""
        digest = goal.digest
        while digest != self.final.digest:
            if digest not in self.held:
                return digest
            made = self.held[digest][0]
            if made.height <= self.final.height + 1 and made.parent != self.final.digest:
                return None
            digest = made.parent
        return None

    def is_lost(self, goal: Goal) -> bool:
        """Return whether a block is here and lies on a branch that lost."""
        digest = goal.digest
        while digest in self.held:
            digest = self.held[digest][0].parent
        return digest != self.final.digest and self.find_lacking(goal) is None

    def missing(self) -> list[bytes]:
        """Return what has to be fetched for the goals."""
        return [digest for goal in sorted(self.goals) if (digest := self.find_lacking(goal)) is not None]

    def advance(self) -> None:
        """Settle what can be settled, and ask for what is missing."""
        for goal in sorted(self.goals):
            if goal.digest == self.final.digest or self.is_lost(goal):
                self.settled.append((goal, goal.digest == self.final.digest))
                self.goals.remove(goal)
        for goal in sorted(self.goals):
            digest = self.find_lacking(goal)
            if digest is not None:
                self.ask(digest, self.leaders[goal.view] if digest == goal.digest else None)

    def ask(self, digest: bytes, first: int | None) -> None:
        """Begin to ask for a block, if nobody has: soon, and who should have it first."""
        if digest not in self.asked:
            self.asked[digest] = [self.peers.index(first) if first in self.peers else 0, 0]
            self.timers["fetch", digest] = GRACE_US

    def lose(self, digest: bytes) -> None:
        """Have a final block no more."""
        self.lost[digest] = None
        self.ask(digest, None)

    def forget(self, digest: bytes) -> None:
        """Ask for a block no more."""
        self.asked.pop(digest, None)
        self.timers.pop(("fetch", digest), None)

    def run_out(self, digest: bytes) -> None:
        """A timer has run out: ask the next peer, if the block is of use."""
        self.timers.pop(("fetch", digest))
        if digest not in self.lost and digest not in self.missing():
            self.forget(digest)
        elif self.peers:
            first, requests = self.asked[digest]
            peer = self.peers[(first + requests) % len(self.peers)]
            self.sent.append(SentMessage(peer, BlockRequest(digest, self.final.height), Label("BlockRequest")))
            self.asked[digest][1] += 1
            self.timers["fetch", digest] = TIMEOUT_US

    def take(self, peer: int, answer: list[Given]) -> None:
        """Keep what is sound and new, up to the first thing that is not sound."""
        for given in answer:
            fault = given.fault or self._find_seal_fault(given.seal)
            if fault:
                self.refused.append(("block", fault))
                return
            made, digest = given.made, given.made.digest
            is_kept = self.keep(made, given.seal)
            if is_kept:
                self.report(peer, digest)
            if is_kept or digest not in self.missing():
                self.forget(digest)
            if digest in self.lost:
                del self.lost[digest]
                self.stored[digest] = made, given.encoded
                self.repaired.append(("blocks", made.height, "from a peer"))

    def keep(self, made: Made, seal: bytes) -> bool:
        """Keep a block that is new and above the final one, and return whether it is."""
        is_kept = made.digest not in self.held and made.height > self.final.height
        if is_kept:
            self.held[made.digest] = made, seal
        return is_kept

    def seal(self, made: Made, seal: bytes) -> None:
        """Put a seal beside a block that was built here, and store it where a vote would need it."""
        if made.digest in self.held:
            self.held[made.digest] = made, seal
            self.report(self.node, made.digest)
            if self.stores_voted:
                self.stored.setdefault(made.digest, (made, made.sealed(seal)))

    def _find_seal_fault(self, seal: bytes) -> str:
        if not self.is_sealed:
            return "seal" if seal else ""
        self.spent_us += SEAL_SIGNATURES * COSTS.verify_signature_us
        return "" if seal in SOUND_SEALS else FORGED

    def report(self, peer: int, digest: bytes) -> None:
        """Let consensus know of a block that has a seal."""
        made, seal = self.held[digest]
        if seal:
            self.arrived.append((0, BlockArrived(peer, made.facts, seal)))

    def read(self, digest: bytes) -> tuple[Made, bytes] | None:
        """Return a block as it is served; one that cannot be read is asked for."""
        if digest in self.held:
            made, seal = self.held[digest]
            return made, made.sealed(seal)
        if digest in self.damaged:
            del self.damaged[digest], self.stored[digest]
            self.lose(digest)
        return self.stored.get(digest)

    def answer_to(self, digest: bytes, floor_height: int) -> list[bytes]:
        """Return a block with those below it, down to a height."""
        blocks: list[bytes] = []
        while len(blocks) < ANSWER_BLOCKS and (found := self.read(digest)) is not None:
            made, encoded = found
            if blocks and sum(map(len, blocks)) + len(encoded) > ANSWER_BYTES:
                break
            blocks.append(encoded)
            if made.height <= floor_height + 1:
                break
            digest = made.parent
        return blocks

    def make_final(self, made: Made) -> None:
        """Let a block be the last final one: it is stored, and what is not above it is of no use."""
        self.stored.setdefault(made.digest, (made, made.sealed(self.held[made.digest][1])))
        self.final = made
        self.held = {digest: held for digest, held in self.held.items() if held[0].height > made.height}
