"""Blocks that are taken back: only for another branch, which has a block of its own at the lowest height taken back.

A replica that takes blocks back for a reader applies them again with the next one, and says nothing of it: that is no
reorganization. The other branch's block was executed as the blocks were taken back, or before. When that height is
final one of the two has won and the other one is dropped, which the log says of each block that was executed.
"""

from dataclasses import dataclass, field

from checker.checks.context import RunContext
from checker.results import CheckTally
from network.types import Micros, NodeId


@dataclass(slots=True)
class _TakenBack:
    """The lowest block of a rewind, when it was taken back, and when its height became final; -1 before."""

    at_us: Micros
    height: int
    digest: bytes
    final_us: Micros = -1


@dataclass(slots=True)
class _Life:
    """The blocks of one life that won or lost, by height, and the rewinds that are still to be judged."""

    settled: dict[int, dict[bytes, None]] = field(default_factory=dict)
    rewinds: list[_TakenBack] = field(default_factory=list)


class TakenBack:
    """Compares each rewind of a replica with the blocks that it has executed at its lowest height.

    Where a validator lies nothing is said: a block that turns out to be invalid is in no log.
    """

    def __init__(self, run: RunContext, tally: CheckTally) -> None:
        honest = dict.fromkeys(run.honest)
        self._is_judged = all(node in honest for node in range(run.validators))
        self._tally = tally
        self._lives: dict[NodeId, _Life] = {}
        self.compared = 0

    def end(self, node: NodeId) -> None:
        """Forget a life: what it has begun it does not end."""
        self._lives.pop(node, None)

    def take_back(self, node: NodeId, at_us: Micros, height: int, digest: bytes) -> None:
        """Note a block that was taken back; those of one rewind come one after the other, downwards."""
        if not self._is_judged:
            return
        rewinds = self._lives.setdefault(node, _Life()).rewinds
        if rewinds and (rewinds[-1].at_us, rewinds[-1].height) == (at_us, height + 1):
            rewinds.pop()
        rewinds.append(_TakenBack(at_us, height, digest))

    def drop(self, node: NodeId, height: int, digest: bytes) -> None:
        """Note a block that lost."""
        life = self._lives.get(node)
        if life is not None:
            life.settled.setdefault(height, {})[digest] = None

    def finalize(self, node: NodeId, at_us: Micros, height: int, digest: bytes) -> None:
        """Note a block that won; what it makes others lose follows in the same instant."""
        life = self._lives.get(node)
        if life is None:
            return
        self._judge(node, life, at_us)
        life.settled.setdefault(height, {})[digest] = None
        for rewind in life.rewinds:
            if rewind.height == height:
                rewind.final_us = at_us

    def finish(self, now_us: Micros) -> None:
        """Judge what became final before the run ended."""
        for node, life in self._lives.items():
            self._judge(node, life, now_us)

    def _judge(self, node: NodeId, life: _Life, now_us: Micros) -> None:
        due = [rewind for rewind in life.rewinds if 0 <= rewind.final_us < now_us]
        for rewind in due:
            self.compared += 1
            self._tally.require(
                any(digest != rewind.digest for digest in life.settled[rewind.height]),
                f"validator {node} took back its block of height {rewind.height}, and had no other one there",
                validator=node,
                height=rewind.height,
            )
        if due:
            life.rewinds = [rewind for rewind in life.rewinds if rewind not in due]
