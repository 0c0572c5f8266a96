"""The kinds of faults that there are: those of this folder, and those that plug-ins have added.

A plug-in's kind decodes in scenarios that name the plug-in and in no others. The swarm draws built-in kinds only, so
that an installed package never changes a seed.
"""

from collections.abc import Collection, Iterator
from functools import reduce
from importlib import import_module
from operator import or_
from pkgutil import iter_modules
from typing import Any, Final

import msgspec

from faults.kinds.base import Fault

_LISTED_FIRST: Final = (
    *("partition", "cut", "clog", "swizzle_clog", "flapping", "isolate_leader", "links", "rule"),
    *("crash", "blackout", "pause", "slow", "crash_at_boundary", "restart_storm", "wipe"),
    *("disk", "clock", "byzantine"),
)
"""The order in which files of kinds are listed; others follow by name."""


def kind_of(fault: Fault | type[Fault]) -> str:
    """Return the name of a fault's kind in scenario files."""
    return str(fault.__struct_config__.tag or "")


def _built_in() -> Iterator[type[Fault]]:
    """Yield every kind that a file of this folder defines."""
    listed = {name: place for place, name in enumerate(_LISTED_FIRST)}
    names = sorted(found.name for found in iter_modules(import_module("faults.kinds").__path__))
    names.remove("registry")
    for name in sorted(names, key=lambda name: listed.get(name, len(listed))):
        module = import_module(f"faults.kinds.{name}")
        for found in vars(module).values():
            if _is_kind(found) and found.__module__ == module.__name__:
                yield _sound(found)


def _is_kind(found: object) -> bool:
    """Whether an object is a class with the name of a kind; without one msgspec gives it that of the class."""
    return isinstance(found, type) and issubclass(found, Fault) and kind_of(found) != found.__name__


def _sound(kind: type[Fault]) -> type[Fault]:
    """Return a kind; raises ValueError for one that could not be put to work."""
    if not _is_kind(kind):
        raise ValueError(f"{kind!r} is no kind of fault: it must be a subclass of Fault with a tag")
    missing = [name for name in ("inject", "span", "describe") if getattr(kind, name) is getattr(Fault, name)]
    if missing:
        raise ValueError(f"fault {kind_of(kind)!r} has no {' and no '.join(missing)}")
    return kind


BUILT_IN: Final[tuple[type[Fault], ...]] = tuple(_built_in())

_ADDED: dict[str, tuple[str, type[Fault]]] = {}
"""Kinds of plug-ins by their names, each with its plug-in."""


def add_fault(kind: type[Fault], *, plugin: str) -> None:
    """Add a plug-in's kind; raises ValueError if another kind has the name, or the class could not be put to work."""
    name = kind_of(_sound(kind))
    taken = {kind_of(each): ("the test bed", each) for each in BUILT_IN} | _ADDED
    if name in taken and taken[name] != (plugin, kind):
        raise ValueError(f"fault {name!r} of {plugin} is a kind of {taken[name][0]} already")
    _ADDED[name] = (plugin, kind)


def fault_kinds(plugins: Collection[str] = ()) -> tuple[type[Fault], ...]:
    """Return the built-in kinds, and those that these plug-ins have added."""
    return (*BUILT_IN, *(kind for _, (plugin, kind) in sorted(_ADDED.items()) if plugin in plugins))


def fault_union(plugins: Collection[str] = ()) -> Any:  # noqa: ANN401 - a union that is made at run time
    """Return the tagged union of kinds, which decodes an entry of `[faults]`."""
    return reduce(or_, fault_kinds(plugins))


def decode_fault(entry: object) -> Fault:
    """Return a fault of a built-in kind from plain data; raises msgspec.ValidationError."""
    fault: Fault = msgspec.convert(entry, fault_union())
    return fault


def kind_named(name: str) -> type[Fault]:
    """Return a kind by its name, of whatever plug-in; raises KeyError."""
    return {kind_of(kind): kind for kind in BUILT_IN}.get(name) or _ADDED[name][1]
