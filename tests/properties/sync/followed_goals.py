"""Goals: several blocks wanted at once, for reasons of unlike weight, while executions take their time.

In a run one goal or two are open, and the next block is seldom executed while another is. Here a dozen goals of every
purpose wait for the same few blocks, some of them invalid, some not here, while a state is replaced and views end.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Final, NamedTuple, TypeAlias, cast

from tests.properties.draws import Asked, Draw
from tests.properties.sync.stub_exchange import GENESIS, Made, make_block
from validators.execution import Engine
from validators.execution.blocks import Block
from validators.sync.follower import Follower, Goal, Purpose, Settled

_PURPOSES: Final = (Purpose.FINALIZE, Purpose.CERTIFY, Purpose.ADOPT, Purpose.VERIFY, Purpose.PROPOSE)
"""The reasons to want a block, in the order in which they are served."""

_OF_A_VIEW: Final = (Purpose.VERIFY, Purpose.PROPOSE)
"""Reasons that end with their view; the others do when a block of their view or of a later one is final."""

_BLOCKS: Final = 8
_VIEWS: Final = 16
_STEPS: Final = 36
_FAULTY: Final = b"faulty"
"""A goal that expects this parent is refuted by the header alone."""

_FAULT: Final = "the header says so"
_BAD: Final = "the execution says so"
_LOST: Final = "lies on a branch that lost to a finalized block"

_Log: TypeAlias = list[tuple[object, ...]]


def check_followed_goals(draw: Draw) -> Asked:
    """Yield what is asked of a follower's goals, and whether it is so."""
    stage = _Stage(draw)
    yield "of the reasons to want a block two are the same", len(dict.fromkeys(_PURPOSES)) == len(_PURPOSES)
    for _ in range(_STEPS):
        yield from stage.step()
        yield "goals are served in another order, or otherwise, than they have to be", stage.log == stage.plain.log
        yield "other blocks are missing than goals wait for", [*stage.follower.missing()] == stage.plain.missing()
        ready = [made.digest for made in stage.blocks if stage.follower.is_ready(made.digest)]
        yield "a block is thought ready, or not", ready == stage.plain.ready(stage.blocks)
        lacking = [made.digest for made in stage.blocks if stage.follower.lacks(made.digest)]
        yield "a branch is thought to be here, or not", lacking == stage.plain.lacking(stage.blocks)
        yield from stage.compare_derived()


class _Next(NamedTuple):
    """The first thing to do for a block: "fetch" or "execute" one, if it is not "ready", or "never" will be."""

    what: str
    digest: bytes = b""
    reason: str = ""


