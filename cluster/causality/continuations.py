"""Continuations of a failed run: the same run up to a turn, with other chance from there on.

A continuation is a task of a campaign. Only the checks of the family that failed judge it. Of all continuations that
failed with one signature a single one is explained: it is the failure in question if the same check and part failed,
and if the first difference is in the same table, or about the same kind of message.

The log of a continuation up to its turn has to be that of the run, byte for byte.
"""

import hashlib
import io
import time
from bisect import bisect_left
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from checker.coverage.collector import RuleHit
from checker.explain.explanation import Explanation
from checker.families import FAMILY_OF, title_of
from checker.record.cold_replay import ColdReplay
from checker.record.host import refusal_behind
from checker.record.streams import EVENT_BYTES_MAX, iterate_events, unpacker_of
from checker.results import CheckResult, deciding_check
from cluster.campaign.results_db import SeedResult
from cluster.campaign.tasks import Task, broken_result, replay_kept, run_task, signature_of
from cluster.inspect.witness import ExecutionWitness
from cluster.live.progress import LiveProgress
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import decode_scenario
from cluster.scenario.model import Scenario
from cluster.verdict.pipeline import run_pipeline
from cluster.verdict.result import PipelineResult
from network.events import Delivered, Reseeded, Sent, events_of_type
from network.reseeding import ChangedChance, ConsumedDraw
from validators.execution import BrokenOff, Executed

NEVER: Final = (1 << 62, 0)
"""A change of chance at a turn that no run reaches: a run with such a change notes its turns."""

REPLAYED: Final = ("equal-roots", "memory")
"""The families that need the cold replay."""

LABEL: Final = "continuation"
"""The label of a task that is a continuation."""


DELAY: Final = "delay in microseconds"
"""The name under which a result has the time of the watched message on its way; without it the message was lost."""


class ContinuationTask(msgspec.Struct, frozen=True):
    """A continuation as it goes to a worker: its scenario, the run's seed, the family, whether it is explained.

    `message` is the sender, the receiver and the ordinal of the message whose delay is wanted.
    """

    scenario: bytes
    seed: int
    family: str
    is_explained: bool
    message: tuple[int, int, int] | None = None


class FailedRun(NamedTuple):
    """The run that went wrong.

    Attributes:
        scenario: Its scenario.
        seed: Its seed.
        family: The family of the check that decided.
        title: The full name of the check with the part that failed.
        place: The table of the first difference, or the kind of message; see `place_of`.
        answer: Why it failed, in words.
        log: Its event log.
        times_us: The virtual time of each turn.
        draws: Every draw that it used, each with the last turn at which a new seed still changes it.
    """

    scenario: Scenario
    seed: int
    family: str
    title: str
    place: str
    answer: str
    log: bytes
    times_us: tuple[int, ...]
    draws: tuple[ConsumedDraw, ...]

    @property
    def turns(self) -> int:
        """The number of its turns."""
        return len(self.times_us)

    def time_of(self, turn: int) -> int:
        """Return the virtual time of a turn in microseconds; after the last turn that of the last."""
        return self.times_us[min(turn, self.turns) - 1]


class TurnWitness:
    """Notes the time of each turn and the draws of a run whose chance may change."""

    def __init__(self) -> None:
        self.times_us: list[int] = []
        self.draws: list[ConsumedDraw] = []

    def attach(self, cluster: Cluster) -> None:
        """Note the turns of a cluster that has not run yet."""
        assert isinstance(cluster.chance, ChangedChance), "the turns of a run with changes of chance are noted"
        self.times_us = cluster.chance.times_us
        self.draws = cluster.chance.note_draws()

    def applied(self, node: int, executed: Executed) -> None:
        """See a block that is final for a replica: nothing is noted."""

    def executed(self, node: int, executed: Executed) -> None:
        """See an execution: nothing is noted."""

    def broken_off(self, node: int, broken: BrokenOff) -> None:
        """See an execution that broke off: nothing is noted."""


def place_of(explanation: Explanation) -> str:
    """Return where two runs must agree to have failed alike: the table of the first key, or the kind of message."""
    if explanation.keys:
        return explanation.keys[0].name.partition(" ")[0]
    told = (explanation.evidence.get(name) for name in ("message", "label", "kind", "call"))
    return next((each for each in told if isinstance(each, str)), explanation.cause or "")


def with_reseed(scenario: Scenario, turn: int, seed: int) -> Scenario:
    """Return a scenario with another seed for all draws from a turn on, unless an earlier change has this turn."""
    kept = tuple(each for each in scenario.run.reseed if each[0] < turn)
    return msgspec.structs.replace(scenario, run=msgspec.structs.replace(scenario.run, reseed=(*kept, (turn, seed))))


