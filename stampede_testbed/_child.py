"""The public functions: each starts the command line as a child process and reads the JSON object that it prints."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from stampede_testbed import _command as command
from stampede_testbed._errors import BadInputError, EnvironmentFailedError, StampedeError
from stampede_testbed._results import RunResult, SweepResult, run_result, sweep_result

SWARM: Final = "swarm"
"""The name for scenarios drawn from seeds."""

EXIT_USAGE: Final = 2


def run(
    scenario: str | os.PathLike[str], seed: int = 0, *, runs: str | os.PathLike[str] = "runs", **settings: object
) -> RunResult:
    """Run a scenario in a child process and return its verdict.

    Args:
        scenario: A scenario's name, a path to a .toml file, or `swarm` for a scenario drawn from the seed.
        seed: The seed of the run.
        runs: The folder of run directories, relative to the current folder.
        settings: Keys of the scenario to change, for example `run={"until_height": 20}`, or with dots
            `**{"run.until_height": 20}`.

    Raises:
        BadInputError: The scenario does not exist, or a key or value is invalid.
        EnvironmentFailedError: The machine refused a request, or the test bed failed.
    """
    options = ["--seed", str(seed), "--runs", os.fspath(runs), *_set_options(settings)]
    return run_result(_call(["run", "--json", *options, "--", os.fspath(scenario)]))


def sweep(
    scenario: str | os.PathLike[str],
    seeds: Sequence[int] = range(20),
    *,
    jobs: int | None = None,
    runs: str | os.PathLike[str] = "runs",
    **settings: object,
) -> SweepResult:
    """Run a scenario for many seeds in worker processes, continue an earlier sweep, and group the failures.

    Args:
        scenario: A scenario's name, a path to a .toml file, or `swarm` for a scenario drawn from each seed.
        seeds: Consecutive seeds, for example `range(100)`.
        jobs: The number of worker processes; the number of cores if omitted.
        runs: The folder of the results, and of the run directories of seeds that did not pass.
        settings: Keys of the scenario to change, as for `run`.

    Raises:
        BadInputError: The scenario does not exist, seeds are not consecutive, or a key or value is invalid.
        EnvironmentFailedError: The machine refused a request, or the test bed failed.
    """
    if not seeds or list(seeds) != list(range(seeds[0], seeds[0] + len(seeds))):
        raise BadInputError(
            f"seeds: expected consecutive whole numbers, for example range(100), got {seeds!r}", EXIT_USAGE
        )
    subject = ["--swarm"] if scenario == SWARM else ["--", os.fspath(scenario)]
    options = ["--seeds", f"{seeds[0]}..{seeds[-1]}", *([] if jobs is None else ["--jobs", str(jobs)])]
    options += ["--runs", os.fspath(runs), *_set_options(settings)]
    return sweep_result(_call(["sweep", "--json", *options, *subject]))


def _call(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the JSON object that a command printed; raises StampedeError if it printed no object."""
    # A start by file path and with -P: the current folder and the caller's path must not change its imports.
    command_line = [sys.executable, "-P", command.__file__, *arguments]
    try:
        done = subprocess.run(command_line, capture_output=True, check=False)  # noqa: S603 - our own program, no shell
    except ValueError as error:
        raise BadInputError(f"{error}", EXIT_USAGE) from None
    with suppress(ValueError):
        document: dict[str, Any] = json.loads(done.stdout)
        return document
    lines = done.stderr.decode(errors="replace").strip().splitlines() or ["the process ended without a message"]
    kind = {EXIT_USAGE: BadInputError, command.EXIT_ENVIRONMENT: EnvironmentFailedError}
    raise kind.get(done.returncode, StampedeError)(lines[-1].partition(": ")[2] or lines[-1], done.returncode)


def _set_options(settings: Mapping[str, object]) -> list[str]:
    return [option for key, value in _flatten(settings, "") for option in ("--set", f"{key}={_literal(key, value)}")]


def _flatten(settings: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _literal(key: str, value: object) -> str:
    """Return a value as TOML, which equals JSON for these types; raises BadInputError."""
    entries = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(entry, str | int | float | list | tuple) for entry in entries):
        raise BadInputError(f"{key}: expected a string, number, boolean or a list of these, got {value!r}", EXIT_USAGE)
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise BadInputError(f"{key}: {error}", EXIT_USAGE) from None
