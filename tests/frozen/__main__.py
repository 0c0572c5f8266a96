"""Compare the frozen runs with what they are now: `python -m tests.frozen [--write] [NAME ...]`, all without a name.

A scenario's name, `swarm-SEED` or `mutant-NAME`. Exits 1 if any differs or is refused. `--write` writes what is
measured instead, and leaves what is refused as it was.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from faults.nearest import did_you_mean
from tests.frozen import FROZEN_FILE, Frozen, Killed, measure, names_of_all, read_frozen, seed_of


def main() -> int:
    """Run, compare, and print each difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true", help="write what is measured")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    frozen = read_frozen()
    names = options.names or names_of_all()
    known = names_of_all()
    for name in names:
        if name not in known and not re.fullmatch(r"swarm-\d{1,18}", name):
            parser.error(f"{name}: no such run{did_you_mean(name, known)}")
    with ProcessPoolExecutor(options.jobs) as pool:
        try:
            differing = compare(pool, names, frozen)
        except BrokenPipeError:
            # Such as `| head`: what waits is not run any more, and nothing is left to say it to.
            pool.shutdown(wait=False, cancel_futures=True)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
    if options.write:
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(frozen.items()))
        FROZEN_FILE.write_text(f"{{\n{rows}\n}}\n")
    print(f"{len(names)} runs, {differing} differ")
    return 1 if differing and not options.write else 0


def compare(pool: ProcessPoolExecutor, names: Sequence[str], frozen: dict[str, Frozen | Killed]) -> int:
    """Print how each run ends, put it among the frozen ones, and return how many differ or are refused."""
    differing = 0
    seeds = [seed_of(name, frozen) for name in names]
    for name, now in zip(names, pool.map(attempt, names, seeds), strict=True):
        before = frozen.get(name)
        differing += now != before
        if isinstance(now, str):
            print(f"REFUSED {name} {now}", flush=True)
            continue
        print(f"{'same   ' if now == before else 'DIFFERS'} {name} {now}", flush=True)
        if now != before and before is not None:
            print(f"     was {name} {before}", flush=True)
        frozen[name] = now
    return differing


def attempt(name: str, seed: int) -> Frozen | Killed | str:
    """Return how a run ends, or why there is none: an error that cannot be pickled would break the pool."""
    try:
        return measure(name, seed)
    except Exception as error:  # noqa: BLE001 - whatever it is, the others are still to be run
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