def judge(scenario: Scenario, seed: int, family: str, *witnesses: Any) -> PipelineResult:  # noqa: ANN401 - run witnesses
    """Run a scenario, judged by one family or by all, without a record."""
    needs_replay = not family or family in REPLAYED
    with LiveProgress(title="", is_quiet=True) as progress:
        return run_pipeline(
            scenario,
            seed,
            runs=None,
            progress=progress,
            replay=replay_kept if needs_replay else _replay_nothing,
            witnesses=witnesses,
            family=family,
        )


def failed_run(scenario: Scenario, seed: int, checks: Collection[CheckResult]) -> FailedRun | None:
    """Run a scenario again whose checks failed, and return the failed run; None where it passes now."""
    decisive = deciding_check(tuple(checks))
    if decisive is None:
        return None
    family = FAMILY_OF.get(decisive.name, decisive.name)
    witness, turns = ExecutionWitness(), TurnWitness()
    result = judge(with_reseed(scenario, *NEVER), seed, family, witness, turns)
    found = deciding_check(result.checks)
    if found is None:
        return None
    log = bytes(result.log)
    place, answer = _explained(witness, result, log)
    draws = tuple(_in_its_turn(draw, turns.times_us) for draw in turns.draws)
    return FailedRun(scenario, seed, family, title_of(found), place, answer, log, tuple(turns.times_us), draws)


def _in_its_turn(draw: ConsumedDraw, times_us: list[int]) -> ConsumedDraw:
    """Return a draw with the last turn at which a new seed still changes it."""
    if draw.due_us is None:
        return draw
    # A draw made ahead keeps the seed of turns in the instant that it is due at.
    return draw._replace(turn=max(draw.turn, bisect_left(times_us, draw.due_us)))


def _explained(witness: ExecutionWitness, result: PipelineResult, log: bytes) -> tuple[str, str]:
    """Return the place of a failure, and why the run failed in words."""
    from checker.explain.answer import answer_of  # noqa: PLC0415 - only failures need it

    explanation = witness.explain(result.checks, log)
    return place_of(explanation), " ".join(answer_of(explanation))


def run_continuation(task: Task) -> SeedResult:
    """Run a continuation in a worker process, or any other task of a campaign."""
    if task.label != LABEL:
        return run_task(task)
    started = time.perf_counter()
    asked = msgspec.msgpack.decode(task.scenario, type=ContinuationTask)
    witness = ExecutionWitness()
    try:
        scenario = decode_scenario(asked.scenario, f"continuation {task.seed}")
        result = judge(scenario, asked.seed, asked.family, *[witness] * asked.is_explained)
        log, decisive = bytes(result.log), deciding_check(result.checks)
        told = ("", "")
        if asked.is_explained and decisive is not None:
            told = _explained(witness, result, log)
    except Exception as error:  # noqa: BLE001 - a continuation that breaks the test bed is a result, as a seed's is
        if (refusal := refusal_behind(error)) is not None:
            raise refusal from None
        return broken_result(task, f"{type(error).__name__}: {error}")
    return SeedResult(
        seed=task.seed,
        exit_code=result.exit_code,
        verdict=result.verdict,
        signature=signature_of(result.checks),
        headline=told[1] or result.headline,
        digest=_prefix_of(log),
        milliseconds=int((time.perf_counter() - started) * 1_000),
        directory=told[0],
        failed="" if decisive is None else title_of(decisive),
        fingerprint=task.fingerprint,
        rules=() if asked.message is None else tuple(_delay_of(log, asked.message)),
    )


def _delay_of(log: bytes, message: tuple[int, int, int]) -> Iterator[RuleHit]:
    """Yield the time that a message was on its way; nothing if it was lost."""
    source, destination, ordinal = message
    for event, body in events_of_type(iterate_events(log), Delivered):
        if (body.source, event.node, body.ordinal) == message:
            sends = events_of_type(iterate_events(log), Sent)
            sent = ((each.node, it.destination, it.ordinal, each.at_us) for each, it in sends)
            sent_us = next(at_us for *link, at_us in sent if link == [source, destination, ordinal])
            yield RuleHit(DELAY, event.at_us - sent_us)
            return


def _prefix_of(log: bytes) -> str:
    """Return the length and the SHA-256 of a log up to its first change of chance."""
    unpacker, end = unpacker_of(io.BytesIO(log), EVENT_BYTES_MAX), 0
    for record in unpacker:
        if record[2] == Reseeded.kind:
            break
        end = unpacker.tell()
    return f"{end}:{hashlib.sha256(memoryview(log)[:end]).hexdigest()}"


def is_prefix(run: FailedRun, prefix: str) -> bool:
    """Return whether a continuation with this prefix was the run up to its turn."""
    length, _, digest = prefix.partition(":")
    return hashlib.sha256(memoryview(run.log)[: int(length)]).hexdigest() == digest


def _replay_nothing(directory: Path, hash_seed: int, values_at: Collection[int] = ()) -> ColdReplay:  # noqa: ARG001
    """Return an empty replay: the family that judges does not ask for it."""
    return ColdReplay(roots=(), values={})
