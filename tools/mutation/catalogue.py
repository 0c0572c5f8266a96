"""The whole catalogue of mutants; as a program it writes the entry points of those that are the plug-in's."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

from checker.mutants import TEACHING, Mutant
from stampede_mutants import (
    consensus,
    execution,
    hotstuff,
    longest_chain,
    network,
    scheduler,
    state,
    storage,
    test_bed,
)
from tools.mutation import FOLDER, PLUGIN

_FILES: Final = (scheduler, execution, state, consensus, hotstuff, longest_chain, storage, network, test_bed)

ENTRY_POINTS: Final = Path(FOLDER) / "stampede_mutants-1.0.dist-info" / "entry_points.txt"


def _own(file: ModuleType) -> dict[str, Mutant]:
    """Return the mutants that a file of the plug-in defines, by the names of their functions."""
    return {name: each for name, each in vars(file).items() if isinstance(each, Mutant)}


MUTANTS: Final = (*TEACHING.values(), *(mutant for file in _FILES for mutant in _own(file).values()))
"""Every mutant: those of every installation, and those of the plug-in in the order of its files."""

CATALOGUE: Final[Mapping[str, Mutant]] = {mutant.name: mutant for mutant in MUTANTS}
"""Every mutant by its name."""


def plugins_of(mutant: Mutant) -> list[str]:
    """Return the plug-ins that a scenario with a mutant has to name."""
    return [] if mutant.name in TEACHING else [PLUGIN]


def entry_points() -> Iterator[str]:
    """Yield the lines of the plug-in's entry points."""
    yield "[stampede_testbed.mutants]"
    for file in _FILES:
        yield from (f"{mutant.name} = {file.__name__}:{function}" for function, mutant in _own(file).items())


if __name__ == "__main__":
    ENTRY_POINTS.write_text("".join(f"{line}\n" for line in entry_points()), encoding="ascii")
    sys.stdout.write(f"written to {ENTRY_POINTS}\n")
