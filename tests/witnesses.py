"""Runs that witness the coverage points: `python -m tests.witnesses [--write NAME ...]`.

`frozen/witnesses.json` names for each cell a run that reaches it: a shipped scenario (small size, seed 0), or
`swarm-SEED`. Without names it says which cells lack a run. `--write` runs the names, and those that witness now, and
writes the file anew with as few runs as a greedy choice needs; a cell that a scenario promises is that scenario's.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from checker.coverage.registry import POINTS
from cluster.campaign.results_db import SeedResult
from cluster.campaign.tasks import run_task
from cluster.verdict.result import PipelineResult
from scheduler import SWARM, UNPROMISED
from scheduler.rules import RefusalPoint
from tests.frozen import FROZEN_FILE, read_frozen, seed_of, task_of

WITNESS_FILE: Final = FROZEN_FILE.with_name("witnesses.json")


_LEFT_TO: Final = {False: (UNPROMISED,), True: (UNPROMISED, SWARM)}
"""Promises that need no witness; of refusals also the swarm's, whose texts a test compares with the source."""

WITNESSED: Final = {
    label: cell for label, cell in POINTS.items() if cell.promised_by not in _LEFT_TO[isinstance(cell, RefusalPoint)]
}
"""The cells that need a witness."""


def read_witnesses() -> dict[str, str]:
    """Return the witness of each cell by its label."""
    found: dict[str, str] = json.loads(WITNESS_FILE.read_text())
    return found


def cells_of(result: SeedResult | PipelineResult) -> frozenset[str]:
    """Return the cells that a run reached."""
    return frozenset(hit.point for hit in result.rules if hit.point in POINTS and hit.hits)


def cells_of_run(name: str) -> frozenset[str]:
    """Return the cells that the run of a name reaches."""
    return cells_of(run_task(task_of(name, seed_of(name, read_frozen()))))


def lacking(witnesses: Mapping[str, str]) -> list[str]:
    """Return the cells without a witness, and those that another run witnesses than the scenario that promises them."""
    wrong = [label for label in WITNESSED if label not in witnesses]
    for label, cell in WITNESSED.items():
        if cell.promised_by != SWARM and witnesses.get(label) not in {None, cell.promised_by}:
            wrong.append(label)
    return wrong


def choose(reached: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Return a witness for each cell that some run reaches, with as few runs as a greedy choice needs."""
    chosen = {
        label: cell.promised_by
        for label, cell in WITNESSED.items()
        if cell.promised_by != SWARM and label in reached.get(cell.promised_by, ())
    }
    open_points = [label for label, cell in WITNESSED.items() if cell.promised_by == SWARM]
    used = dict.fromkeys(chosen.values())
    while open_points:
        best = max(sorted(reached), key=lambda name: (len(reached[name].intersection(open_points)), name in used))
        gained = reached[best].intersection(open_points)
        if not gained:
            break
        chosen |= dict.fromkeys(sorted(gained), best)
        open_points = [label for label in open_points if label not in gained]
    return {label: chosen[label] for label in POINTS if label in chosen}


def run_all(names: Iterable[str], jobs: int) -> dict[str, frozenset[str]]:
    """Return the cells that each run reaches, by its name."""
    wanted = list(dict.fromkeys(names))
    with ProcessPoolExecutor(jobs) as pool:
        return dict(zip(wanted, pool.map(cells_of_run, wanted), strict=True))


def main() -> int:
    """Say what lacks a witness, or choose witnesses anew."""
    parser = argparse.ArgumentParser(prog="python -m tests.witnesses", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true", help="write the witnesses anew")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    witnesses = read_witnesses() if WITNESS_FILE.exists() else {}
    if options.write:
        witnesses = choose(run_all([*options.names, *witnesses.values()], options.jobs))
        WITNESS_FILE.write_text(json.dumps(witnesses, indent=0) + "\n")
    missing = lacking(witnesses)
    runs = len(dict.fromkeys(witnesses.values()))
    print(f"{len(witnesses)} cells in {runs} runs; without a witness: {', '.join(missing) or 'none'}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
