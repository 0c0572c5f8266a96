"""Drawn cases of twins: f validators at most on two machines each, by a script or by chance, in a short run."""

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


def twin_case(engine: str, seed: int) -> Scenario:
    """Return the scenario of a case."""
    draw = Draw(seed)
    validators = draw.one_of("twins.validators", (4, 4, 4, 7))
    count = draw.between("twins.count", 1, faults_of(validators))
    twins = [_twin(draw, node, validators) for node in draw.some_of("twins.of", range(validators), count)]
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


def _twin(draw: Draw, node: int, validators: int) -> str:
    """Return the fault of a validator; in half of all cases a script of a few rounds has the rule."""
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
    if draw.chance(f"{name}.is_scripted", 50):
        rounds = range(draw.between(f"{name}.rounds", 1, 5))
        others = [other for other in range(validators) if other != node]
        masks = [{other: draw.one_of(f"{name}.{turn}.{other}", MASKS) for other in others} for turn in rounds]
        for side in ("first", "second"):
            keys[side] = [[other for other in others if side in mask[other]] for mask in masks]
    return f"twin-of-{node}={{{', '.join(f'{key}={value}' for key, value in keys.items())}}}"


def run_case(case: tuple[str, int]) -> SeedResult:
    """Run and judge a case: the engine and the seed."""
    engine, seed = case
    return run_task(Task(encode_scenario(twin_case(engine, seed)), seed))


def run_cases(count: int, jobs: int) -> Iterator[tuple[bool, str]]:
    """Run so many cases of each engine; yield each that did not pass, and a line for each engine."""
    with ProcessPoolExecutor(jobs) as pool:
        for engine in ENGINES:
            cases, wrong = [(engine, seed) for seed in range(count)], 0
            for (_, seed), result in zip(cases, pool.map(run_case, cases), strict=True):
                if result.verdict != "passed":
                    wrong += 1
                    yield False, f"twins: {engine} seed {seed}: {result.verdict}: {result.headline}"
            yield True, f"twins: {count - wrong:,} of {count:,} cases of {engine} passed"
