"""`application new`: a folder with a working application as a starting point."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checker.record.host import make_folder, naming
from checker.record.places import write_whole
from checker.record.root import PROJECT_ROOT
from cluster.scenario.messages import ScenarioError

EXAMPLES: Final = PROJECT_ROOT / "examples" / "applications"


@dataclass(frozen=True, slots=True)
class Example:
    """An application in a language: its file, and the commands that build it and start it in a folder."""

    file: str
    build: str
    command: str
    framing: str = "json"

    @property
    def options(self) -> tuple[str, ...]:
        """The options of `application check` that it needs."""
        return () if self.framing == "json" else ("--framing", self.framing)


APPLICATIONS: Final = {
    "python": Example("ledger.py", "", "python3 {folder}/ledger.py"),
    "javascript": Example("ledger.mjs", "", "node {folder}/ledger.mjs"),
    "rust": Example(
        "ledger.rs", "rustc --edition 2021 -O -o {folder}/ledger {folder}/ledger.rs", "{folder}/ledger", "msgpack"
    ),
}
"""The examples by language."""

LANGUAGES: Final = tuple(APPLICATIONS)

README: Final = """# A ledger as an outside application of Stampede

`{file}` holds balances and timers, and answers the questions of the test bed on its standard streams. Make it your own.
{build}
    stampede application check '{command}'{options}

plays every call of the protocol against it, with forks, kills and snapshots, and says what is wrong.

    stampede run outage.toml

runs it behind four validators under consensus, two of which are off for a minute while its timers fall due.
`stampede docs application` has the protocol. In a clone of the project the command is `python run_cluster.py`.
"""

SCENARIO: Final = """# Two of four validators are off for a minute: no block has a quorum, and timers fall due.
name = "ledger-outage"
title = "the ledger stands still for a minute while its timers fall due"
requires = ["outage"]

[application]
command = [{words}]
framing = "{framing}"

[chain]
timebase = "slot"

[workload.calls]
kind = "application"
count = 200
every_ms = 100

[faults.outage]
kind = "blackout"
validators = [2, 3]
at_ms = 10_000
restart_ms = 70_000

[run]
until_height = 30
"""


def write_application(folder: Path, language: str) -> tuple[str, ...]:
    """Write a folder with the example of a language and a README; return the names of the files.

    Raises:
        ScenarioError: The folder exists and is not empty, or is no folder.
        OSError: The file system refuses.
    """
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise ScenarioError(str(folder), "is there already, and nothing in it is written over")
    example = APPLICATIONS[language]
    built = example.build.format(folder=".")
    readme = README.format(
        file=example.file,
        build=f"\nBuild it:\n\n    {built}\n\nThen\n" if built else "\nThe command\n",
        command=example.command.format(folder="."),
        options="".join(f" {option}" for option in example.options),
    )
    with naming(folder):
        make_folder(folder)
    write_whole(folder / example.file, (EXAMPLES / language / example.file).read_bytes())
    write_whole(folder / "README.md", readme.encode())
    words = (f'"{word.removeprefix("./") if place else word}"' for place, word in enumerate(_words_of(example)))
    scenario = SCENARIO.format(words=", ".join(words), framing=example.framing)
    write_whole(folder / "outage.toml", scenario.encode())
    return example.file, "README.md", "outage.toml"


def _words_of(example: Example) -> list[str]:
    """Return the command of an example within its folder, which is the working directory."""
    return example.command.format(folder=".").split(" ")
