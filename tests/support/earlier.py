"""Earlier versions of this project against the checkout: engines, journals, snapshots and records, each in the other.

The versions are wheels, built from the repository's history: the first one that speaks the protocol of applications,
and the last one of each earlier VERSION. A combination is good if it works, or if it is refused or explained in a
sentence; all others are breakdowns.
"""

import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten
from typing import Final, NamedTuple

import tomli_w

from checker.record.root import PROJECT_ROOT
from tests.support.wheel import build_wheel, installed_once, run_installed

PROTOCOL: Final = "stampede_testbed/application.py"
"""The file whose first commit is the first version that speaks the protocol."""

VERSIONS: Final = 2
"""The most earlier VERSIONs that are built, beside the first version with the protocol."""

TRIES: Final = 12
"""Commits that are tried for each version: some commits in the middle of a change have no wheel that works."""

LETTERS_MAX: Final = 240
"""The letters that are shown of a good outcome; a bad one is shown in full."""

SECONDS: Final = 300
"""The time for a command, by the wall clock, before it counts as hanging."""

APPLICATION: Final = [sys.executable, "-m", "stampede_testbed.application", "--framing", "msgpack"]
RECORDS: Final = ("calm", "broken-refund")
"""The scenarios whose records are exchanged: one passes, and one fails as expected."""

LOST: Final = re.compile(r"\brequest \d+, `")
"""The words about an application that did not answer: that is no difference, though build and height are named too."""

MANIFEST: Final = "stampede.json"
SHORT: Final = ("--set", "run.until_height=6")


class NoHistoryError(Exception):
    """A checkout from which no earlier version can be made."""


class Done(NamedTuple):
    """A command that has ended; the code is None if it did not end in time."""

    code: int | None
    out: str
    err: str


class Outcome(NamedTuple):
    """Whether the result of a combination is good, and the result in words."""

    is_good: bool
    text: str


