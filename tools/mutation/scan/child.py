"""The process that runs one mutant, or all probes: it loads given sources in place of those on disk, and runs.

    python -m tools.mutation.scan.child < TASK > OUTCOMES

Nothing of the mutated packages is imported before the finder for the given sources stands, so that constants, tables
and decorators are made from the changed source as well. The replay of the chain is done in this process: a mistake of
the code would be in every process of it. An outcome is written as soon as a run is over, one JSON line each.
"""

import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, FrameType, ModuleType
from typing import IO, Final, Never

import msgspec

from checker.record.root import PROJECT_ROOT
from tools.mutation.scan.counters import Counters
from tools.mutation.scan.mutant_runs import LOADED, LOADING, ChildTask, TrialOutcome

MEMORY_BYTES_MAX: Final = 4 << 30
"""The address space of a mutant, so that one that fills a list without end does not take the machine with it."""


class GivenSources(MetaPathFinder):
    """Finds modules whose sources are given.

    Args:
        sources: Sources by their files, which are relative to the project.
    """

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._files: Final = {_module_of(file): file for file in sources}
        self._sources = sources

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """Return the spec of a module whose source is given."""
        file = self._files.get(fullname)
        if file is None:
            return None
        place = PROJECT_ROOT / file
        folder = [str(place.parent)] if place.name == "__init__.py" else None
        loader = _GivenLoader(fullname, str(place), self._sources[file])
        return spec_from_file_location(fullname, place, loader=loader, submodule_search_locations=folder)


class _GivenLoader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, source: str) -> None:
        super().__init__(fullname, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        """Return the compiled source; no file of compiled code is read or written."""
        return compile(self._source, self.get_filename(fullname), "exec", dont_inherit=True)


def _module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def main(tasks: IO[bytes], outcomes: IO[bytes]) -> int:
    """Run the trials of a task and write an outcome for each."""
    task = msgspec.json.decode(tasks.read(), type=ChildTask)
    sys.meta_path.insert(0, GivenSources(task.sources))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    writer = _Writer(outcomes)
    _begin_limit(600, TrialOutcome(name=LOADING, failed=("time-out",), exit_code=6), writer)
    # Before the import: functions that run at import have probes as well.
    counters = Counters(task.probes)
    counters.install()
    # Here and not above: this imports the packages whose sources are given.
    try:
        from tools.mutation.scan.running import run_trial  # noqa: PLC0415
    except Exception as error:  # noqa: BLE001 - a mutant that breaks the import is a result
        headline = f"{type(error).__name__}: {error}"
        writer.write(TrialOutcome(name=LOADING, exit_code=6, failed=("import",), headline=headline))
        return 0
    if task.probes:
        writer.write(counted(TrialOutcome(name=LOADED), counters))
    for trial in task.trials:
        timed_out = TrialOutcome(name=trial.name, exit_code=6, failed=("time-out",), cpu_ms=1_000 * trial.cpu_s)
        _begin_limit(trial.cpu_s, timed_out, writer)
        counters.take()
        outcome = run_trial(trial)
        writer.write(counted(outcome, counters))
        if not task.probes and outcome.killers(trial):
            break
    return 0


def counted(outcome: TrialOutcome, counters: Counters) -> TrialOutcome:
    """Return an outcome with what was counted since the last time."""
    reached, differed = counters.take()
    return msgspec.structs.replace(outcome, reached=tuple(reached), differed=tuple(differed))


class _Writer:
    """Writes outcomes, a line each."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, outcome: TrialOutcome) -> None:
        """Write one outcome at once: what comes after it may end the process."""
        self._stream.write(msgspec.json.encode(outcome) + b"\n")
        self._stream.flush()


def _begin_limit(seconds: int, timed_out: TrialOutcome, writer: _Writer) -> None:
    """End the process with an outcome when it has used so much processor time from now on; waiting costs nothing."""

    def give_up(_signal: int, _frame: FrameType | None) -> Never:
        writer.write(timed_out)
        # An exception would be caught by what it interrupts.
        signal.raise_signal(signal.SIGKILL)
        raise SystemExit

    signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    # A computation in C lets no handler run; the system ends it.
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard_s = int(used.ru_utime + used.ru_stime) + 2 * seconds + 1
    resource.setrlimit(resource.RLIMIT_CPU, (hard_s, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    _outcomes, sys.stdout = sys.stdout, sys.stderr
    sys.exit(main(sys.stdin.buffer, _outcomes.buffer))
