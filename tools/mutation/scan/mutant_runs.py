"""A trial is one run that a mutant is tried in, as plain data that goes to a process and comes back.

This file imports nothing that a mutant could be in: the process reads its task before it imports anything else.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

LOADING: Final = "loading"
"""The name of the outcome of a process whose sources cannot be imported."""


LOADED: Final = "loaded"
"""The name of the outcome that says what of the probes ran when the sources were imported."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a mutant is tried in.

    Attributes:
        name: Its name, `swarm-SEED` or that of a shipped scenario.
        seed: The seed.
        scenario: The resolved scenario, encoded.
        cpu_s: Processor seconds after which it is a time-out.
        exit_code: The exit code of the clean run.
        failed: The checks that fail in the clean run.
        digest: The digest of the clean run.
    """

    name: str
    seed: int
    scenario: bytes
    cpu_s: int = 600
    exit_code: int = 0
    failed: tuple[str, ...] = ()
    digest: str = ""


class ChildTask(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one process.

    Attributes:
        sources: Sources by their files, which are relative to the project.
        trials: The runs, in their order; it ends with the first one that differs from the clean run.
        probes: The number of mutants that the sources have probes for; 0 where they are a mutant's.
    """

    sources: Mapping[str, str]
    trials: tuple[Trial, ...]
    probes: int = 0


class TrialOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one run.

    Attributes:
        name: The trial's name.
        exit_code: Its exit code.
        failed: The checks that failed, or `crash` or `time-out`.
        headline: The line that says so.
        digest: The digest of the run; empty where it has no end.
        cpu_ms: Processor milliseconds.
        events: Turns and events of the run.
        reached: Of probed mutants, those whose statement ran.
        differed: Of probed mutants, those that would have made a difference.
    """

    name: str
    exit_code: int = 0
    failed: tuple[str, ...] = ()
    headline: str = ""
    digest: str = ""
    cpu_ms: int = 0
    events: int = 0
    reached: tuple[int, ...] = ()
    differed: tuple[int, ...] = ()

    def killers(self, trial: Trial) -> tuple[str, ...]:
        """Return what went wrong here and not in the clean run."""
        more = tuple(name for name in self.failed if name not in trial.failed)
        return more or (("verdict",) if self.exit_code != trial.exit_code else ())
