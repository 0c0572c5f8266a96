"""Compare the frozen runs with what they are now: `python -m tests.frozen [--write] [NAME ...]`, all without a name.

A scenario's name, `swarm-SEED` or `mutant-NAME`. Exits 1 if any differs. `--write` writes what is measured instead.
"""

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.frozen import FROZEN_FILE, Frozen, measure, names_of_all, read_frozen, seed_of


def main() -> int:
    """Run, compare, and print each difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true", help="write what is measured")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    frozen = read_frozen()
    names = options.names or names_of_all()
    differing = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        seeds = [seed_of(name, frozen) for name in names]
        for name, now in zip(names, pool.map(measure, names, seeds), strict=True):
            before = frozen.get(name)
            differing += now != before
            print(f"{'same   ' if now == before else 'DIFFERS'} {name} {describe(now)}", flush=True)
            if now != before and before is not None:
                print(f"     was {name} {describe(before)}", flush=True)
            frozen[name] = now
    if options.write:
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(frozen.items()))
        FROZEN_FILE.write_text(f"{{\n{rows}\n}}\n")
    print(f"{len(names)} runs, {differing} differ")
    return 1 if differing and not options.write else 0


def describe(run: Frozen) -> str:
    """Return a run in one line."""
    return f"{run.digest[:16]} {run.verdict}{f' ({run.failed})' if run.failed else ''} seed {run.seed}"


if __name__ == "__main__":
    sys.exit(main())
