"""Votes and certificates that a start tells again: those of its journal, from its final view on.

The life before may have had no time to tell them, though another replica has them from it. Which entries are told at
all depends on the engine; those that an earlier life has told are among them. So each of these that both copies still
hold has to be told again, at or above the newest finality of the journal: what lies below stands for nothing any more.

It is a part of the check `write-ahead`, whose tally gets its failures.
"""

from collections.abc import Sequence
from typing import Final

from checker.checks.journals import Said
from checker.results import CheckTally
from network.types import NodeId


class ToldAgain:
    """Requires of each start that it tells what an earlier life has told, as far as its journal holds it.

    Args:
        tally: Gets the failures.
        finality: The kind of the certificates that make a block final.
    """

    def __init__(self, tally: CheckTally, finality: str) -> None:
        self._tally: Final = tally
        self._finality: Final = finality
        self._told: dict[NodeId, dict[Said, None]] = {}
        self._due: dict[NodeId, dict[Said, None]] = {}
        """By replica that starts, what it has not told yet."""

    def restart(self, node: NodeId, held: Sequence[Said], floor_view: int) -> None:
        """A replica reads its disk: `held` is in both copies of its journal, its head ends at `floor_view`."""
        final_view = max([floor_view, *(said.view for said in held if said.kind == self._finality)])
        told = self._told.setdefault(node, {})
        due = {said: None for said in held if said.view >= final_view and said in told}
        if due:
            self._due[node] = due

    def tell(self, node: NodeId, said: Said) -> None:
        """A vote or certificate is told, for the first time or again."""
        self._told.setdefault(node, {})[said] = None
        self._due.get(node, {}).pop(said, None)

    def boot(self, node: NodeId) -> None:
        """The start is over."""
        due = self._due.pop(node, None)
        if due is None:
            return
        self._tally.compared += 1
        for said in due:
            self._tally.fail(
                f"validator {node} started and did not tell again that its journal holds a {said.kind} of view "
                f"{said.view}, at or above its final view",
                validator=node,
                view=said.view,
            )

    def forget(self, node: NodeId) -> None:
        """A replica has lost its power, maybe in the midst of its start."""
        self._due.pop(node, None)
