"""Branches for an application that can only go forward: a process for each, on a copy of the directory.

Each process executes and finalizes on its tip only, so each branch has a process of its own. For a block elsewhere, a
new process begins on a copy of the directory as of the final block, and executes the blocks up to it. At finality the
process at that block continues in its own directory, and all other processes end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster.outside.answers import Execution
from cluster.outside.conversation import InvalidPayload, ProposedPayload
from cluster.outside.home import ApplicationHome
from cluster.outside.life import ApplicationLife
from validators.execution import RootMismatchError
from validators.execution.blocks import Header


@dataclass(frozen=True, slots=True)
class ToldBlock:
    """A block above the final block that a process has executed: enough data to execute it again elsewhere."""

    header: Header
    payload: tuple[bytes, ...]


class BranchTalk:
    """The calls of an application with the feature `forks`, by processes of an application without it.

    Args:
        home: The home, whose process stands at the final block.
        final: That block.
    """

    def __init__(self, home: ApplicationHome, final: bytes) -> None:
        self._home: Final = home
        self._final = final
        self._told: dict[bytes, ToldBlock] = {}
        assert home.life is not None, "the application has just begun"
        self._standing: dict[bytes, ApplicationLife] = {final: home.life}
        """The process of each block, by the block at which it stands."""
        self._proposing: tuple[bytes, ProposedPayload] | None = None

    def propose(self, parent: bytes, draft: Header, transactions: Sequence[bytes]) -> ProposedPayload:
        """Have a process that stands at the parent build a block."""
        proposal = self._stand_at(parent).talk.propose(parent, draft, transactions)
        self._proposing = parent, proposal
        return proposal

    def adopted(self, id_: bytes, header: Header) -> None:
        """Tell the id of the block just proposed; its process stands there from now on."""
        assert self._proposing is not None, "a block is adopted after it was proposed"
        parent, proposal = self._proposing
        self._standing[parent].talk.adopted(id_, header)
        self._go_on(parent, id_, ToldBlock(header, proposal.payload))

    def execute(self, id_: bytes, header: Header, payload: Sequence[bytes]) -> Execution | InvalidPayload:
        """Have a block executed by a process that stands at its parent."""
        outcome = self._stand_at(header.parent).talk.execute(id_, header, payload)
        if isinstance(outcome, Execution):
            self._go_on(header.parent, id_, ToldBlock(header, tuple(payload)))
        return outcome

    def finalize(self, id_: bytes) -> None:
        """Make a block final in the process that stands there; all other processes end."""
        life = self._stand_at(id_)
        life.talk.finalize(id_)
        for other in self._standing.values():
            if other is not life:
                self._home.end_branch(other)
        self._home.move_to(life)
        self._final, self._standing = id_, {id_: life}
        kept = {id_: None}
        for each, told in list(self._told.items()):
            if told.header.parent in kept and each != id_:
                kept[each] = None
            else:
                del self._told[each]

    def drop(self, id_: bytes) -> None:
        """End the process that stands at a block: it cannot go back."""
        self._told.pop(id_, None)
        life = self._standing.pop(id_, None)
        if life is not None:
            self._home.end_branch(life)

    def snapshot(self, id_: bytes) -> int:
        """Return the number of pieces of the snapshot of the final block."""
        return self._any().talk.snapshot(id_)

    def piece(self, id_: bytes, index: int) -> bytes:
        """Return a piece of a snapshot."""
        return self._any().talk.piece(id_, index)

    def _any(self) -> ApplicationLife:
        return next(iter(self._standing.values()), None) or self._stand_at(self._final)

    def _go_on(self, parent: bytes, id_: bytes, told: ToldBlock) -> None:
        self._standing[id_] = self._standing.pop(parent)
        self._told[id_] = told

    def _stand_at(self, digest: bytes) -> ApplicationLife:
        """Return a process at a block: the process there, a process behind that catches up, or a new process."""
        if digest in self._standing:
            return self._standing[digest]
        way: list[bytes] = []
        at = digest
        while at != self._final and at not in self._standing:
            way.append(at)
            at = self._told[at].header.parent
        if at not in self._standing:
            self._standing[at] = self._home.begin_branch()
        for step in reversed(way):
            told = self._told[step]
            outcome = self._standing[at].talk.execute(step, told.header, told.payload)
            if not isinstance(outcome, Execution) or outcome.root != told.header.state_root:
                found = outcome.root if isinstance(outcome, Execution) else b""
                raise RootMismatchError(told.header.height, told.header.state_root, found)
            self._standing[step] = self._standing.pop(at)
            at = step
        return self._standing[digest]
