"""The builds of a run's application: the way to start each."""

from pathlib import Path

from cluster.outside.frames import FRAMINGS
from cluster.outside.process import Launch, launch_words
from cluster.scenario.sections.application import ApplicationSection


def launches_of(section: ApplicationSection, *, is_live: bool = True) -> dict[str, Launch]:
    """Return by name the way to start each build of an application.

    Args:
        section: The application.
        is_live: Whether the programs have to exist: the answers of a record need none.

    Raises:
        LaunchError: A program does not exist or cannot be run.
    """
    found: dict[str, Launch] = {}
    for build in section.all_builds:
        folder, framing = Path(build.folder), FRAMINGS[build.framing]
        found[build.name] = (
            launch_words(list(build.command), folder, framing, section.call_timeout_ms)
            if is_live
            else Launch(command=build.command, folder=folder, framing=framing, call_timeout_ms=section.call_timeout_ms)
        )
    return found
