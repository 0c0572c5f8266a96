"""The long campaign of `make soak`: every scenario for two seeds, forks of every depth, the swarm for many more seeds.

`python -m tests.soak [--parts NAME,...] [--seeds A..B] [--swarm A..B] [--depths A..B] [--hardening COUNT[:SEED]]
[--twins COUNT] [--jobs N]` exits 0 only if every run ended well. The parts are `scenarios`; `modes`, the runs of
`tests.support.replica_modes` with an observer of each mode; `policies`, every scenario that loads under `bias-auction`
and `aptos`, at seed 0; `pairs`, one policy after another inside a reorg, every pair that may be; `engines`, every
scenario on each engine; `documents`, every command of the tutorial and of README; `reorgs`; `marked`, the tests
that are marked `soak`, which `make test` leaves out; `properties`, the property tests with ten times the examples,
other ones each time; `hardening`, hostile files and records against every command
(tests/hardening), other ones each time unless a seed is given; `earlier`, wheels of earlier versions against the
checkout (tests.support.earlier); `twins`, drawn cases of validators on two machines (tests.support.twin_cases), as many
of each engine; `swarm`.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import msgspec

from checker.record.root import PROJECT_ROOT
from cluster.authoring.engines_page import VARIANTS, refusal_of, settings_for
from cluster.authoring.policies_page import PROMISES, verdicts
from cluster.cli.commands.runs.reorgs import parse_policies
from cluster.reorgs.table import ARROW
from cluster.scenario.load import scenario_paths
from scheduler import POLICIES
from tests.hardening.campaign import run_campaign
from tests.support.activation_pairs import PAIRS, settings_of
from tests.support.earlier import run_earlier
from tests.support.properties import SOAK
from tests.support.replica_modes import IN_EVERY_MODE, RUNS
from tests.support.twin_cases import run_cases
from tests.support.walk import make_clone, make_environment, walk

PARTS = (
    "scenarios",
    "modes",
    "policies",
    "pairs",
    "engines",
    "documents",
    "reorgs",
    "marked",
    "properties",
    "hardening",
    "earlier",
    "twins",
    "swarm",
)


DEPTHS_BY_HEIGHT: Final = "1..16,24,32,48,64"
"""The depths of the forks on chains that count heights: each depth is led by slots as well."""


class Finished(NamedTuple):
    """One run: what it was, how it ended, and how long it took in real seconds."""

    scenario: str
    seed: int
    exit_code: int
    verdict: str
    digest: str
    seconds: float


class Planned(NamedTuple):
    """A run to come: its scenario, seed and settings, and the verdict that it has to end with; empty for a good one."""

    scenario: str
    seed: int
    settings: tuple[str, ...] = ()
    verdict: str = ""


def plan_of(part: str, seeds: Sequence[int]) -> Iterator[Planned]:
    """Yield the runs of a part."""
    if part == "scenarios":
        yield from (Planned(path.stem, seed) for path in scenario_paths() for seed in seeds)
    elif part == "modes":
        yield from (Planned(name, seed, settings) for name, settings in RUNS for seed in seeds)
    elif part == "pairs":
        yield from (Planned("activation-pairs", seed, settings_of(*pair)) for pair in PAIRS for seed in seeds)
    elif part == "engines":
        yield from _plan_engines()
    elif part == "policies":
        for name, row in verdicts():
            for policy, promises in PROMISES.items():
                if row[policy] == "runs":
                    yield Planned(name, 0, (f"chain.policy={policy}",), promises.get(name, ("", ""))[0])


def _plan_engines() -> Iterator[Planned]:
    for name in (path.stem for path in scenario_paths()):
        for variant in VARIANTS:
            if not refusal_of(name, variant):
                yield Planned(name, 0, settings_for(name, variant))


def run_one(planned: Planned) -> Finished:
    """Run a scenario in a process of its own."""
    scenario, seed, settings, _ = planned
    started = time.perf_counter()
    with TemporaryDirectory() as runs:
        command = [sys.executable, "run_cluster.py", "run", scenario, "--seed", str(seed), "--json", "--runs", runs]
        command += [argument for setting in settings for argument in ("--set", setting)]
        done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if not done.stdout:
        return Finished(scenario, seed, done.returncode, done.stderr.strip()[-200:], "", seconds)
    answer = msgspec.json.decode(done.stdout)
    return Finished(scenario, seed, done.returncode, answer["verdict"], answer["digest"], seconds)


def run_all(planned: Sequence[Planned], jobs: int) -> int:
    """Run, print a line for each run, and return how many did not end as they have to."""
    failed = 0
    with ThreadPoolExecutor(jobs) as pool:
        for each, done in zip(planned, pool.map(run_one, planned), strict=True):
            is_good = done.verdict == each.verdict if each.verdict else done.exit_code == 0
            failed += not is_good
            named = " ".join((each.scenario, *(it for it in each.settings if it not in IN_EVERY_MODE)))
            shown = f"{named:18} seed {done.seed:<4} {done.verdict:18} {done.digest[:16]} {done.seconds:6.1f} s"
            print(shown if is_good else f"{shown}  NOT GOOD", flush=True)
    return failed


def sweep_swarm(seeds: range, jobs: int) -> tuple[int, str]:
    """Sweep drawn scenarios; return how many did not pass, and a line about all."""
    with TemporaryDirectory() as runs:
        command = [sys.executable, "run_cluster.py", "sweep", "--swarm", "--seeds", f"{seeds[0]}..{seeds[-1]}"]
        done = subprocess.run(
            [*command, "--jobs", str(jobs), "--runs", runs, "--json"],
            cwd=PROJECT_ROOT,
            capture_output=True,
            check=False,
        )
    if not done.stdout:
        return 1, done.stderr.decode().strip()[-200:]
    answer = msgspec.json.decode(done.stdout)
    failed = answer["seeds"] - answer["verdicts"].get("passed", 0)
    groups = [f"{signature} (seed {group[0]['seed']})" for signature, group in answer["groups"].items()]
    summary = f"swarm: {answer['seeds']:,} seeds, {answer['seeds_per_hour']:,} an hour, {failed} did not pass"
    never = [f"never reached: {cell['kind']}, {cell['phase']}, {cell['role']}" for cell in answer["coverage"]["empty"]]
    return failed + len(never), "\n  ".join([summary, *groups, *never])


def walk_documents() -> Iterator[tuple[bool, str]]:
    """Go through tutorial and README in a clone and with the wheel; yield whether all is as they say, and a line."""
    for make in (make_clone, make_environment):
        with TemporaryDirectory() as folder:
            place = make(Path(folder))
            try:
                walk(place, is_brief=False)
            except AssertionError as error:
                yield False, f"documents: {error}"
            else:
                yield True, f"documents: every command in a {place.name} ends as its page says"


def run_reorgs(depths: str, timebase: str) -> tuple[bool, str]:
    """Lead forks of the policies and pairs that count so along every road; return whether all were equal, and why."""
    fit = [name for name, policy in POLICIES.items() if timebase in policy.timebases]
    named = [each for each in parse_policies("all,pairs") if all(name in fit for name in each.split(ARROW))]
    command = [sys.executable, "run_cluster.py", "reorgs", "--depths", depths, "--policy", ",".join(named)]
    setting = f"chain.timebase={timebase}"
    done = subprocess.run([*command, "--set", setting], cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)
    lines = (done.stdout or done.stderr).strip().splitlines() or ["no output"]
    return done.returncode == 0, f"reorgs, {setting}: {lines[-1]}"


PYTEST = {"marked": ("-m", "soak"), "properties": ("-m", "hypothesis", f"--hypothesis-profile={SOAK}")}
"""The parts that are tests: which, and under which profile. Properties are drawn from examples of this hour."""


def run_tests(part: str, jobs: int) -> tuple[bool, str]:
    """Run a part that is tests; return whether all hold, and what pytest says."""
    # Its output is shown as it comes: a find states the @example to write down.
    command = [sys.executable, "-m", "pytest", "-n", str(jobs), "--dist", "worksteal", *PYTEST[part]]
    code = subprocess.run(command, cwd=PROJECT_ROOT, check=False).returncode
    return code == 0, f"{part}: pytest ended with {code}"


def run_hardening(count: int, seed: int, jobs: int) -> Iterator[tuple[bool, str]]:
    """Meet every command with hostile files and records; yield each flaw, and at last how many there are."""
    found = 0
    for flaw in run_campaign(count, seed, jobs):
        found += 1
        yield False, f"hardening: {flaw}"
    yield True, f"hardening: {count:,} cases of seed {seed} have {found} flaws"


def parse_hardening(text: str) -> tuple[int, int]:
    """Return the number of cases and the seed that `COUNT:SEED` names; without a seed one of this hour."""
    count, _, seed = text.partition(":")
    return int(count), int(seed or int.from_bytes(os.urandom(4), "big"))


def parse_seeds(text: str) -> range:
    """Return the seeds that `A..B` names, both ends included."""
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def run_part(part: str, options: argparse.Namespace) -> Iterator[tuple[int | None, str]]:
    """Yield the lines of a part without planned runs, and how many failures each names; None for a skipped part."""
    lines: Iterable[tuple[bool | None, str]] = ()
    if part == "documents":
        lines = walk_documents()
    elif part == "reorgs":
        with ThreadPoolExecutor(options.jobs) as pool:
            lines = [*pool.map(run_reorgs, [options.depths, DEPTHS_BY_HEIGHT], ["slot", "height"])]
    elif part in PYTEST:
        lines = [run_tests(part, options.jobs)]
    elif part == "hardening":
        lines = run_hardening(*options.hardening, options.jobs)
    elif part == "earlier":
        lines = run_earlier(options.jobs)
    elif part == "twins":
        lines = run_cases(options.twins, options.jobs)
    elif part == "swarm":
        yield sweep_swarm(options.swarm, options.jobs)
    for is_good, line in lines:
        yield None if is_good is None else int(not is_good), line


def main(arguments: Sequence[str]) -> int:
    """Run the campaign and print a line for each run."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--parts", type=lambda text: text.split(","), default=PARTS)
    parser.add_argument("--seeds", type=parse_seeds, default=range(2))
    parser.add_argument("--swarm", type=parse_seeds, default=range(2_000))
    parser.add_argument("--depths", default="1..64")
    parser.add_argument("--hardening", type=parse_hardening, default="4000", metavar="COUNT[:SEED]")
    parser.add_argument("--twins", type=int, default=1_000, metavar="COUNT")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"--parts: there is no {', '.join(unknown)}; there are {', '.join(PARTS)}")
    failed = sum(run_all([*plan_of(part, options.seeds)], options.jobs) for part in options.parts)
    skipped = 0
    for part in options.parts:
        for count, line in run_part(part, options):
            failed, skipped = failed + (count or 0), skipped + (count is None)
            print(line, flush=True)
    result = f"{failed} runs did not end well" if failed else "all runs ended well"
    print(f"{result}; {skipped} part was skipped" if skipped else result)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