class Program(NamedTuple):
    """A version of the project, by the folder that holds its packages."""

    name: str
    folder: Path

    def run(self, *arguments, cwd):
        """Run a command of this version."""
        command = (sys.executable, "-P", "-m", "stampede_testbed", *arguments)
        try:
            done = run_installed(self.folder, *command, cwd=cwd, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return Done(None, "", "")
        return Done(done.returncode, done.stdout, done.stderr)

    @property
    def section(self):
        """The section of a scenario that names its engine; an application is started in its folder."""
        return {"command": APPLICATION, "folder": str(self.folder)}


CHECKOUT: Final = Program("checkout", PROJECT_ROOT)


# Which versions there are.


def git(root: Path, *arguments: str) -> list[str]:
    """Return the lines that git prints; raises NoHistoryError."""
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoHistoryError("the checkout has no history from which to build an earlier version") from error
    return done.stdout.split()


def earlier_commits(root: Path = PROJECT_ROOT) -> Iterator[Sequence[str]]:
    """Yield for each version its commits, the best one first; raises NoHistoryError."""
    if git(root, "rev-parse", "--show-toplevel") != [str(root.resolve())]:
        raise NoHistoryError("the checkout is not a repository, and has no history to build an earlier version from")
    if git(root, "rev-parse", "--is-shallow-repository") == ["true"]:
        raise NoHistoryError("the checkout is a shallow clone, without the history of earlier versions")
    first = git(root, "rev-list", "--first-parent", "HEAD", "--", PROTOCOL)[-1]
    chain = git(root, "rev-list", "--first-parent", "HEAD")
    before = chain[1 : chain.index(first) + 1]
    if not before:
        raise NoHistoryError("the history begins with this version")
    yield before[: -TRIES - 1 : -1]
    for change in git(root, "rev-list", "--first-parent", f"{first}..HEAD", "--", "VERSION")[:VERSIONS]:
        place = chain.index(change)
        yield before[place : place + TRIES]


def build(commit: str, folder: Path) -> Program:
    """Return a version, installed from a wheel that is built from a commit; nothing is fetched."""
    source, archive = folder / commit, folder / f"{commit}.tar"
    git(PROJECT_ROOT, "archive", "--format=tar", f"--output={archive}", commit)
    with tarfile.open(archive) as opened:
        opened.extractall(source, filter="data")
    wheel = build_wheel(folder / "wheels" / commit, source)
    installed = installed_once(wheel)
    return Program(f"{(source / 'VERSION').read_text().strip()} of {commit[:8]}", Path(installed))


def starts(program: Program, folder: Path) -> bool:
    """Return whether a version imports what it needs to run a scenario, and to speak the protocol."""
    protocol = run_installed(program.folder, *APPLICATION, "--help", cwd=folder)
    return protocol.returncode == 0 and program.run("run", "--help", cwd=folder).code == 0


def earlier_programs(folder: Path) -> Iterator[Program | str]:
    """Yield each version that works, or why there is none; raises NoHistoryError."""
    built: dict[str, Program] = {}
    for commits in earlier_commits():
        for commit in commits:
            with suppress(subprocess.CalledProcessError):
                program = built.get(commit) or build(commit, folder)
                if starts(program, folder):
                    break
        else:
            yield f"of {len(commits)} commits from {commits[0][:8]} on, none has a wheel that works"
            continue
        if commit not in built:
            built[commit] = program
            yield program


# What is good.


def breakdown_of(done: Done) -> str:
    """Return how a command broke down; empty if it did not."""
    if done.code is None:
        return f"has not ended after {SECONDS} s"
    if "Traceback (most recent call last)" in done.out + done.err:
        return f"a traceback: {done.err.strip().splitlines()[-1:]}"
    return ""


def refusal_of(done: Done) -> str:
    """Return the sentence by which a command refuses; empty if it does not."""
    said = [line for line in (done.out + done.err).splitlines() if line.startswith(("stampede: ", "run_cluster.py: "))]
    return said[0].partition(": ")[2] if done.code in (2, 3) and len(said) == 1 else ""


def judge_use(done: Done, codes: Sequence[int] = (0,)) -> Outcome:
    """Judge a command that reads what another version wrote: one of these exit codes, or a sentence that refuses."""
    if flaw := breakdown_of(done):
        return Outcome(False, flaw)
    if refusal := refusal_of(done):
        return Outcome(True, f"refused, exit code {done.code}: {refusal}")
    if done.code in codes and done.out.strip():
        return Outcome(True, f"works, exit code {done.code}")
    return Outcome(False, f"exit code {done.code}: {(done.err or done.out).strip()[-300:]}")


def judge_reopened(done: Done) -> Outcome:
    """Judge a run on the data directory of another version: it has to go on with what is there."""
    outcome = judge_use(done)
    if not outcome.is_good or done.code != 0:
        return outcome
    answer = json.loads(done.out)
    return Outcome(bool(answer["reopened"]), answer["headline"] if answer["reopened"] else "it began anew, silently")


def judge_cluster(done: Done) -> Outcome:
    """Judge a run of two builds: equal roots, or a difference that is explained by build and height."""
    if flaw := breakdown_of(done):
        return Outcome(False, flaw)
    if done.code not in (0, 1) or not done.out.strip():
        return Outcome(False, f"exit code {done.code}: {(done.err or done.out).strip()[-300:]}")
    answer = json.loads(done.out)
    if answer["verdict"] == "passed":
        return Outcome(True, answer["headline"])
    said = [answer["headline"], *(each["summary"] for each in answer["checks"] if each["status"] == "failed")]
    if lost := [each for each in said if LOST.search(each)]:
        return Outcome(False, lost[0])
    named = [each for each in said if re.search(r"\b[Bb]uild \w", each) and re.search(r"\b[Hh]eight \d", each)]
    if answer["verdict"] == "safety" and named:
        return Outcome(True, f"a named difference: {named[0]}")
    return Outcome(False, f"{answer['verdict']}, and no build and height are named: {answer['headline']}")


# What is tried.

Step = tuple[str, Outcome]

PLAN: Final = {
    "name": "earlier",
    "title": "two versions of the engine in one cluster",
    "chain": {"timebase": "slot"},
    "workload": {
        "pulse": {"kind": "heartbeats", "actors": 10, "may_be_idle": True},
        "payments": {"kind": "transfers", "accounts": 5, "count": 60},
    },
    "run": {"until_height": 12, "time_limit_ms": 200_000},
}
ALSO: Final = {
    "mixed, replaced, and back": {
        "validators": {node: {"application": {"build": "new"}} for node in ("2", "3")},
        "faults": {
            "there": {"kind": "replace", "build": "new", "validators": [0, 1], "at_ms": 4_000, "restart_ms": 4_400},
            "back": {"kind": "replace", "build": "main", "at_ms": 8_000, "restart_ms": 8_400},
        },
    },
    "an observer of build new joins from snapshots of build main": {
        "observers": {"joiner": {"kind": "snapshot-join", "every_blocks": 4, "application": {"build": "new"}}},
    },
}


def run_cluster(main: Program, new: Program, folder: Path, what: str) -> list[Step]:
    """Run two engines in one cluster of the checkout."""
    application = {**main.section, "framing": "msgpack", "builds": {"new": new.section}}
    (folder / "earlier.toml").write_text(tomli_w.dumps({**PLAN, **ALSO[what], "application": application}))
    done = CHECKOUT.run("run", "earlier.toml", "--json", "--runs", "runs", cwd=folder)
    return [(f"build main of {main.name}, build new of {new.name}, {what}", judge_cluster(done))]


def ask_engine(asking: Program, asked: Program, _folder: Path) -> list[Step]:
    """Let one version go through the protocol with the engine of the other."""
    # The asked engine starts in the folder of its packages, which the asking one neither searches nor hides.
    done = asking.run("application", "check", " ".join(APPLICATION), "--framing", "msgpack", cwd=asked.folder)
    return [(f"application check of {asking.name} asks the engine of {asked.name}", judge_use(done))]


def reopen(first: Program, second: Program, folder: Path) -> list[Step]:
    """Go on with the data directory of another version: as it is, and with its journals under our own manifest."""
    run = ("run", "calm", *SHORT, "--json", "--runs", "runs", "--data-dir")
    made = [judge_use(each.run(*run, place, cwd=folder)) for each, place in ((first, "data"), (second, "own"))]
    if not all(each.is_good for each in made):
        return [(f"data directories of {first.name} and {second.name}", min(made))]
    places = {"the data directory": "data"}
    if (folder / "data" / MANIFEST).read_bytes() != (folder / "own" / MANIFEST).read_bytes():
        # It is refused for its manifest alone, and the other version would not meet the journals.
        places["the journals under its own manifest"] = "renamed"
        shutil.copytree(folder / "data", folder / "renamed")
        shutil.copy(folder / "own" / MANIFEST, folder / "renamed")
    return [
        (f"{second.name} goes on with {what}, by {first.name}", judge_reopened(second.run(*run, place, cwd=folder)))
        for what, place in places.items()
    ]


def read_records(writer: Program, reader: Program, folder: Path) -> list[Step]:
    """Read records of another version with each command that reads one."""
    for name in RECORDS:
        made = judge_use(writer.run("run", name, *SHORT, "--quiet", "--runs", "runs", cwd=folder))
        if not made.is_good:
            return [(f"{name} of {writer.name}", made)]
    calm, broken = (f"runs/{name}-0" for name in RECORDS)
    steps = [("replay", calm), ("explain", broken), ("show", calm, "3"), ("diff", calm, broken)]
    codes = {"diff": (0, 1, 3)}
    return [
        (
            f"{reader.name}: {' '.join(step)}, by {writer.name}",
            judge_use(reader.run(*step, cwd=folder), codes.get(step[0], (0,))),
        )
        for step in steps
    ]


def steps_against(earlier: Program, other: Program = CHECKOUT) -> Iterator[Callable[[Path], list[Step]]]:
    """Yield all that is tried with an earlier version, in both directions; each gets a folder of its own."""
    for pair in ((other, earlier), (earlier, other)):
        yield from (partial(_with_folder, run_cluster, pair, what) for what in ALSO)
        yield from (partial(_with_folder, each, pair) for each in (ask_engine, reopen, read_records))


def _with_folder(step, pair, *more):
    with TemporaryDirectory() as folder:
        return step(*pair, Path(folder), *more)


def run_earlier(jobs: int) -> Iterator[tuple[bool | None, str]]:
    """Try each earlier version against the checkout; yield a line each and whether it is good, None for a skip."""
    with TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        try:
            for program in earlier_programs(Path(folder)):
                if isinstance(program, str):
                    yield False, f"earlier: NOT GOOD: {program}"
                    continue
                for steps in pool.map(lambda step: step(), steps_against(program)):
                    for what, (is_good, text) in steps:
                        shown = shorten(text, LETTERS_MAX) if is_good else f"NOT GOOD: {text}"
                        yield is_good, f"earlier: {what}: {shown}"
        except NoHistoryError as error:
            yield None, f"earlier: skipped: {error}"
