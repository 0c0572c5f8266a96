"""Loads the plug-ins that a scenario names: packages of policies, actors, workloads, faults, checks and mutants.

Each registry knows the requirements of its kinds; this file maps groups of entry points to registries.
"""

from collections.abc import Callable, Collection, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, Literal

from checker.checks import DuplicateCheckError, with_plugins
from checker.checks.check import Check
from checker.checks.oracle import EqualOracle
from checker.record import plugins
from checker.record.plugins import EXECUTION, Adder, PluginError, canonical_names, objects_of
from cluster.workloads.registry import WORKLOADS
from faults import FAULTS, kind_of

__all__ = ["PluginError", "checks_with", "load_plugins"]


def load_plugins(names: Collection[str]) -> tuple[str, ...]:
    """Load plug-ins in this process and return their canonical names, sorted; raises PluginError."""
    canonical = canonical_names(names)
    plugins.load_plugins(canonical, ADDERS)
    checks_with(canonical)
    return canonical


def checks_with(plugins: Collection[str], oracle: Literal["on", "off"] = "on") -> tuple[type[Check], ...]:
    """Return the checks of a run with these loaded plug-ins; raises PluginError."""
    try:
        checks = with_plugins(objects_of(plugins, "checks"))
    except DuplicateCheckError as error:
        raise PluginError(str(error)) from None
    return tuple(check for check in checks if oracle == "on" or check is not EqualOracle)


def _adder(add: Callable[..., None], name_of: Callable[[Any], str]) -> Adder:
    """Return the function that adds a kind; the kind's own name must equal its entry point's name."""

    def add_named(name: str, kind: object, plugin: str) -> None:
        add(kind, plugin=plugin)
        if name_of(kind) != name:
            raise ValueError(f"the entry point {name!r} of {plugin} names {name_of(kind)!r}: both must be the same")

    return add_named


def _accept_check(check: object, *, plugin: str) -> None:
    """Refuse an object that is no check; there is no registry, since each run has its own list."""
    if not (isinstance(check, type) and issubclass(check, Check) and hasattr(check, "name")):
        raise ValueError(f"{check!r} of {plugin} is no check: it must be a subclass of Check with a name")
    if check.finish is Check.finish:
        raise ValueError(f"check {check.name!r} of {plugin} has no finish")


def _accept_mutant(mutant: Any, *, plugin: str) -> None:  # noqa: ANN401 - it is what is to be found out
    from checker.mutants import add_mutant  # noqa: PLC0415 - few plug-ins bring any

    add_mutant(mutant, plugin)


ADDERS: Final[Mapping[str, Adder]] = MappingProxyType(
    {
        **EXECUTION,
        "workloads": _adder(WORKLOADS.add, kind_of),
        "faults": _adder(FAULTS.add, kind_of),
        "checks": _adder(_accept_check, attrgetter("name")),
        "mutants": _adder(_accept_mutant, attrgetter("name")),
    }
)
"""By group, the function that adds to its registry."""
