"""The mutants of this process: the teaching mutants, and the mutants of loaded plug-ins."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from checker.mutants import teaching
from checker.mutants.mutant import Mutant

TEACHING: Final[Mapping[str, Mutant]] = MappingProxyType(
    {each.name: each for each in vars(teaching).values() if isinstance(each, Mutant)}
)
"""Every mutant that needs no plug-in, by its name."""

_MUTANTS: Final = dict(TEACHING)

MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType(_MUTANTS)
"""Every mutant of this process by its name."""

_PLUGINS: Final[dict[str, str]] = {}
"""The plug-in of each mutant from a plug-in."""


def add_mutant(mutant: Mutant, plugin: str) -> None:
    """Add a plug-in's mutant; raises ValueError where the object is no mutant, or its name is taken."""
    if not isinstance(mutant, Mutant):
        raise ValueError(f"{mutant!r} of {plugin} is no mutant: the decorator `mutant` makes one")  # noqa: TRY004 - as for a name
    if _MUTANTS.setdefault(mutant.name, mutant) is not mutant:
        owner = _PLUGINS.get(mutant.name, "the test bed")
        raise ValueError(f"mutant {mutant.name!r} of {plugin} is a mutant of {owner} already")
    _PLUGINS.setdefault(mutant.name, plugin)


def mutants_with(plugins: Collection[str]) -> dict[str, Mutant]:
    """Return the mutants that a scenario with these plug-ins may name, and no mutant of another loaded plug-in."""
    return {name: each for name, each in MUTANTS.items() if _PLUGINS.get(name) in (None, *plugins)}
