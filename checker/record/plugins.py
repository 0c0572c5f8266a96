"""Plug-ins: packages that bring policies, actors, workloads, faults, checks and mutants of their own.

A distribution that is installed beside the test bed lists its parts as entry points, in the groups below. None of it
is imported before a scenario names the distribution, in `plugins = ["its-name"]`: other packages change no run. The
run's record has the version and a fingerprint of its files, because another version is other code.

Every process that reads the scenario loads its plug-ins. The cold replay reads none: it finds their names beside the
blocks (`plugins_of_record`), and loads the two groups that execution needs.
"""

import hashlib
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from checker.record.errors import ReportedError
from checker.record.fingerprint import Code, PluginCode, this_code
from checker.record.host import refusal_behind
from checker.record.manifest import SCENARIO
from checker.record.program import MUTATION_TOOL
from checker.record.root import PROJECT_ROOT
from checker.record.streams import DamagedRecordError, read_document
from network.plugin_errors import add_sources, describe_error
from scheduler.policies import POLICIES, problem_of, register_policy
from validators.actors.programs import add_actor

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

MUTANTS: Final = "mutants"
"""The group whose code is bad on purpose."""

GROUPS: Final = ("policies", "actors", "workloads", "faults", "checks", MUTANTS)
"""Groups of a plug-in's entry points: `stampede_testbed.policies` and so on, each with the names that scenarios use."""

MUTANTS_PLUGIN: Final = "stampede-mutants"
"""The plug-in with the catalogue of mutants, which is in the repository and not in the wheel."""

WHERE_MUTANTS_ARE: Final = f"in a clone of the repository `{MUTATION_TOOL} COMMAND` runs with it"

SHIPPED: Final = (str(PROJECT_ROOT / "studies" / "plugins"), str(PROJECT_ROOT / "incidents"))
"""The folders of the plug-ins that come with the test bed; they are found without an installation."""

_PREFIX: Final = "stampede_testbed."
_SEPARATORS: Final = re.compile(r"[-_.]+")

Adder = Callable[[str, Any, str], None]
"""Adds to a registry: a name, the object that its entry point names, and the plug-in; raises ValueError."""


def _add_policy(name: str, policy: Any, plugin: str) -> None:  # noqa: ANN401 - it is what is to be found out
    if not (isinstance(policy, type) and getattr(policy, "name", None) == name):
        raise ValueError(f"policy {name!r} of {plugin} is no class with that name")
    if problem := problem_of(policy, POLICIES.values()):
        raise ValueError(f"policy {name!r} of {plugin} {problem}")
    register_policy(policy)


EXECUTION: Final[Mapping[str, Adder]] = MappingProxyType({"policies": _add_policy, "actors": add_actor})
"""The groups that executing a block needs."""


class PluginError(ReportedError):
    """A plug-in that is not installed, cannot be loaded, brings a part that is not allowed, or raised an error."""


class _Named(msgspec.Struct, frozen=True):
    plugins: tuple[str, ...] = ()


class _Plugin(NamedTuple):
    code: PluginCode
    entries: "tuple[EntryPoint, ...]"


def error_of_plugin(error: BaseException) -> str:
    """Return the line about an error that code of a plug-in raised; empty for any other error, like a full disk."""
    if isinstance(error, PluginError):
        return str(error)
    return "" if refusal_behind(error) is not None else describe_error(error)


def canonical_names(names: Collection[str]) -> tuple[str, ...]:
    """Return names of distributions as pip compares them, sorted; raises PluginError where one is named twice."""
    canonical = sorted(_SEPARATORS.sub("-", name).lower() for name in names)
    for first, second in pairwise(canonical):
        if first == second:
            raise PluginError(f"{first} is named twice")
    return tuple(canonical)


def load_plugins(names: Collection[str], adders: Mapping[str, Adder] = EXECUTION) -> None:
    """Add the parts of plug-ins to the registries of this process, which keep all that they have.

    Args:
        names: From `canonical_names`.
        adders: The groups to load, each with the function that adds to its registry.

    Raises:
        PluginError: A plug-in is not installed, cannot be loaded, or brings a part that is not allowed.
    """
    for name in names:
        for entry in _plugin_named(name).entries:
            group = entry.group.removeprefix(_PREFIX)
            if group in adders:
                try:
                    adders[group](entry.name, _load(name, entry), name)
                except ValueError as error:
                    raise PluginError(f"{error}") from None


def objects_of(names: Collection[str], group: str) -> Iterator[Any]:
    """Yield the plug-ins' objects of one group, in the order of their names; raises PluginError."""
    for name in names:
        yield from (_load(name, entry) for entry in _plugin_named(name).entries if entry.group == f"{_PREFIX}{group}")


