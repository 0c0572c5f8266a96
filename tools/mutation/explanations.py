"""Whether `explain` names what is wrong with a mutant: its report is compared with the catalogue.

The catalogue knows who holds the mutant, the cause, whether a timer is concerned, and words of what is written wrong.
The height is held against what the run itself says, without the explanation's own way of looking: the first height at
which its events have two roots of one block, and the first at which the oracle's check found a difference.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from checker.explain.explanation import Explanation
from checker.mutants import Mutant
from checker.record.places import scratch_directory
from checker.record.run_directory import RecordReader
from cluster.campaign.results_db import SeedResult
from cluster.campaign.tasks import Task, run_task
from cluster.inspect.explain_run import REPEATS_MAX, explain_record
from cluster.scenario.load import decode_scenario
from faults import Fault, byzantine_validators
from network.events import events_of_type
from tools.mutation.catalogue import CATALOGUE
from validators.events import BlockExecuted

EXPLAINED: Final = "explained"
"""The verdict of an explanation that names what the catalogue says."""


def explain_task(task: Task) -> SeedResult:
    """Run a task, explain its record, and return what the explanation lacks as the headline; in a worker process."""
    with scratch_directory("explain") as scratch:
        # What differs from itself may by chance be the same once.
        for _ in range(REPEATS_MAX if task.is_thorough else 1):
            result = run_task(task._replace(runs=str(scratch)))
            if result.directory:
                break
        else:
            return result._replace(verdict="unexplained", headline="the run passes")
        reader = RecordReader(Path(result.directory))
        scenario = decode_scenario(task.scenario, f"seed {task.seed}")
        ((name, holders),) = scenario.mutants.items()
        explanation, _ = explain_record(reader)
        amiss = "; ".join(shortfalls(CATALOGUE[name], holders, explanation, first_height_of(reader, scenario.faults)))
    return result._replace(verdict="unexplained" if amiss else EXPLAINED, headline=amiss, directory="")


def first_height_of(reader: RecordReader, faults: Mapping[str, Fault]) -> int | None:
    """Return the first height at which honest validators or the oracle show two outcomes of one block, if any do."""
    byzantine = byzantine_validators(faults)
    roots: dict[bytes, bytes] = {}
    heights = []
    for event, block in events_of_type(reader.events([BlockExecuted]), BlockExecuted):
        if event.node in byzantine:
            continue  # it may believe in a root that it has made up
        if roots.setdefault(block.digest, block.root) != block.root:
            heights.append(block.height)
    for check in reader.checks():
        height = dict(check.evidence).get("height")
        if check.name == "oracle" and check.status == "failed" and isinstance(height, int):
            heights.append(height)
    return min(heights, default=None)


def shortfalls(
    mutant: Mutant, holders: Sequence[int], explanation: Explanation, first_height: int | None
) -> Iterator[str]:
    """Yield what an explanation does not name, or names otherwise than it is.

    Args:
        mutant: The mutant.
        holders: The validators that have it.
        explanation: What is said of it.
        first_height: The first height at which the run itself shows a difference.
    """
    if explanation.cause != mutant.cause:
        yield f"the cause is {explanation.cause or 'none'} and not {mutant.cause}"
    if explanation.height is None:
        yield "no height"
    elif first_height is not None and explanation.height > first_height:
        yield f"height {explanation.height}, and the run differs at {first_height}"
    yield from _of_sides(mutant, holders, explanation)
    named = f"{explanation.write} {' '.join(key.name for key in explanation.keys)}"
    if not re.search(mutant.shows, named) or not explanation.write:
        yield f"nothing of {mutant.shows!r} in {named[:200]!r}"
    if any(len(dict.fromkeys(key.values)) < 2 for key in explanation.keys):
        yield "a key without two values"
    if mutant.is_of_timer and not (explanation.timer and explanation.timer_record):
        yield "no timer"


def _of_sides(mutant: Mutant, holders: Sequence[int], explanation: Explanation) -> Iterator[str]:
    if not explanation.sides:
        yield "no sides"
        return
    right, *others = explanation.sides
    wrong = [node for side in others for node in side.validators]
    strangers = [node for node in wrong if node not in holders]
    if strangers:
        yield f"validators {strangers} on the wrong side"
    if mutant.on_all and others and not right.has_oracle:
        yield "the oracle is not on the right side"
    if not mutant.on_all and right.validators and dict.fromkeys(right.validators) == dict.fromkeys(holders):
        yield "the right side is that of the mutant"
