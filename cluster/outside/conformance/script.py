"""The script: every call of the protocol, the orders in which consensus makes them, and a kill after each.

A step is a function of the stage. It raises an error for a broken rule; a step whose feature the application lacks is
not asked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from cluster.outside.conformance.stage import START, Made, NotConformantError, Stage
from cluster.outside.conversation import FEATURES, InvalidPayload, KeptBlock
from cluster.outside.frames import Value
from cluster.outside.life import ApplicationLife, Exchange
from cluster.outside.process import ApplicationLostError, Launch
from network.words import counted

TRANSACTIONS: Final = 48
CHANCE: Final = bytes(range(32))
BLOCKS: Final = 8
GAPS: Final = {4: 60, 7: 15}
"""Empty slots before some blocks, by place: timers come out of a long gap dead, of a short gap only late."""

KILLS_AT_FIRST: Final = 8
"""A life is killed after each of this many first calls, and after each of the last two."""

FORKED_AT: Final = 2
"""Height of the last common block of both branches."""

GARBAGE: Final = (b"\xff\x00 no transaction of anybody \xfe",)
ENTRIES_PER_PAGE: Final = 3


class ScriptStep(NamedTuple):
    """A step of the script: its name, the features that it needs, and its function, which returns a remark."""

    name: str
    needs: tuple[str, ...]
    act: Callable[["PlayedScript"], str]


@dataclass(frozen=True, slots=True)
class StepResult:
    """The outcome of a step: `passed`, `failed` or `not asked`, a sentence, and the exchange at which it failed."""

    step: str
    status: str
    summary: str
    exchange: Exchange | None = None
    stderr: str = ""


@dataclass(slots=True)
class PlayedScript:
    """The state of a running script."""

    stage: Stage
    features: tuple[str, ...] = ()
    first: ApplicationLife | None = None
    genesis: Made | None = None
    chain: list[Made] = field(default_factory=list)
    side: list[Made] = field(default_factory=list)

    @property
    def whole(self) -> list[Made]:
        """The main chain with its genesis."""
        assert self.genesis is not None, "the step `genesis` came first"
        return [self.genesis, *self.chain]

    @property
    def other(self) -> list[Made]:
        """The side branch with the blocks below it."""
        return [*self.whole[: FORKED_AT + 1], *self.side]


def play(launch: Launch, parameters: Mapping[str, Value]) -> Iterator[StepResult]:
    """Play the script and yield the outcome of each step; it ends after a failed step that later steps need."""
    with TemporaryDirectory(prefix="stampede-application-") as folder, Stage(launch, Path(folder), parameters) as stage:
        script = PlayedScript(stage)
        for step in STEPS:
            missing = [feature for feature in step.needs if feature not in script.features]
            if missing:
                yield StepResult(step.name, "not asked", f"the application has no feature `{missing[0]}`")
                continue
            try:
                yield StepResult(step.name, "passed", step.act(script))
            except (NotConformantError, ApplicationLostError) as error:
                yield StepResult(step.name, "failed", str(error), stage.last, stage.stderr_tail)
                if step.name in FOUNDATIONS:
                    return
            finally:
                if step.name not in FOUNDATIONS:
                    script.first = None
                    stage.end()


def _hello(script: PlayedScript) -> str:
    life = script.stage.open(is_planning=True)
    script.features, greeting = life.greeting.features, life.greeting
    script.stage.is_fifo = greeting.order == "fifo"
    if "transactions" in script.features:
        script.stage.transactions = list(life.talk.transactions(TRANSACTIONS, CHANCE))
    life.talk.bye()
    life.process.close()
    lacking = [feature for feature in FEATURES if feature not in script.features]
    has = f"{greeting.name} {greeting.version}, with {', '.join(script.features) or 'no feature'}"
    return has + (f"; without {', '.join(lacking)}" if lacking else "")


def _genesis(script: PlayedScript) -> str:
    script.first, script.genesis = script.stage.begin()
    return f"root {script.genesis.execution.root.hex()[:16]}..."


def _propose(script: PlayedScript) -> str:
    life = _first(script)
    script.chain = script.stage.extend(life, script.whole[0], BLOCKS, gaps=GAPS)
    entries = sum(len(made.block.transactions) for made in script.chain)
    made = f"{counted(len(script.chain), 'blocks')} with {counted(entries, 'transactions')}"
    return f"{made}, and an outage of {max(GAPS.values())} slots"


def _timers(script: PlayedScript) -> str:
    counts = script.stage.follow_timers(script.whole)
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _other_process(script: PlayedScript) -> str:
    life, genesis = script.stage.begin(hash_seed=1, timezone="Pacific/Kiritimati")
    if genesis.id != script.whole[0].id:
        expected, found = script.whole[0].execution.root.hex(), genesis.execution.root.hex()
        raise NotConformantError(f"genesis in another process: root {expected} expected, {found} found")
    for made in script.chain:
        script.stage.execute(life, made, "in another process")
    return counted(len(script.chain), "equal roots")


def _twice(script: PlayedScript) -> str:
    life = _follow(script, script.chain)
    for made in script.chain[-2:] if "forks" in script.features else script.chain[-1:]:
        script.stage.execute(life, made, "asked for twice")
    return "a known block gives the same answer"


def _forgotten(script: PlayedScript) -> str:
    stage, life, tip = script.stage, _follow(script, script.chain), script.chain[-1]
    first = stage.propose(life, tip, stage.draft(tip, slots=2))
    second = stage.propose(life, tip, stage.draft(tip, slots=3))
    life.talk.adopted(second.id, second.header)
    stage.execute(_follow(script, script.chain), first, "proposed and not adopted, in another process")
    stage.execute(_follow(script, script.chain), second, "proposed and adopted, in another process")
    return "the next `propose` replaces a proposal without `adopted`"


def _siblings(script: PlayedScript) -> str:
    stage, life = script.stage, _follow(script, script.chain)
    script.side = stage.extend(life, script.whole[FORKED_AT], 3, view=50)
    stage.execute(life, script.chain[-1], "after a branch beside it")
    alone = _follow(script, script.other[1:], "without the branch beside it")
    for made in script.chain[FORKED_AT:]:
        stage.execute(alone, made, "after the branch beside it")
    return "branches share nothing"


def _invalid(script: PlayedScript) -> str:
    stage, life, tip = script.stage, _follow(script, script.chain), script.chain[-1]
    outcome = life.talk.execute(bytes(32), stage.draft(tip, slots=2), GARBAGE)
    if not isinstance(outcome, InvalidPayload):
        return "given garbage, it takes that as a payload"
    valid = stage.propose(life, tip, stage.draft(tip, slots=3))
    life.talk.adopted(valid.id, valid.header)
    stage.execute(_follow(script, script.chain), valid, "in a process that has seen no invalid block")
    return f"given garbage, it calls it invalid: {outcome.reason}"


def _drop(script: PlayedScript) -> str:
    stage, life = script.stage, _follow(script, script.chain)
    life.talk.drop(script.chain[-2].id)
    for made in script.chain[-2:]:
        stage.execute(life, made, "after it was dropped")
    return "a dropped block can come again"


def _reorg(script: PlayedScript) -> str:
    stage, life = script.stage, _follow(script, script.chain)
    for made in script.side:
        stage.execute(life, made, "on the branch that wins")
    life.talk.finalize(script.side[0].id)
    tip = script.side[-1]
    after = stage.propose(life, tip, stage.draft(tip, slots=2))
    life.talk.adopted(after.id, after.header)
    life.talk.finalize(after.id)
    stage.execute(_follow(script, script.other[1:], "without the losing branch"), after, "without the losing branch")
    return f"{counted(len(script.chain) - FORKED_AT, 'blocks')} abandoned"


def _early(script: PlayedScript) -> str:
    stage, life = script.stage, _follow(script, script.chain)
    for made in script.chain:
        life.talk.apply(made.id)
    life.talk.rewind(script.whole[FORKED_AT].id)
    for made in script.side:
        stage.execute(life, made, "after a rewind")
        life.talk.apply(made.id)
    life.talk.finalize(script.side[0].id)
    tip = script.side[-1]
    after = stage.propose(life, tip, stage.draft(tip, slots=2))
    stage.execute(_follow(script, script.other[1:], "without early application"), after, "without early application")
    applied = counted(len(script.chain), "blocks")
    return f"{applied} applied before they were final, {len(script.chain) - FORKED_AT} rewound"


def _kills(script: PlayedScript) -> str:
    """Kill after each call of a life that executes and finalizes the chain; it must come back, with an equal end."""
    calls = 2 + 2 * len(script.chain)
    # The calls for the blocks in the middle repeat the calls for the first blocks.
    counts = (*range(1, KILLS_AT_FIRST + 1), calls - 1, calls)
    for count in counts:
        life, last = _live_until(script, count)
        life.process.kill()
        life = script.stage.open(after=life)
        kept = life.greeting.kept
        height = _check_kept(script, kept, last, f"killed after call {count}")
        if kept is None:
            life, _ = script.stage.begin()
        _catch_up(script, life, height, f"after a kill at call {count}")
        life.process.kill()
    return f"{counted(len(counts), 'kills')}; it came back where it had said that it was"


def _behind(script: PlayedScript) -> str:
    """Resume on a copy of the directory as of an earlier final block."""
    stage, life = script.stage, _begin(script)
    for made in script.chain[:3]:
        stage.execute(life, made, "before the copy")
        life.talk.finalize(made.id)
    life.process.kill()
    copy = stage.open(copy_of=life.directory)
    height = _check_kept(script, copy.greeting.kept, 3, "on a copy of its directory")
    _catch_up(script, copy, height, "on a copy of its directory")
    return f"from height {height}"


def _snapshot(script: PlayedScript) -> str:
    stage, life = script.stage, _begin(script)
    for made in script.chain[:4]:
        stage.execute(life, made, "before a snapshot")
    final = script.chain[3]
    life.talk.finalize(final.id)
    stage.execute(life, script.chain[4], "open while a snapshot is made")
    pieces = [life.talk.piece(final.id, index) for index in range(life.talk.snapshot(final.id))]
    stage.execute(life, script.chain[5], "above a block that was open while a snapshot was made")
    if "restore" not in script.features:
        return f"{counted(len(pieces), 'pieces')}; not restored, since the application has no feature `restore`"
    joiner = stage.open()
    root = joiner.talk.restore(final.id, final.header, pieces)
    if root != final.execution.root:
        raise NotConformantError(f"restored: root {final.execution.root.hex()} expected, {root.hex()} found")
    for made in script.chain[4:]:
        stage.execute(joiner, made, "above a restored snapshot")
    joiner.process.kill()
    again = stage.open(after=joiner)
    if again.greeting.kept is None or again.greeting.kept.id != final.id:
        raise NotConformantError(f"killed after `restore`: height {final.header.height} expected on resume")
    return f"{counted(len(pieces), 'pieces')}, {counted(sum(map(len, pieces)), 'bytes')}"


def _entries(script: PlayedScript) -> str:
    life, tip = _follow(script, script.chain), script.chain[-1]
    found: list[tuple[bytes, bytes]] = []
    while page := life.talk.entries(tip.id, found[-1][0] if found else b"", ENTRIES_PER_PAGE):
        found += page
    whole = life.talk.entries(tip.id, b"", len(found) + 1)
    if list(whole) != found:
        raise NotConformantError(
            f"in pages of {ENTRIES_PER_PAGE} the state has {counted(len(found), 'key-value pairs')}, "
            f"at once {counted(len(whole), 'key-value pairs')}, or different entries"
        )
    if "describe" in script.features and found:
        return f"{counted(len(found), 'key-value pairs')} in the state; the first: {life.talk.describe(*found[0])}"
    return f"{counted(len(found), 'key-value pairs')} in the state"


def _bye(script: PlayedScript) -> str:
    life = _follow(script, script.chain)
    life.talk.bye()
    life.process.close()
    return "it ends with its standard input"


FOUNDATIONS: Final = ("hello", "genesis", "propose")
"""Steps without which later steps mean nothing."""

STEPS: Final = (
    ScriptStep("hello", (), _hello),
    ScriptStep("genesis", (), _genesis),
    ScriptStep("propose", (), _propose),
    ScriptStep("timers", (), _timers),
    ScriptStep("another process", (), _other_process),
    ScriptStep("the same request twice", (), _twice),
    ScriptStep("a proposal that is not adopted", (), _forgotten),
    ScriptStep("branches", ("forks",), _siblings),
    ScriptStep("an invalid block", (), _invalid),
    ScriptStep("drop", ("forks",), _drop),
    ScriptStep("reorg", ("forks",), _reorg),
    ScriptStep("apply early, and rewind", ("forks", "early"), _early),
    ScriptStep("a kill after each call", (), _kills),
    ScriptStep("resume behind", (), _behind),
    ScriptStep("snapshot and restore", ("snapshot",), _snapshot),
    ScriptStep("entries", ("entries",), _entries),
    ScriptStep("bye", (), _bye),
)
"""All steps, in their order."""


def _first(script: PlayedScript) -> ApplicationLife:
    assert script.first is not None, "the step `genesis` came first"
    return script.first


def _begin(script: PlayedScript) -> ApplicationLife:
    life, genesis = script.stage.begin()
    if genesis.id != script.whole[0].id:
        expected, found = script.whole[0].execution.root.hex(), genesis.execution.root.hex()
        raise NotConformantError(f"genesis once more: root {expected} expected, {found} found")
    return life


def _follow(script: PlayedScript, blocks: Sequence[Made], why: str = "in another process") -> ApplicationLife:
    """Return a life that has executed blocks above genesis."""
    life = _begin(script)
    for made in blocks:
        script.stage.execute(life, made, why)
    return life


def _live_until(script: PlayedScript, calls: int) -> tuple[ApplicationLife, int]:
    """Return a life that was asked this many calls after `hello`, and its last finalized height, -1 for none."""
    stage = script.stage
    life = stage.open()
    life.talk.genesis(START)
    last = -1
    if calls > 1:
        life.talk.adopted(script.whole[0].id, script.whole[0].header)
        last = 0
    for number, made in enumerate(script.chain):
        if calls > 2 + 2 * number:
            stage.execute(life, made, "before a kill")
        if calls > 3 + 2 * number:
            life.talk.finalize(made.id)
            last = made.header.height
    return life, last


def _check_kept(script: PlayedScript, kept: KeptBlock | None, last: int, why: str) -> int:
    """Return the height from which a life resumes, -1 for none; raise for an impossible height."""
    if kept is None:
        if last >= 0:
            raise NotConformantError(f"{why}: `height` is null on resume, {last} was expected: that was answered for")
        return -1
    if last < 0:
        raise NotConformantError(f"{why}: height {kept.height} on resume, null was expected: no `adopted` was answered")
    if kept.height != last:
        raise NotConformantError(f"{why}: height {kept.height} on resume, {last} was expected: that was answered for")
    made = script.whole[kept.height]
    for name, expected, found in (("id", made.id, kept.id), ("root", made.execution.root, kept.root)):
        if expected != found:
            place = f"{why}: {name} of height {kept.height} on resume"
            raise NotConformantError(f"{place}: {expected.hex()} expected, {found.hex()} found")
    return kept.height


def _catch_up(script: PlayedScript, life: ApplicationLife, height: int, why: str) -> None:
    for made in script.chain[max(height, 0) :]:
        script.stage.execute(life, made, why)
        life.talk.finalize(made.id)
