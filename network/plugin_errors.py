"""Errors that code of a plug-in raises: their place in its sources, for one line instead of a traceback.

The loader of a plug-in registers the plug-in's files. Validators go on or halt over an error of a plug-in, as over any
other error. They note it here for the reader of the run, and nothing in a run depends on a note.
"""

from collections.abc import Iterable
from pathlib import Path
from traceback import walk_tb
from typing import Final

_SOURCES: Final[dict[str, tuple[str, str]]] = {}
"""By path of a source, its plug-in and its name there."""

_NOTED: Final[dict[str, str]] = {}
"""By place, the first error that was noted there."""


def add_sources(plugin: str, sources: Iterable[tuple[str, Path]]) -> None:
    """Register the sources of a plug-in, each by its name in the plug-in and its path."""
    _SOURCES.update({str(path): (plugin, name) for name, path in sources})


def place_of(error: BaseException) -> str:
    """Return type and place of an error: its innermost frame in a plug-in, or else its innermost frame."""
    frame, line = list(walk_tb(error.__traceback__))[-1]
    place = _place_in_plugin(error) or f"{Path(frame.f_code.co_filename).name}:{line}"
    return f"{type(error).__name__} at {place}"


def describe_error(error: BaseException) -> str:
    """Return error, file, line and plug-in in one line; empty if no code of a plug-in took part."""
    found = _error_in_plugin(error)
    return "" if found is None else f"{place_of(found)}: {' '.join(str(found).split())}"


def note_error(error: BaseException) -> None:
    """Keep an error of a plug-in for the reader of the run."""
    if (found := _error_in_plugin(error)) is not None:
        _NOTED.setdefault(place_of(found), describe_error(found))


def take_notes() -> tuple[str, ...]:
    """Return the errors that were noted since the last time, the first at each place."""
    found = tuple(_NOTED.values())
    _NOTED.clear()
    return found


def _error_in_plugin(error: BaseException | None) -> BaseException | None:
    """Return the error, or the first behind it, whose traceback goes through a source of a plug-in."""
    while error is not None and not _place_in_plugin(error):
        error = error.__cause__ or error.__context__
    return error


def _place_in_plugin(error: BaseException) -> str:
    for frame, line in reversed(list(walk_tb(error.__traceback__))):
        if found := _SOURCES.get(frame.f_code.co_filename):
            plugin, name = found
            return f"{name}:{line} in {frame.f_code.co_name} of plug-in {plugin}"
    return ""