def plugins_with(group: str, name: str) -> tuple[str, ...]:
    """Return the installed plug-ins that bring a part of this name; nothing of them is loaded."""
    found = ((plugin, entry) for plugin, each in _installed().items() for entry in _entries_of(each))
    return tuple(plugin for plugin, entry in found if (entry.group, entry.name) == (f"{_PREFIX}{group}", name))


def plugins_of_record(directory: Path) -> tuple[str, ...]:
    """Return the plug-ins that the scenario in a run directory names, finished or not; raises DamagedRecordError."""
    if not (directory / SCENARIO).exists():
        return ()
    try:
        return msgspec.json.decode(read_document(directory, SCENARIO), type=_Named).plugins
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise DamagedRecordError(directory, SCENARIO, str(error)) from None


def plugin_codes(names: Collection[str]) -> tuple[PluginCode, ...]:
    """Return version and fingerprint of plug-ins; raises PluginError."""
    return tuple(_plugin_named(name).code for name in names)


def code_with(names: Collection[str]) -> Code:
    """Return the code of a run with these plug-ins: the test bed's and theirs; a plug-in that is gone is left out."""
    code = this_code()
    known = []
    for name in names:
        with suppress(PluginError):
            known.append(_plugin_named(name).code)
    if not known:
        return code
    both = msgspec.json.encode((code.fingerprint, known))
    return code._replace(fingerprint=hashlib.sha256(both).hexdigest())


@cache
def _plugin_named(name: str) -> _Plugin:
    installed = _installed()
    if name not in installed:
        known = ", ".join(sorted(installed)) or "none"
        where = f"; {WHERE_MUTANTS_ARE}" if name == MUTANTS_PLUGIN else ""
        raise PluginError(f"no plug-in named {name} is installed; those that are: {known}{where}")
    found = installed[name]
    entries = tuple(_entries_of(found))
    sources = [source for top in sorted({_top_of(entry) for entry in entries}) for source in _sources_of(top)]
    # A mutant is a mistake on purpose: its errors are those of the validator that it stands in.
    mistakes = {file for entry in entries if entry.group == f"{_PREFIX}{MUTANTS}" for file in _files_of(entry.module)}
    add_sources(name, [source for source in sources if source[0] not in mistakes])
    hasher = hashlib.sha256()
    for relative, path in sources:
        content = path.read_bytes()
        hasher.update(f"{relative}\0{len(content)}\0".encode() + content)
    return _Plugin(PluginCode(name, found.version, len(sources), hasher.hexdigest()), entries)


def _installed() -> "dict[str, Distribution]":
    """Return every distribution on the path with entry points for the test bed; the first of a name counts."""
    # With it come mail, archives and tables: 35 ms of every run, and most name no plug-in.
    from importlib.metadata import distributions  # noqa: PLC0415

    # Last, so that they hide nothing.
    sys.path += [folder for folder in SHIPPED if folder not in sys.path]
    found: dict[str, Distribution] = {}
    for distribution in distributions():
        if _entries_of(distribution):
            (name,) = canonical_names([distribution.name])
            found.setdefault(name, distribution)
    return found


def _entries_of(distribution: "Distribution") -> "list[EntryPoint]":
    ours = {f"{_PREFIX}{group}" for group in GROUPS}
    found = [entry for entry in distribution.entry_points if entry.group in ours]
    return sorted(found, key=attrgetter("group", "name"))


def _load(plugin: str, entry: "EntryPoint") -> object:
    try:
        # Standard output is the verdict's: a word before it, and `--json` prints no JSON.
        with redirect_stdout(sys.stderr):
            return entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a foreign module raises while it is imported
        said = describe_error(error) or f"{type(error).__name__}: {error}"
        raise PluginError(f"{plugin}: {entry.value} cannot be loaded: {said}") from None


def _files_of(module: str) -> tuple[str, str]:
    """Return the names that the source of a module may have among the files of its plug-in."""
    stem = module.replace(".", "/")
    return f"{stem}.py", f"{stem}/__init__.py"


def _top_of(entry: "EntryPoint") -> str:
    return entry.module.partition(".")[0]


def _sources_of(top: str) -> Iterator[tuple[str, Path]]:
    """Yield the sources of a top-level module or package, sorted.

    They are looked up on the path, because the file list of an editable install does not name its sources.
    """
    spec = find_spec(top)
    folders = sorted(spec.submodule_search_locations or []) if spec else []
    for folder in map(Path, folders):
        for path in sorted(folder.rglob("*.py")):
            yield f"{top}/{path.relative_to(folder).as_posix()}", path
    if spec and not folders and spec.origin:
        yield Path(spec.origin).name, Path(spec.origin)
