"""The process that runs seeds of the swarm in a copy until a run fails: `python -m tools.mutation.blind.runs A..B`.

It judges as `run_cluster.py sweep --swarm` does, and writes one line for each seed. An inconclusive run is none that
failed, and the next seed follows.
"""

import os
import resource
import signal
import sys
from types import FrameType
from typing import Final, NamedTuple, Never

import msgspec

from checker.families import CHECK_OF
from checker.results import EXIT_CODES
from cluster.campaign.sweep import is_thorough
from cluster.campaign.tasks import Task, run_task
from cluster.cli.options import parse_seeds
from cluster.scenario.load import encode_scenario
from cluster.swarm.generator import draw_scenario

CPU_SECONDS_MAX: Final = 180
"""Processor time of one seed; the longest without a bug takes a tenth."""

MEMORY_BYTES_MAX: Final = 4 << 30
"""The address space, so that a bug that fills a list without end does not take the machine with it."""

BROKEN: Final = "test bed"
"""Stands for the check of a run that an exception ended."""

TIME_OUT: Final = "time-out"
"""Stands for the check of a run that does not end."""


class SeedEnd(NamedTuple):
    """The end of one seed: `check` is the check that failed, empty where none did."""

    seed: int
    check: str
    is_conclusive: bool = True


def judge(seed: int) -> SeedEnd:
    """Run one seed, with any failure of an import or a draw as its end."""
    try:
        task = Task(encode_scenario(draw_scenario(seed)), seed, is_thorough=is_thorough(seed))
        result = run_task(task)
    except Exception:  # noqa: BLE001 - a bug may break anything
        return SeedEnd(seed, BROKEN)
    if result.exit_code in {0, EXIT_CODES["inconclusive"]}:
        return SeedEnd(seed, "", is_conclusive=not result.exit_code)
    if result.verdict == "environment":
        return SeedEnd(seed, BROKEN)
    title = result.signature.split(": ")[1]
    return SeedEnd(seed, CHECK_OF.get(title, title.partition("/")[0]))


def main() -> int:
    """Judge seed after seed, and say how each ended."""
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    for seed in parse_seeds(sys.argv[1]):
        timed_out = msgspec.json.encode(SeedEnd(seed, TIME_OUT)) + b"\n"

        def give_up(_signal: int, _frame: FrameType | None, line: bytes = timed_out) -> Never:
            output.write(line)
            # An exception would be caught by what it interrupts.
            os._exit(1)

        signal.signal(signal.SIGPROF, give_up)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS_MAX)
        end = judge(seed)
        output.write(msgspec.json.encode(end) + b"\n")
        if end.check:
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
