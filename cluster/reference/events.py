"""The reference of events, read off their types: as a program it prints docs/events.md."""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import get_annotations
from pkgutil import walk_packages
from typing import Any, Final, TypeVar, get_args, get_origin

import msgspec

import faults
import network
import validators
from network.events import TraceEvent
from validators.execution.receipts import ChainEvent

_PAGE_HEAD: Final = """\
# Events

Every event of a run and of its chain, with its values.
`python -m cluster.reference.events > docs/events.md` writes this page from the code; do not edit it.

## Of the log

All of them are a run's log, and its SHA-256 is the run's digest. Each is `[microsecond, replica, kind, values ...]`, a
replica of -1 being the supervisor; `export RUN parquet` has them as rows. [extend/event.md](extend/event.md) says how
to write and read one."""

_CHAIN_HEAD: Final = """\
## Of the chain

The events of receipts, to which each block's header commits ([chain.md](chain.md)); numbers are their tags."""

_Kind = TypeVar("_Kind")

_MODULE: Final = re.compile(r"\b(?:\w+\.)+(\w+)")


def page() -> Iterator[str]:
    """Yield the lines of docs/events.md."""
    yield from _PAGE_HEAD.splitlines()
    for room, events in events_by_room().items():
        yield from ("", f"### `{room}`", "")
        yield from (f"- `{each.kind}` {_fields(each)}: {_described(each)}" for each in events)
    yield from ("", *_CHAIN_HEAD.splitlines(), "")
    tagged = sorted(get_args(ChainEvent), key=lambda kind: int(kind.__struct_config__.tag))
    yield from (
        f"- {kind.__struct_config__.tag} `{kind.__name__}` {_fields(kind)}: {_described(kind)}" for kind in tagged
    )


def events_by_room() -> dict[str, list[type[TraceEvent]]]:
    """Return every event of the log by the module that it stands in, in the order of the code."""
    for package in (network, validators, faults):
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.endswith(".events"):
                import_module(found.name)
    rooms: dict[str, list[type[TraceEvent]]] = {}
    for event in below(TraceEvent):
        rooms.setdefault(event.__module__.replace(".", "/") + ".py", []).append(event)
    own = {name: rooms[name] for name in sorted(rooms) if name.split("/")[0] in ("network", "validators", "faults")}
    assert len(own) > 1, "events stand in more than one room"
    return own


def below(kind: type[_Kind]) -> Iterator[type[_Kind]]:
    """Yield all types that derive from a type, in the order of the code."""
    for each in kind.__subclasses__():
        yield each
        yield from below(each)


def _fields(kind: type[msgspec.Struct]) -> str:
    names = [field.name for field in msgspec.structs.fields(kind)]
    return f"({', '.join(f'`{name}` {_typed(kind, name)}' for name in names)})" if names else "()"


def _typed(kind: type[msgspec.Struct], name: str) -> str:
    for base in kind.__mro__:
        annotation: Any = get_annotations(base).get(name)
        if annotation is not None:
            return _shown(annotation)
    return ""


def _shown(annotation: Any) -> str:  # noqa: ANN401 - an annotation has no type with a name
    if annotation is Ellipsis:
        return "..."
    if get_origin(annotation) is tuple:
        return f"[{', '.join(_shown(each) for each in get_args(annotation))}]"
    return _MODULE.sub(r"\1", annotation.__name__ if isinstance(annotation, type) else str(annotation))


def _described(kind: type) -> str:
    return " ".join((kind.__doc__ or "").replace("``", "`").split())


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in page()))
