"""One validator's certified blocks: the locked block, the final blocks, and the application's judgements."""

from collections.abc import Callable

from validators.consensus.hotstuff.config import HotStuffConfig
from validators.consensus.hotstuff.finality import Commit, read_chain
from validators.consensus.hotstuff.journal import HotStuffRecord, Lock, Memory
from validators.consensus.hotstuff.messages import QuorumCertificate
from validators.consensus.hotstuff.tree import SealedTree
from validators.consensus.interface import Append, BlockRef, Effect, Finalized, Judge, Question


class CertifiedChain:
    """Moves lock and finality up as blocks and certificates come; `emit` gets the effects in their order."""

    def __init__(
        self, memory: Memory, config: HotStuffConfig, genesis: BlockRef, emit: Callable[[Effect], None]
    ) -> None:
        self._memory = memory
        self._config = config
        self._genesis = genesis
        self._emit = emit
        self.tree = SealedTree()
        self._certified: dict[BlockRef, bool | None] = {}
        """Certified blocks that the application was asked about, and its answers."""

    def __len__(self) -> int:
        """Return the number of certified blocks that the application was asked about."""
        return len(self._certified)

    @property
    def final_view(self) -> int:
        """The view of the highest final block; that of genesis is 0."""
        return self._memory.commit.view if self._memory.commit else 0

    def note(self, record: HotStuffRecord) -> None:
        """Remember a record, and write it before any message of this step."""
        self._memory.take(record)
        self._emit(Append(record))

    def raise_high(self, certificate: QuorumCertificate) -> bool:
        """Process a certificate; return False where it is not above the highest known certificate."""
        is_higher = certificate.view > self._memory.high.view
        if is_higher:
            self.note(certificate)
            self.update()
        # So that the block can be built on, and is stored before a vote can make it final.
        self._ask(certificate.ref)
        return is_higher

    def _ask(self, ref: BlockRef) -> None:
        if ref.view > self.final_view and ref not in self._certified:
            self._certified[ref] = None
            self._emit(Judge(Question.CERTIFY, ref))

    def is_stored(self, ref: BlockRef) -> bool:
        """Whether a block has passed certification, and so is on the disk; the application is asked if it was not."""
        self._ask(ref)
        return self.is_sound(ref)

    def update(self) -> None:
        """Move lock and finality up as far as the known blocks and the highest certificate allow."""
        certified = self.tree.get(self._memory.high.digest)
        if certified is not None:
            self._raise_lock(certified.justify.ref)
        commit = self.tree.find_commit(self._memory.high, self.final_view, self._config.chain_length)
        if commit is not None:
            self.commit(commit)

    def commit(self, commit: Commit) -> None:
        """Make a block final, by a proof that was made here or verified."""
        # Before the effect: its performer may ask at once for the final view.
        self.note(commit)
        chain = read_chain(commit.headers, commit.certificate)
        assert chain is not None, "a proof is checked, or made here"
        self._raise_lock(BlockRef(chain[-2].view, chain[-2].digest))
        self.tree.prune(commit.view)
        self._certified = {ref: ok for ref, ok in self._certified.items() if ref.view > commit.view}
        self._emit(Finalized(commit))

    def judged(self, ref: BlockRef, *, is_sound: bool) -> None:
        """Note the application's answer about a certified block."""
        if ref in self._certified:
            self._certified[ref] = is_sound

    def ask_again(self) -> None:
        """Repeat every question, because the application was replaced."""
        for ref in self._certified:
            self._certified[ref] = None
            self._emit(Judge(Question.CERTIFY, ref))

    def is_known(self, ref: BlockRef) -> bool:
        """Whether the justification of a block is here, or not needed any more."""
        return ref.view <= self.final_view or ref == self._genesis or self.tree.get(ref.digest) is not None

    def is_sound(self, ref: BlockRef) -> bool:
        """Whether a certified block is final or has passed certification."""
        return ref.view <= self.final_view or bool(self._certified.get(ref))

    def _raise_lock(self, parent: BlockRef) -> None:
        """Lock the parent of a certified block; two-chain has no lock beside its highest certificate."""
        if not self._config.is_two_chain and parent.view > self._memory.locked.view:
            self.note(Lock(*parent))
