"""The commands of an application and its builds: from the command line or a file into plain data, and to programs.

A program has to exist only where a scenario is read to be run: a record needs none.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from cluster.scenario.messages import ScenarioError
from cluster.scenario.sections.application import MAIN, BuildSection

if TYPE_CHECKING:
    from cluster.scenario.model import Scenario

APPLICATION_OPTION: Final = "--application"
"""The option that names an application on the command line."""

BUILD_OPTION: Final = "--build"
"""The option that names a further build of the application."""

COMMAND_CHARACTERS_MAX: Final = 2_000
"""A longer command is a mistake."""

REPLICA_TABLES: Final = ("validators", "observers")


def place_commands(raw: dict[str, Any], path: Path, application: str | None, builds: Sequence[str]) -> None:
    """Write the command line's application and builds, if any, and the working directories into plain data.

    Args:
        raw: The plain data of a scenario, which changes.
        path: Its file.
        application: The command line of an application in the current folder, instead of the file's own.
        builds: The command lines of builds, as NAME=COMMAND.

    Raises:
        ScenarioError: A command is none.
    """
    folder = path.absolute().parent
    section = raw.get("application")
    if isinstance(section, dict):
        _name_replicas_own(raw, section)
        further = section.get("builds")
        placed = [section] if application is None else []
        for each in [*placed, *(further.values() if isinstance(further, dict) else ())]:
            if isinstance(each, dict) and each.get("command"):
                each.setdefault("folder", recorded_path(folder))
    if application is not None:
        _place(raw.setdefault("application", {}), application, APPLICATION_OPTION)
    for each in builds:
        name, is_named, command = each.partition("=")
        if not is_named or not name:
            raise ScenarioError(f"{BUILD_OPTION} {each!r}", "is not of the form NAME=COMMAND")
        section = raw.get("application")
        if section is None:
            raise ScenarioError(f"{BUILD_OPTION} {each!r}", "is a build of no application: name one by --application")
        if isinstance(section, dict) and isinstance(further := section.setdefault("builds", {}), dict):
            _place(further.setdefault(name, {}), command, f"{BUILD_OPTION} {name}=")


def _place(section: object, command: str, option: str) -> None:
    if isinstance(section, dict):
        section["command"], section["folder"] = _words_of(command, option), recorded_path(Path.cwd())


def _name_replicas_own(raw: dict[str, Any], section: dict[str, Any]) -> None:
    """Make a build of each command that a replica states as its own: `replica-N`."""
    for table in REPLICA_TABLES:
        replicas = raw.get(table)
        for name, replica in replicas.items() if isinstance(replicas, dict) else ():
            own = replica.get("application") if isinstance(replica, dict) else None
            further = section.setdefault("builds", {})
            if isinstance(own, dict) and own.get("command") and "build" not in own and isinstance(further, dict):
                own["build"] = f"replica-{name}"
                further[own["build"]] = {"command": own.pop("command")}


def _words_of(text: str, option: str) -> list[str]:
    if len(text) > COMMAND_CHARACTERS_MAX or not text.isprintable():
        reason = f"must be printable and at most {COMMAND_CHARACTERS_MAX:,} characters"
        raise ScenarioError(option, reason)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ScenarioError(f"{option} {text!r}", f"is no command: {error}") from None
    if not words:
        raise ScenarioError(f"{option} {text!r}", "names no program")
    return words


def recorded_path(path: Path) -> str:
    """Return a path in the form of a record, which is text; raises ScenarioError."""
    try:
        return str(path).encode().decode()
    except UnicodeEncodeError:
        raise ScenarioError(repr(str(path)), "a record cannot hold this path, whose name is no UTF-8") from None


def with_programs(scenario: "Scenario", path: Path, application: str | None, builds: Sequence[str]) -> "Scenario":
    """Return a scenario whose application and builds have the absolute paths of their programs.

    Args:
        scenario: The scenario.
        path: Its file.
        application: The command line's application, if any.
        builds: The command line's builds, as NAME=COMMAND.

    Raises:
        ScenarioError: A program or a folder does not exist.
    """
    section = scenario.application
    if section is None or not section.command:
        return scenario
    options = {each.partition("=")[0]: f"{BUILD_OPTION} {each}" for each in builds}
    options |= {} if application is None else {MAIN: APPLICATION_OPTION}
    placed: dict[str, tuple[str, ...]] = {}
    for build in section.all_builds:
        if build.command:
            key = "application" if build.name == MAIN else f"application.builds.{build.name}"
            place = options.get(build.name, str(path))
            placed[build.name] = _program_of(list(build.command), Path(build.folder), place, key)
    further: dict[str, BuildSection] = {
        name: msgspec.structs.replace(each, command=placed.get(name, ())) for name, each in section.builds.items()
    }
    section = msgspec.structs.replace(section, command=placed[MAIN], builds=further)
    return msgspec.structs.replace(scenario, application=section)


def _program_of(command: list[str], folder: Path, place: str, key: str) -> tuple[str, ...]:
    from cluster.outside.frames import FRAMINGS  # noqa: PLC0415 - few scenarios have an application
    from cluster.outside.process import LaunchError, launch_words  # noqa: PLC0415

    if not folder.is_dir():
        raise ScenarioError(place, f"{key}.folder: there is no folder {folder}")
    try:
        return launch_words(command, folder, FRAMINGS["json"]).command
    except LaunchError as error:
        raise ScenarioError(place, f"{key}.command: {error}") from None


def refuse_unnamed_application(scenario: "Scenario") -> None:
    """Raise ScenarioError for a scenario that needs an application or a build, if no program is named."""
    for build in () if scenario.application is None else scenario.application.all_builds:
        if not build.command and build.name == MAIN:
            raise ScenarioError(scenario.name, f"application.command: name the application by {APPLICATION_OPTION}")
        if not build.command:
            reason = f"application.builds.{build.name}.command: name the build by {BUILD_OPTION} {build.name}=COMMAND"
            raise ScenarioError(scenario.name, reason)


def refuse_application_of_swarm(application: str | None, builds: Sequence[str]) -> None:
    """Raise ScenarioError if an application or a build is named for drawn scenarios."""
    if application is not None or builds:
        reason = "the swarm draws scenarios of the project's own chain; name a scenario such as application/outage"
        raise ScenarioError(BUILD_OPTION if application is None else APPLICATION_OPTION, reason)