class _Plain:
    """A list of goals, and what their branches ask for.

    Attributes:
        log: What was asked for and settled, in this order.
        running: Executions under way, and whether the block was built here.
    """

    def __init__(self, final: Made, bad: dict[bytes, None], following: Callable[[Goal], Goal | None]) -> None:
        self.final = final
        self.log: _Log = []
        self.goals: list[Goal] = []
        self.held: dict[bytes, Made] = {}
        self.done: dict[bytes, None] = {}
        self.running: dict[bytes, bool] = {}
        self.invalid: dict[bytes, None] = {}
        self.is_paused = False
        self._bad = bad
        self._following = following

    def want(self, goal: Goal) -> None:
        """Take on a goal, unless there is one of its purpose and view; each branch has a head to adopt."""
        if all(_slot(goal) != _slot(each) for each in self.goals):
            self.goals.append(goal)

    def next_for(self, goal: Goal) -> _Next:
        """Return what is to be done first for a goal."""
        if goal.digest in self.held and goal.parent == _FAULTY:
            return _Next("never", reason=_FAULT)
        return self.next_of(goal.digest)

    def next_of(self, digest: bytes) -> _Next:
        """Return what is to be done first for a block."""
        child = _Next("ready")
        while digest != self.final.digest and (digest in self.running or digest not in self.done):
            if digest in self.invalid:
                return _Next("never", reason=_BAD)
            if digest not in self.held:
                return _Next("fetch", digest)
            made = self.held[digest]
            if made.height <= self.final.height + 1 and made.parent != self.final.digest:
                return _Next("never", reason=_LOST)
            child, digest = _Next("execute", digest), made.parent
        return child

    def missing(self) -> list[bytes]:
        """Return what goals wait for that is not here."""
        found = [self.next_for(goal) for goal in sorted(self.goals, key=_rank)]
        return [] if self.is_paused else [each.digest for each in found if each.what == "fetch"]

    def lacking(self, blocks: list[Made]) -> list[bytes]:
        """Return blocks that lead to one that is not here."""
        return [made.digest for made in blocks if self.next_of(made.digest).what == "fetch"]

    def ready(self, blocks: list[Made]) -> list[bytes]:
        """Return blocks that nothing has to be done for any more."""
        return [made.digest for made in blocks if self.next_of(made.digest).what == "ready"]

    def advance(self) -> None:
        """Do for each goal what comes first, from the first one on whenever one is settled."""
        left = [] if self.is_paused else sorted(self.goals, key=_rank)
        while left:
            goal = left.pop(0)
            found = self.next_for(goal)
            if found.what == "fetch":
                self.log.append(("request", found.digest, goal))
            elif found.what != "execute":
                self.goals.remove(goal)
                self.log.append(("settle", goal, found.what == "ready", found.reason))
                if (following := self._following(goal)) is not None:
                    self.want(following)
                left = sorted(self.goals, key=_rank)
            elif not self.running:
                self.log.append(("execute", found.digest))
                self.running[found.digest] = False
                self.done |= {} if found.digest in self._bad else {found.digest: None}

    def make_final(self, made: Made) -> None:
        """Let a block be final, and forget what it has made history."""
        self.final = made
        self.done = {digest: None for digest in self.done if self._stands_on(digest, made)}
        self.held = {digest: each for digest, each in self.held.items() if each.height > made.height}
        self.invalid = {digest: None for digest in self.invalid if digest in self.held}

    def _stands_on(self, digest: bytes, made: Made) -> bool:
        while digest in self.held and digest != made.digest:
            digest = self.held[digest].parent
        return digest == made.digest


def _rank(goal: Goal) -> tuple[int, int, bytes]:
    return _PURPOSES.index(goal.purpose), goal.view, goal.digest


def _slot(goal: Goal) -> tuple[object, ...]:
    return goal.purpose, goal.view, goal.digest if goal.purpose is Purpose.ADOPT else b""


