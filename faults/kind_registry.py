"""A registry of kinds, built in or added by plug-ins, each known by the tag of its class.

A plug-in's kind decodes only in scenarios that name the plug-in. The swarm draws built-in kinds only, so that an
installed package never changes a seed. Workloads, in a room above, use the same registry.
"""

from collections.abc import Callable, Collection, Iterable
from functools import reduce
from operator import or_
from typing import Any, Final, Generic, TypeGuard, TypeVar

import msgspec

_Kind = TypeVar("_Kind", bound=msgspec.Struct)


def kind_of(entry: msgspec.Struct | type[msgspec.Struct]) -> str:
    """Return the name of a kind in scenario files."""
    return str(entry.__struct_config__.tag or "")


def is_kind(found: object, base: type[_Kind]) -> TypeGuard[type[_Kind]]:
    """Whether an object is a class with its own tag; without a tag msgspec uses the name of the class."""
    return isinstance(found, type) and issubclass(found, base) and kind_of(found) not in {"", found.__name__}


class KindRegistry(Generic[_Kind]):
    """The kinds of entries in a table of a scenario.

    Args:
        word: The name of the table's entries in messages.
        base: The base class of every kind.
        needed: The methods that a kind has to define.
        built_in: The kinds that every scenario knows.
        problem_of: Returns the error in a kind's declarations, or an empty string.
    """

    def __init__(
        self,
        word: str,
        base: type[_Kind],
        needed: Collection[str],
        built_in: Iterable[type[_Kind]],
        *,
        problem_of: Callable[[type[_Kind]], str] = lambda _kind: "",
    ) -> None:
        self._word = word
        self._base = base
        self._needed = needed
        self._problem_of = problem_of
        self._known: dict[str, tuple[str, type[_Kind]]] = {}
        self.built_in: Final = tuple(built_in)
        for kind in self.built_in:
            self.add(kind, plugin="the test bed")

    def add(self, kind: type[_Kind], *, plugin: str) -> None:
        """Add a plug-in's kind; raises ValueError if its name is taken, or it is incomplete."""
        word, base = self._word, self._base
        if not is_kind(kind, base):
            raise ValueError(f"{kind!r} is no kind of {word}: it must be a subclass of {base.__name__} with a tag")
        name = kind_of(kind)
        known = self._known.get(name, (plugin, kind))
        if known != (plugin, kind):
            raise ValueError(f"{word} {name!r} of {plugin} is a kind of {known[0]} already")
        if missing := [method for method in self._needed if getattr(kind, method) is getattr(base, method)]:
            raise ValueError(f"{word} {name!r} of {plugin} has no {' and no '.join(missing)}")
        if problem := self._problem_of(kind):
            raise ValueError(f"{word} {name!r} of {plugin} {problem}")
        self._known[name] = known

    def kinds(self, plugins: Collection[str] = ()) -> tuple[type[_Kind], ...]:
        """Return the built-in kinds, and the kinds that these plug-ins have added."""
        return (*self.built_in, *(kind for _, (plugin, kind) in sorted(self._known.items()) if plugin in plugins))

    def union(self, plugins: Collection[str] = ()) -> Any:  # noqa: ANN401 - a union that is made at run time
        """Return the tagged union of kinds, which decodes an entry of the scenario."""
        return reduce(or_, self.kinds(plugins))

    def named(self, name: str) -> type[_Kind]:
        """Return a kind by its name, of whatever plug-in; raises KeyError."""
        return self._known[name][1]
