"""`make bench`: every benchmark, one after the other, each in a process of its own so that none inherits a heap."""

import subprocess
import sys
from typing import Final

BENCHMARKS: Final = (
    "bench_peers",
    "bench_chain",
    "bench_storm",
    "bench_scheduler",
    "bench_checks",
    "bench_live",
    "bench_state",
    "bench_reorgs",
    "bench_swarm",
)

for name in BENCHMARKS:
    done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False)  # noqa: S603 - our own modules
    if done.returncode:
        sys.exit(done.returncode)
