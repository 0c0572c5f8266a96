"""Drawn cases of twins: f validators at most on two machines each, by a script or by chance, in a short run."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from cluster.campaign.results_db import SeedResult
from cluster.campaign.tasks import Task, run_task
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.scenario.model import Scenario
from network.draw import Draw
from validators.consensus.quorum import faults_of
from validators.consensus.registry import ENGINES

MASKS: Final = ((), ("first",), ("first",), ("second",), ("second",), ("first", "second"))
"""The machines that a replica reaches in a scripted round: mostly one of the two."""

ROUNDS_MS: Final = (60, 150, 300, 700, 1_500, 10_000)
"""Lengths of a round: many in a view, or one for the whole time."""


ROUNDS_OF: Final = {4: 3, 5: 3, 7: 3, 10: 5}
"""Rounds of every script in the cases of one size, by the number of validators."""

SHARE_OF_A_SIZE: Final = 50
"""The cases of each size are one for so many cases of drawn sizes."""


def twin_case(engine: str, seed: int, size: int = 0) -> Scenario:
    """Return the scenario of a case; with a size it has that many validators, and each twin has a script."""
    draw = Draw(seed)
    validators = size or draw.one_of("twins.validators", (4, 4, 4, 7))
    count = draw.between("twins.count", 1, faults_of(validators))
    nodes = draw.some_of("twins.of", range(validators), count)
    twins = [_twin(draw, node, validators, ROUNDS_OF[size] if size else 0) for node in nodes]
    settings = [
        f"consensus.engine={engine}",
        f"cluster.validators={validators}",
        f"network.loss_ppm={draw.one_of('twins.loss_ppm', (0, 0, 0, 20_000))}",
        f"network.latency_ms={draw.one_of('twins.latency_ms', (20, 20, 90))}",
        f"run.until_height={draw.between('twins.height', 5, 8)}",
        f"faults={{{', '.join(twins)}}}",
        "workload.payments.count=20",
        "requires=[]",
        "workload.pulse.may_be_idle=true",
        "workload.payments.may_be_idle=true",
        "run.time_limit_ms=240_000",
    ]
    return load_scenario("calm", settings)


def _twin(draw: Draw, node: int, validators: int, count: int) -> str:
    """Return the fault of a validator with a script of `count` rounds; with 0, half of all cases have a script."""
    name = f"twins.{node}"
    start_ms = draw.between(f"{name}.start_ms", 0, 2_500)
    keys = {
        "kind": '"twin"',
        "validator": node,
        "may_be_idle": "true",
        "start_ms": start_ms,
        "stop_ms": start_ms + draw.between(f"{name}.lasts_ms", 1_500, 6_000),
        "round_ms": draw.one_of(f"{name}.round_ms", ROUNDS_MS),
    }
    if count or draw.chance(f"{name}.is_scripted", 50):
        rounds = range(count or draw.between(f"{name}.rounds", 1, 5))
        others = [other for other in range(validators) if other != node]
        masks = [{other: draw.one_of(f"{name}.{turn}.{other}", MASKS) for other in others} for turn in rounds]
        for side in ("first", "second"):
            keys[side] = [[other for other in others if side in mask[other]] for mask in masks]
    return f"twin-of-{node}={{{', '.join(f'{key}={value}' for key, value in keys.items())}}}"


def run_case(case: tuple[str, int, int]) -> SeedResult:
    """Run and judge a case: the engine, the seed and the size, 0 for a drawn size."""
    engine, seed, size = case
    return run_task(Task(encode_scenario(twin_case(engine, seed, size)), seed))


def run_cases(count: int, jobs: int) -> Iterator[tuple[bool, str]]:
    """Run so many cases of each engine, and a share of each size; yield those that did not pass, and sums."""
    sizes = {0: count, **dict.fromkeys(ROUNDS_OF, -(-count // SHARE_OF_A_SIZE))}
    with ProcessPoolExecutor(jobs) as pool:
        for engine, (size, number) in itertools.product(ENGINES, sizes.items()):
            cases, wrong = [(engine, seed, size) for seed in range(number)], 0
            whose = f"{engine} with {size} validators" if size else engine
            for (_, seed, _), result in zip(cases, pool.map(run_case, cases), strict=True):
                if result.verdict != "passed":
                    wrong += 1
                    yield False, f"twins: {whose} seed {seed}: {result.verdict}: {result.headline}"
            yield True, f"twins: {number - wrong:,} of {number:,} cases of {whose} passed"
