"""The kinds of faults: the kinds of this folder, and the kinds of plug-ins."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

import msgspec

from faults.kind_registry import KindRegistry, is_kind
from faults.kinds.base import Fault, problem_of

_LISTED_FIRST: Final = (
    *("partition", "cut", "clog", "swizzle_clog", "flapping", "partitions", "isolate_leader", "links"),
    *("rule", "crash", "blackout", "pause", "slow", "crash_at_boundary", "restart_storm", "wipe", "replace"),
    *("disk", "clock", "byzantine"),
)
"""The order of the first files of kinds in lists; further files follow by name."""


def _built_in() -> Iterator[type[Fault]]:
    """Yield every kind that a file of this folder defines."""
    listed = {name: place for place, name in enumerate(_LISTED_FIRST)}
    names = sorted(found.name for found in iter_modules(import_module("faults.kinds").__path__))
    names.remove("registry")
    for name in sorted(names, key=lambda name: listed.get(name, len(listed))):
        module = import_module(f"faults.kinds.{name}")
        yield from (
            each for each in vars(module).values() if is_kind(each, Fault) and each.__module__ == module.__name__
        )


FAULTS: Final = KindRegistry("fault", Fault, ("inject", "span", "describe"), _built_in(), problem_of=problem_of)


def decode_fault(entry: object) -> Fault:
    """Return a fault of a built-in kind from plain data; raises msgspec.ValidationError."""
    fault: Fault = msgspec.convert(entry, FAULTS.union())
    return fault
