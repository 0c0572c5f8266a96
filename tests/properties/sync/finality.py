"""Finality: blocks become final in any order, some while others are fetched or written.

In a run the next certificate comes soon, and makes up for one that nobody has taken up. Here none comes after the last.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Final, cast

from tests.properties.draws import Asked, Draw
from tests.properties.sync.stub_exchange import GENESIS, Made, make_block
from validators.consensus.interface import Finality
from validators.execution import Block, Engine
from validators.finalizer import Finalizer
from validators.storage import Barrier, FinalizedEntry, FinalizedLog
from validators.sync.follower import Follower, Goal, Settled

_BLOCKS: Final = 16
_STEPS: Final = 60
_AHEAD: Final = 8
_SNAPSHOT_GAP: Final = 3
_REASON: Final = "its execution says so"


def check_finality(draw: Draw) -> Asked:
    """Yield what is asked of the finality of blocks, and whether it is so."""
    stage = _Stage()
    for _ in range(_STEPS):
        stage.step(draw)
        yield "a block is applied before its operations are durable", stage.applied <= stage.durable
        proof = stage.finalizer.finality
        is_proved = proof is not None and proof.digest == stage.blocks[stage.applied].digest
        yield "the final block is there without its proof, or with another's", is_proved == (stage.applied > 0)
    under_way = [each for _, each in stage.sought_at]
    yield "a snapshot is sought while operations are on their way to the disk", not any(under_way)
    sought = [height for height, _ in stage.sought_at]
    yield "a snapshot is sought again before a block is applied", len(dict.fromkeys(sought)) == len(sought)
    stage.end()
    final = max(stage.final, default=0)
    yield "a final block is not applied although all that it takes is here", stage.applied == final
    yield "operations are not written once and in their order", stage.logged == list(range(1, final + 1))
    yield "a validator halts over a sound final block", not stage.halted
    stage.finalizer.finalize(stage.proof_of(_BLOCKS))
    for goal in stage.goals:
        stage.finalizer.settle(goal, Settled(is_ready=False, reason=_REASON))
    is_over = not stage.goals
    yield "a final block that cannot be executed does not halt a validator", is_over or _REASON in "".join(stage.halted)


class _Stage:
    """A finalizer, and what it asks of others.

    Attributes:
        final: Heights that have become final.
        applied: The height of the state.
        durable: The height up to which operations are durable.
        logged: Heights whose operations were written, in this order.
        sought_at: The height of the state, and how much was on its way to the disk, when a snapshot was sought.
    """

    def __init__(self) -> None:
        self.blocks: list[Made] = [Made(GENESIS, make_block(0, 0, GENESIS).block)]
        for height in range(1, _BLOCKS + 1):
            self.blocks.append(make_block(0, height, self.blocks[-1].digest))
        self.final: list[int] = []
        self.applied = self.durable = 0
        self.logged: list[int] = []
        self.halted: list[str] = []
        self.goals: list[Goal] = []
        self._here: dict[bytes, None] = {}
        self._known: dict[bytes, Block] = {}
        self.sought_at: list[tuple[int, int]] = []
        self._waiting: list[Callable[[], None]] = []
        self._engine = SimpleNamespace(
            finalized=self.blocks[0].block.header,
            finalized_digest=GENESIS,
            path_to=lambda digest: [self._executed(each) for each in self._path_to(digest)],
            finalize=self._apply,
        )
        self.finalizer = Finalizer(
            cast("Engine", self._engine),
            cast("Follower", self._follower()),
            cast("FinalizedLog", SimpleNamespace(append=self._append)),
            cast("Barrier", SimpleNamespace(then=self._waiting.append)),
            snapshot_gap_blocks=_SNAPSHOT_GAP,
            store=lambda _digest, _block: None,
            seek_snapshot=self._seek,
            applied=lambda _outcome: None,
            halt=self.halted.append,
        )

    def _follower(self) -> SimpleNamespace:
        return SimpleNamespace(
            lacks=lambda digest: digest not in self._here,
            abandon=self._abandon,
            want=self.goals.append,
            prune=lambda: None,
            block=self._known.get,
            is_ready=lambda digest: digest in self._here,
            is_paused=False,
        )

    def proof_of(self, height: int) -> Finality:
        """Return what makes a block final."""
        made = self.blocks[height]
        return cast("Finality", SimpleNamespace(view=made.block.header.view, digest=made.digest))

    def step(self, draw: Draw) -> None:
        """Let a block become final, come here, be executed, or be durable."""
        act, height = draw(9), min(self.applied + 1 + draw(_AHEAD), _BLOCKS - 1)
        if act <= 1:
            self.final.append(height)
            self.finalizer.finalize(self.proof_of(height))
        elif act <= 3:
            # What is asked for, or some other block.
            digest = self.goals[0].digest if self.goals and draw(2) else self.blocks[height].digest
            self._here[digest] = None
        elif act <= 5:
            self._settle()
        elif act <= 7:
            # It comes before those below it: its height says how far behind the state is.
            self._known[self.blocks[height].digest] = self.blocks[height].block
            self.finalizer.join_if_far_behind()
        else:
            self._sync()

    def end(self) -> None:
        """Let everything come here and be done."""
        self._here = dict.fromkeys(made.digest for made in self.blocks)
        while self.goals or self._waiting:
            self._settle()
            self._sync()

    def _settle(self) -> None:
        goal = next((goal for goal in self.goals if goal.digest in self._here), None)
        if goal is not None:
            self.goals.remove(goal)
            self.finalizer.settle(goal, Settled(is_ready=True))

    def _sync(self) -> None:
        if self._waiting:
            self.durable = max(self.logged)
            self._waiting.pop(0)()

    def _seek(self) -> None:
        """Note a search for a snapshot, and that nobody has one."""
        self.sought_at.append((self.applied, len(self._waiting)))
        self.finalizer.go_by_blocks()

    def _append(self, entry: FinalizedEntry) -> None:
        self.logged.append(entry.height)

    def _abandon(self, is_over: Callable[[Goal], bool]) -> None:
        self.goals[:] = [goal for goal in self.goals if not is_over(goal)]

    def _path_to(self, digest: bytes) -> list[Made]:
        height = next(made.height for made in self.blocks if made.digest == digest)
        return self.blocks[self.applied + 1 : height + 1]

    def _executed(self, made: Made) -> SimpleNamespace:
        return SimpleNamespace(digest=made.digest, block=made.block, header=made.block.header, log_entry=())

    def _apply(self, digest: bytes) -> SimpleNamespace:
        self.applied += len(self._path_to(digest))
        self._engine.finalized, self._engine.finalized_digest = self.blocks[self.applied].block.header, digest
        return SimpleNamespace(applied=(), dropped=(), is_pruned=False, is_rebuilt=False)