class _Stage:
    """A follower, and what it has to come to.

    Attributes:
        log: What the follower has asked for and settled.
        done: Blocks that its engine has executed.
    """

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.log: _Log = []
        self.blocks = [make_block(0, draw(3), GENESIS)]
        for number in range(1, _BLOCKS):
            below = self.blocks[draw(len(self.blocks)) if draw(2) else -1]
            self.blocks.append(make_block(number, below.height + 1, below.digest))
        self.bad = {made.digest: None for made in self.blocks[1:] if draw(5) == 0}
        self.plain = _Plain(self.blocks[0], self.bad, _following)
        self.done: dict[bytes, None] = {}
        header = self.blocks[0].block.header
        self.chain = SimpleNamespace(
            finalized=header, finalized_digest=self.blocks[0].digest, executed=self._find_executed
        )
        self.follower = Follower(
            cast("Engine", self.chain),
            execute=self._execute,
            request=lambda digest, goal: self.log.append(("request", digest, goal)),
            settle=self._settle,
            find_fault=lambda goal, _header: _FAULT if goal.parent == _FAULTY else "",
        )
        for made in self.blocks[1:]:
            if draw(2):
                self.follower.add_block(made.digest, made.block)
                self.plain.held[made.digest] = made

    def _find_executed(self, digest: bytes) -> object:
        return digest if digest in self.done else None

    def _execute(self, _block: Block, digest: bytes) -> None:
        self.log.append(("execute", digest))
        self.follower.begin(digest)
        self.done |= {} if digest in self.bad else {digest: None}

    def _settle(self, goal: Goal, settled: Settled) -> None:
        self.log.append(("settle", goal, settled.is_ready, settled.reason))
        if (following := _following(goal)) is not None:
            self.follower.want(following)

    def step(self) -> Asked:
        """Let something happen, and go on with the goals."""
        made = self.blocks[self.draw(len(self.blocks))]
        match self.draw(13):
            case 0 | 1 | 2:
                parent = _FAULTY if self.draw(6) == 0 else b""
                goal = Goal(_PURPOSES[self.draw(5)], 1 + self.draw(_VIEWS), made.digest, parent)
                self.follower.want(goal)
                self.plain.want(goal)
                # Going on is part of it; what comes behind each step asks once more.
                self.plain.advance()
            case 3 | 4 | 5:
                is_new = made.digest not in self.plain.held and made.height > self.plain.final.height
                yield (
                    "a block is kept that is here, or too old",
                    self.follower.add_block(made.digest, made.block) == is_new,
                )
                self.plain.held |= {made.digest: made} if is_new else {}
            case 6 | 7 | 8 if self.plain.running:
                self._end([*self.plain.running][self.draw(len(self.plain.running))])
            case 9:
                self._build(made)
            case 10:
                yield from self._give_up()
            case _:
                yield from self._move()
        self.follower.advance()
        self.plain.advance()

    def _end(self, digest: bytes) -> None:
        """An execution has taken its time."""
        del self.plain.running[digest]
        self.follower.end(digest)
        if digest in self.bad:
            self.follower.mark_invalid(digest, _BAD)
            self.plain.invalid[digest] = None

    def _build(self, made: Made) -> None:
        """Build a block on one that is ready, as a leader does, be it while another is executed."""
        if made.digest in self.plain.held or made.digest in self.bad or made.height <= self.plain.final.height:
            return
        if self.plain.next_of(made.parent).what == "ready":
            self.follower.add_block(made.digest, made.block)
            self.follower.begin(made.digest, is_own=True)
            self.plain.held[made.digest] = made
            self.plain.running[made.digest] = True
            self.done[made.digest] = self.plain.done[made.digest] = None

    def _give_up(self) -> Asked:
        """Give up what a view was for that is over."""
        view = 1 + self.draw(_VIEWS)
        moot = [goal for goal in self.plain.goals if goal.purpose in _OF_A_VIEW and goal.view < view]
        found = self.follower.abandon(lambda goal: goal.purpose in _OF_A_VIEW and goal.view < view)
        yield "other goals are given up than are of no use", found == moot
        self.plain.goals = [goal for goal in self.plain.goals if goal not in moot]

    def _move(self) -> Asked:
        """Let a block be final that stands on the final one, or replace the state, or go on with the new one."""
        plain = self.plain
        ready = [
            made
            for made in plain.held.values()
            if made.parent == plain.final.digest and made.digest in plain.done and made.digest not in plain.running
        ]
        if ready and self.draw(3):
            final = ready[self.draw(len(ready))]
            before = [made.digest.hex() for made in plain.held.values() if made.height <= final.height]
            plain.make_final(final)
            self.done = dict(plain.done)
            self.chain.finalized, self.chain.finalized_digest = final.block.header, final.digest
            derived = self.follower.derived(1)
            stale = [name for name in derived.kept if name not in derived.rebuilt and "goal" not in name]
            yield "blocks that are final pass for such as are of use", stale == [f"block {name}" for name in before]
            self.follower.prune()
        elif plain.is_paused:
            plain.is_paused = False
            self.follower.resume()
            plain.advance()
        elif self.draw(3) == 0:
            plain.is_paused = True
            self.follower.pause()

    def compare_derived(self) -> Asked:
        """Compare what is kept with what is of use in a view."""
        plain, view = self.plain, 1 + self.draw(_VIEWS)
        derived = self.follower.derived(view)
        stale = [name for name in derived.kept if name not in derived.rebuilt]
        over = [
            goal
            for goal in plain.goals
            if (goal.view != view if goal.purpose in _OF_A_VIEW else goal.view <= plain.final.block.header.view)
        ]
        yield "goals that are over pass for open ones, or the other way", len(stale) == len(over)
        kept = len(plain.goals) + len(plain.held)
        yield "a follower keeps more or less than blocks and goals", len(derived.kept) == kept
        own = sum(plain.running.values())
        views = 1 + max(view - plain.final.block.header.view, 0)
        gone = len([digest for digest in plain.invalid if digest not in plain.held])
        expected = [(len(plain.running) - own, 1), (own, views), (gone, len(plain.held) + 1)]
        found = [(size.found, size.bound) for size in derived.sizes]
        yield "executions and invalid blocks are miscounted", found == expected


def _following(goal: Goal) -> Goal | None:
    """Return what is wanted once a goal is settled: a final block of an odd view leads to another goal."""
    is_followed = goal.view % 2 == 1 and goal.purpose is Purpose.FINALIZE
    return Goal(Purpose.CERTIFY, goal.view + 1, goal.digest) if is_followed else None
