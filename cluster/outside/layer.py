"""An outside application as a validator's execution layer: the calls of the seam become requests of the protocol.

The layer keeps the tree of blocks, and the process keeps the state. Invariants: the process knows genesis or the final
block, and each block that this layer has executed and not dropped. The blocks applied early are a path from the final
block. If the process dies or breaks the protocol, the layer raises `ApplicationLostError` to its caller.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import takewhile
from typing import Any, Final

import msgspec

from cluster.outside.answers import Execution
from cluster.outside.blocks import OutsideBlock, genesis_header, made_of, next_header, receipts_of, sealed_block
from cluster.outside.branches import BranchTalk
from cluster.outside.conversation import PAYLOAD_BYTES_MAX, Conversation, InvalidPayload, KeptBlock, is_too_long
from cluster.outside.home import ApplicationHome
from cluster.outside.life import ApplicationLife
from cluster.outside.process import ApplicationLostError
from network.words import counted
from scheduler import Reach
from validators.derived import Derived, DerivedSize
from validators.execution import (
    FinalizationOutcome,
    Genesis,
    InvalidBlockError,
    LostBlockError,
    ProposalContext,
    RootMismatchError,
    UnknownBlockError,
    UnknownParentError,
)
from validators.execution.blocks import Block, Header, decode_header, decode_sealed, header_digest
from validators.execution.validity import check_header
from validators.restored import EMPTY_LOG, RestoredLog
from validators.state import ForgedSnapshot, Snapshot, mmr_root
from validators.storage import FinalizedEntry


class WrongAnswerError(Exception):
    """A process of an application computed a root that differs from an earlier process or another replica."""


class OutsideLayer:
    """A life of an application behind a life of a validator.

    Args:
        home: The application's home; a process begins there.
        genesis: The chain's genesis; only the data for checking headers counts.
        log: The finalized log; the application is led to its last block.

    Raises:
        ApplicationLostError: The application gives no usable answer.
        ForgottenBlockError: It kept a block other than its last answered block.
        WrongAnswerError: Its root differs from a header of the log.
        RootMismatchError: The snapshot of the log does not match its header.
        LostBlockError: It is behind, and a block is missing.
    """

    tables = None

    def __init__(self, home: ApplicationHome, genesis: Genesis, log: RestoredLog = EMPTY_LOG) -> None:
        self._home = home
        self._genesis = genesis
        self._blocks: dict[bytes, OutsideBlock] = {}
        self._early: list[OutsideBlock] = []
        self._undone: list[OutsideBlock] = []
        self._talk: Conversation | BranchTalk
        self.genesis_header: Final = self._open(log)
        self.genesis_digest: Final = header_digest(self.genesis_header)

    # -- opening -------------------------------------------------------------------------------

    def _open(self, log: RestoredLog) -> Header:
        """Lead the application to the last block of a log, and return the header of genesis."""
        base = log.read_base()
        first = None if base is None else decode_header(base.header)
        genesis = self._genesis_header()
        lowest = genesis if first is None else first
        chain = [lowest, *(decode_header(entry.header) for entry in log.entries)]
        kept = self._home.wake()
        self._home.host.resume(kept, chain[-1].height)
        if kept is None or not lowest.height <= kept.height <= chain[-1].height or kept != _as_kept(chain, kept.height):
            # Nothing kept, below the base, or not in a damaged log: it begins again where the log does.
            self._home.wake_anew()
            if base is None:
                self._begin_at_genesis(genesis)
            else:
                self._restore(lowest, base.snapshot)
            kept = _as_kept(chain, lowest.height)
        self.finalized, self.finalized_digest = chain[kept.height - lowest.height], kept.id
        if "forks" not in self._life.greeting.features:
            self._talk = BranchTalk(self._home, kept.id)
        else:
            self._talk = self._life.talk
        for entry in log.entries[kept.height - lowest.height :]:
            self._catch_up(entry, log.find_block(entry.digest))
        return genesis

    def _genesis_header(self) -> Header:
        """Return genesis' header, whose root a temporary process states once for all lives."""
        if self._home.genesis is None:
            with self._home.scratch() as life:
                self._home.genesis = self._header_of_genesis(life.talk.genesis(self._home.plan.start))
        return self._home.genesis

    def _header_of_genesis(self, execution: Execution) -> Header:
        plan = self._home.plan
        return genesis_header(plan.start, plan.validators, plan.parameters, execution)

    def _begin_at_genesis(self, genesis: Header) -> None:
        found = self._header_of_genesis(self._life.talk.genesis(self._home.plan.start))
        if found != genesis:
            raise self._wrong(genesis, found.state_root)
        self._home.settle(kept_of(genesis), lambda: self._life.talk.adopted(header_digest(genesis), genesis))

    def _restore(self, header: Header, snapshot: Snapshot) -> None:
        digest, pieces, root = header_digest(header), snapshot.operations, b""

        def restore() -> None:
            nonlocal root
            root = self._life.talk.restore(digest, header, pieces)

        self._home.settle(kept_of(header), restore)
        if root != header.state_root:
            raise RootMismatchError(header.height, header.state_root, root)

    def _catch_up(self, entry: FinalizedEntry, encoded: bytes | None) -> None:
        if encoded is None:
            raise LostBlockError(entry.height)
        block = decode_sealed(encoded).block
        try:
            self.execute(block)
        except InvalidBlockError as error:
            raise self._wrong(block.header, error.own_root, str(error)) from error
        self.finalize(entry.digest)

    def _wrong(self, header: Header, found: bytes | None, reason: str = "") -> WrongAnswerError:
        what = reason or f"root {(found or b'').hex()[:12]}"
        sentence = f"another process of the application comes to {what} at height {header.height}"
        sentence += f"; root {header.state_root.hex()[:12]} was expected, as before"
        self._home.host.note_fault("kept-block", header.height, sentence)
        return WrongAnswerError(sentence)

    # -- the seam ------------------------------------------------------------------------------

    @property
    def applied(self) -> Header:
        """The header of the block at which the application stands."""
        return self._early[-1].header if self._early else self.finalized

    def watch(self, _reach: Reach) -> None:
        """Note no coverage points: these concern the project's own rules."""

    def next_nonce(self, _public_key: bytes) -> int:
        """Return 0: the pool of an application knows no nonces."""
        return 0

    def propose(self, context: ProposalContext, candidates: Iterable[Any]) -> OutsideBlock:
        """Have the application build a block from the candidates, and keep it as executed."""
        parent = self._parent(context.parent)
        draft = next_header(
            parent,
            view=context.view,
            proposer=context.proposer,
            timestamp_ms=context.timestamp_ms,
            slot_ms=self._genesis.slot_ms,
        )
        check_header(draft, parent, self._genesis)
        path = self._path(context.parent)
        self._stand_below(path)
        # An earlier block on the path may hold a candidate, which would then come twice.
        held = {each: None for made in path for each in made.block.transactions}
        included = {each: None for made in path for each in made.included}
        waiting = (each for each in map(self.as_offered, candidates) if each not in held)
        offered = _within_limit(each for each in waiting if not included or sha256(each).digest() not in included)
        proposal = self._talk.propose(context.parent, draft, offered)
        for index in proposal.refused:
            self._home.host.forget(sha256(offered[index]).digest(), is_final=False)
        execution = proposal.execution
        receipts = mmr_root(receipts_of(execution))
        block = sealed_block(draft, proposal.payload, root=execution.root, receipts=receipts)
        made = made_of(block, execution)
        self._talk.adopted(made.digest, made.header)
        return self._blocks.setdefault(made.digest, made)

    def as_offered(self, candidate: Any) -> bytes:  # noqa: ANN401 - the pool's own type
        """Return a transaction of the pool in bytes."""
        found: bytes = candidate
        return found

    def execute(self, block: Block) -> OutsideBlock:
        """Have the application execute a block, and keep it if the answer matches its header."""
        header, digest = block.header, header_digest(block.header)
        known = self._blocks.get(digest)
        if known is not None and known.block == block:
            return known
        parent = self._parent(header.parent)
        check_header(header, parent, self._genesis)
        if known is not None or mmr_root(block.transactions) != header.tx_root:
            raise InvalidBlockError("transactions are not those of the header's tx_root")
        if is_too_long(block.transactions):
            raise InvalidBlockError(f"its transactions have more than {PAYLOAD_BYTES_MAX:,} bytes")
        self._stand_below(self._path(header.parent))
        outcome = self._talk.execute(digest, header, block.transactions)
        if isinstance(outcome, InvalidPayload):
            sentence = f"refuses block {digest.hex()[:12]} of height {header.height}: {outcome.reason}"
            self._home.host.note_fault("refuses-block", header.height, sentence, digest)
            raise InvalidBlockError(f"the application says: {outcome.reason}")
        made = made_of(block, outcome)
        self._ask_again(made, outcome)
        for name, expected, found in (
            ("state_root", header.state_root, outcome.root),
            ("receipts_root", header.receipts_root, mmr_root(made.receipts)),
        ):
            if expected != found:
                self._talk.drop(digest)
                reason = f"{name} {expected.hex()} where executing gives {found.hex()}"
                raise InvalidBlockError(reason, outcome.root)
        self._blocks[digest] = made
        return made

    def executed(self, digest: bytes) -> OutsideBlock | None:
        """Return an executed block that is not finalized yet."""
        return self._blocks.get(digest)

    def path_to(self, digest: bytes) -> list[OutsideBlock]:
        """Return the unfinalized blocks that lead to a block, oldest first, including the block."""
        path = self._path(digest)
        if not path:
            raise UnknownBlockError(digest)
        return path

    def certify(self, digest: bytes) -> int:
        """Apply a certified block with its ancestors, if the application can rewind blocks."""
        if not self._home.plan.retain_blocks or digest not in self._blocks:
            return 0
        path = self._path(digest)[: self._home.plan.retain_blocks]
        self._stand_below(path)
        new = path[len(self._early) :]
        for made in new:
            self._life.talk.apply(made.digest)
            self._early.append(made)
        return len(new)

    def finalize(self, digest: bytes) -> FinalizationOutcome:
        """Have a block and its ancestors made final, and forget every branch that does not contain it."""
        path = self.path_to(digest)
        self._stand_below(path)
        self._home.settle(kept_of(path[-1].header), lambda: self._talk.finalize(digest))
        del self._early[: len(path)]
        for made in path:
            del self._blocks[made.digest]
            for included in made.included:
                self._home.host.forget(included, is_final=True)
        self.finalized, self.finalized_digest = path[-1].header, digest
        return FinalizationOutcome(tuple(path), tuple(self._drop_losers()), is_pruned=False, is_rebuilt=False)

    def take_undone(self) -> tuple[OutsideBlock, ...]:
        """Return the blocks that were applied and then undone since the last call, latest first."""
        undone, self._undone = tuple(self._undone), []
        return undone

    def take_reexecuted(self) -> tuple[OutsideBlock, ...]:
        """Return nothing: an executed block stays executed."""
        return ()

    def snapshot(self) -> Snapshot:
        """Return the finalized state in the application's pieces; its root is the header's root and has no witness."""
        self._rewind(0)
        talk, digest = self._talk, self.finalized_digest
        pieces = tuple(talk.piece(digest, index) for index in range(talk.snapshot(digest)))
        return Snapshot(len(pieces), 0, 0, self.finalized.state_root, b"", (), pieces)

    def find_outline_fault(self, header: Header, outline: Snapshot) -> str:
        """Return why a snapshot without its pieces does not match a header; empty if it can."""
        bare = msgspec.structs.replace(outline, operations=())
        if bare != Snapshot(outline.size, 0, 0, header.state_root, b"", (), ()):
            return "outline: it is not that of an application's pieces"
        return ""

    def verify_snapshot(self, header: Header, snapshot: Snapshot) -> None:
        """Raise ForgedSnapshot unless the pieces lead a fresh process to the header's state root."""
        with self._home.scratch() as life:
            try:
                root = life.talk.restore(header_digest(header), header, snapshot.operations)
            except ApplicationLostError as error:
                # Bytes forged by a peer may break it: this is the purpose of the separate process.
                raise ForgedSnapshot(f"the application is lost over it: {error}") from None
        if root != header.state_root:
            raise ForgedSnapshot(f"its pieces lead to root {root.hex()}, the header has {header.state_root.hex()}")

    def derived(self) -> Derived:
        """Return the executed blocks, and the executed blocks that descend from the final block."""
        descends = {self.finalized_digest: True}
        for digest, made in self._blocks.items():
            descends[digest] = descends.get(made.header.parent, False)
        kept = {f"block {digest.hex()}": True for digest in self._blocks}
        rebuilt = {f"block {digest.hex()}": True for digest in self._blocks if descends[digest]}
        limit = self._home.plan.retain_blocks
        sizes = (
            DerivedSize("undone blocks not yet reported", len(self._undone), 0, "0 between steps"),
            DerivedSize("blocks applied early", len(self._early), limit, "retain_blocks"),
        )
        return Derived(part="execution", kept=kept, rebuilt=rebuilt, sizes=sizes)

    def release(self) -> None:
        """Let go of the blocks: their state is that of a process that has ended."""
        self._blocks.clear()

    # -- within --------------------------------------------------------------------------------

    @property
    def _life(self) -> ApplicationLife:
        assert self._home.life is not None, "a layer's application lives as long as it does"
        return self._home.life

    def _ask_again(self, made: OutsideBlock, outcome: Execution) -> None:
        """Have some blocks executed twice: an id that is not final has to give the same answer again."""
        if "forks" in self._life.greeting.features and self._home.host.repeats(made.digest):
            again = self._talk.execute(made.digest, made.header, made.block.transactions)
            if again != outcome:
                height = made.header.height
                sentence = (
                    f"`execute` of the block of height {height} has two answers: {_said(outcome)}, then {_said(again)}"
                )
                self._home.host.note_fault("answers-twice", height, sentence)

    def _parent(self, digest: bytes) -> Header:
        if digest == self.finalized_digest:
            return self.finalized
        made = self._blocks.get(digest)
        if made is None:
            raise UnknownParentError(digest)
        return made.header

    def _path(self, digest: bytes) -> list[OutsideBlock]:
        path: list[OutsideBlock] = []
        while digest != self.finalized_digest:
            made = self._blocks.get(digest)
            if made is None:
                raise UnknownBlockError(digest)
            path.append(made)
            digest = made.header.parent
        path.reverse()
        return path

    def _stand_below(self, path: Sequence[OutsideBlock]) -> None:
        """Rewind the application to the last applied block of a path."""
        pairs = zip(path, self._early, strict=False)
        self._undone += self._rewind(sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs)))

    def _rewind(self, count: int) -> list[OutsideBlock]:
        """Rewind applied blocks until `kept` are left; return the rewound blocks, latest first."""
        taken = self._early[count:][::-1]
        if taken:
            self._life.talk.rewind(self._early[count - 1].digest if count else self.finalized_digest)
            del self._early[count:]
        return taken

    def _drop_losers(self) -> list[OutsideBlock]:
        """Forget the branches that no longer start at the final block: `finalize` has told the application."""
        kept = {self.finalized_digest}
        lost: list[OutsideBlock] = []
        for digest, made in list(self._blocks.items()):
            if made.header.parent in kept:
                kept.add(digest)
            else:
                lost.append(self._blocks.pop(digest))
        return lost


def kept_of(header: Header) -> KeptBlock:
    """Return a final block in the form of an application's kept block."""
    return KeptBlock(height=header.height, id=header_digest(header), root=header.state_root)


def _as_kept(chain: Sequence[Header], height: int) -> KeptBlock:
    return kept_of(chain[height - chain[0].height])


def _said(outcome: Execution | InvalidPayload) -> str:
    if isinstance(outcome, InvalidPayload):
        return f"invalid ({outcome.reason})"
    return f"root {outcome.root.hex()[:12]} with {counted(len(outcome.events), 'events')}"


def _within_limit(candidates: Iterable[bytes]) -> list[bytes]:
    """Return the first candidate, and the following candidates while all fit into a payload."""
    taken: list[bytes] = []
    room_bytes = PAYLOAD_BYTES_MAX
    for candidate in candidates:
        room_bytes -= len(candidate)
        if taken and room_bytes < 0:
            break
        taken.append(candidate)
    return taken
