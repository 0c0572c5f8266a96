"""Hostile files and records against every command: a case is a command line in a folder with one thing wrong.

It has to end within ten seconds beyond what the command takes when all is well, with an exit code of the table, within
1 GiB; it prints no traceback, nothing that speaks to a terminal, JSON where JSON was asked for; and it changes nothing
but what its command line names.
"""

import functools
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from checker.record.root import PROJECT_ROOT
from cluster.differential.case_files import FORMAT, CaseFile, write_case
from cluster.differential.chain_draws import DrawnChain
from cluster.incidents.incident import incident_files
from tests.hardening.command_lines import LINES, READ_ONLY, SHORT, FileArgument, file_arguments, typed, written_by
from tests.hardening.fields import tamperings
from tests.hardening.places import INSIDE, PLACES, link_to_a_folder
from tests.support.fixtures import case_of, write_cases
from tests.support.study_text import SMALL

EXIT_CODES = {0, 1, 2, 3, 4, 5, 6, 130}
HANG_S = 10.0
"""A hang: so long without work, or so much more of it than the command has when nothing is wrong."""

POLL_S = 0.1
BYTES_MAX = 1 << 30
ADDRESSES_MAX = 8 << 30
"""A process that asks for so much gets none, so that no case takes the machine."""

SERVES_S = 3.0
"""A server is interrupted after so long."""

SPOT = "spot.toml"
"""The name of what is hostile; by its ending it is the path of a scenario where a name could stand too."""

RECORD_LINES = (
    *("replay", "explain", "show", "diff", "export", "export of tables", "export of a log", "prove", "verify"),
    *("shrink", "curve", "fixtures of a run"),
)
BESIDE_A_RECORD = re.compile(
    r"(spot\.toml|record|other)(/report\.html|-shrunk\.toml)|diff-[^/]*\.html|index\.html|tmp/stampede-[0-9]+"
)
"""Pages and plans that commands write in and beside the record that they read, and the folder that replays empty."""

Prepare = Callable[[Path], Mapping[str, str]]
"""Makes the one thing that is wrong in a folder, and returns the values of the arguments that name it."""


class Case(NamedTuple):
    """A command line, one thing that is wrong, and whether JSON is asked for."""

    line: str
    what: str
    prepare: Prepare
    is_json: bool = False

    def __str__(self) -> str:
        return f"{self.line}{' --json' * self.is_json}; {self.what}"


class Ended(NamedTuple):
    """One process: its exit code, negative for a signal, output, seconds, and greatest size in bytes."""

    code: int
    out: bytes
    err: bytes
    seconds: float
    bytes_max: int
    is_hung: bool


def make_template(place: Path, *, is_whole: bool = True) -> Path:
    """Fill a folder with all that the command lines name, and return it; a brief one has a record and a proof."""
    place.mkdir()
    for name in ("outside", "plans", "tmp", "runs"):
        (place / name).mkdir()
    (place / "outside" / "file").write_text("mine")
    plan = f'name = "plan"\ntitle = "Nothing goes wrong."\n[run]\nuntil_height = {SHORT[-1]}\n'
    (place / "study.toml").write_text(SMALL, encoding="utf-8")
    shutil.copyfile(incident_files()["n12-zero-cost"], place / "incident.toml")
    for name in ("plan.toml", "plans/plan.toml"):
        (place / name).write_text(plan)
    for seed, name in enumerate(("record", "other") if is_whole else ("record",)):
        setting = ("--set", f"{SHORT[:-1]}3", "--seed", str(seed))
        _run(["run", "broken-refund", *setting, "--quiet", "--runs", "made"], place)
        (place / "made" / f"broken-refund-{seed}").rename(place / name)
    shutil.rmtree(place / "made")
    _run(["prove", "record", "2", "burned", "--out", "proof.json"], place)
    case, _ = next(DrawnChain(0, "fifo").blocks())
    write_case(place / "case.json", CaseFile(format=FORMAT, shows="no difference", case=case))
    write_cases(place / "cases", case_of())
    if is_whole:
        _run(typed("run", {"--runs": "made"}), place)
        _run(typed("sweep", {"--runs": "made", "--junit": "made/x.xml", "--failing": "runs"}), place)
        _run(typed("differential", {"--runs": "made"}), place)
        shutil.rmtree(place / "made")
    return place


def _run(words: Sequence[str], place: Path) -> None:
    done = _end(words, place, 600.0)
    assert done.code == 0, f"{' '.join(words)}: {done.err.decode()}"


# -- cases -------------------------------------------------------------------------------------


def cases(template: Path) -> list[Case]:
    """Return every case of a file in a fixed order: each file argument, and each file inside a folder."""
    return _with_json(chain(_cases_of_arguments(), _cases_inside(template)))


def cases_of_records(template: Path) -> list[Case]:
    """Return every case of a record that was changed and sealed, in a fixed order."""
    return _with_json(_cases_of_fields(template))


def _with_json(found: Iterable[Case]) -> list[Case]:
    return [case._replace(is_json=is_json) for case in found for is_json in (False, True)]


def lines_of(argument: FileArgument) -> list[str]:
    """Return the command lines that have a file argument."""
    return [line for line, values in LINES.items() if line.split()[0] == argument.command and argument.name in values]


def _cases_of_arguments() -> Iterator[Case]:
    for argument in file_arguments():
        for line in lines_of(argument):
            for make in PLACES:
                yield Case(line, f"{argument.name} is {make.__name__}", functools.partial(_at, argument.name, make))


def _at(name: str, make: Callable[[Path], str], folder: Path) -> Mapping[str, str]:
    return {name: make(folder / SPOT)}


def _cases_inside(template: Path) -> Iterator[Case]:
    """Yield the cases of a folder that is as it has to be but for one of its files."""
    for line, name, folder in (
        *((line, _record_argument(line), "record") for line in RECORD_LINES),
        *(("run", "--data-dir", "data"), ("sweep", "--failing", "plans"), ("fixtures", "--fixtures", "cases")),
    ):
        for path in sorted((template / folder).rglob("*")):
            if path.is_file() and path.name != "report.html":
                within = str(path.relative_to(template / folder))
                for make in INSIDE:
                    prepare = functools.partial(_inside, name, folder, within, make=make)
                    yield Case(line, f"{folder}/{within} is {make.__name__}", prepare)


def _inside(name: str, source: str, within: str, folder: Path, *, make: Callable[[Path], str]) -> Mapping[str, str]:
    (folder / source).rename(folder / SPOT)
    path = folder / SPOT / within
    path.unlink()
    make(path)
    return {name: SPOT}


def _record_argument(line: str) -> str:
    return next(name for name in LINES[line] if name in READ_ONLY and LINES[line][name] in {"record", "other"})


def _cases_of_fields(template: Path) -> Iterator[Case]:
    for tampering in tamperings(template / "record"):
        for line in RECORD_LINES:
            yield Case(line, str(tampering), functools.partial(_tampered, _record_argument(line), tampering.apply))


def _tampered(name: str, change: Callable[[Path], None], folder: Path) -> Mapping[str, str]:
    (folder / "record").rename(folder / SPOT)
    change(folder / SPOT)
    # A second run in a comparison has to be another one.
    return {name: SPOT} | ({"second": "other"} if name == "first" else {})


# -- one case ----------------------------------------------------------------------------------


def flaws_of(case: Case, template: Path, usual_s: float) -> list[str]:
    """Run a case in a copy of the folder and return what is wrong with how it ended."""
    with tempfile.TemporaryDirectory() as made:
        folder = shutil.copytree(template, Path(made) / "folder", symlinks=True)
        values = case.prepare(folder)
        words = [*typed(case.line, values), *["--json"] * case.is_json]
        before = _listing(folder)
        ended = _end(words, folder, usual_s + HANG_S)
        after = _listing(folder)
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        named = written_by(case.line, values)
        # A link to a folder stands for the folder, as a user has it whose runs are on another disk.
        named += ["outside"] * case.what.endswith(f" is {link_to_a_folder.__name__}")
        flaws = [*_flaws_of_end(ended, is_json=case.is_json), *_flaws_of_folder(changed, named)]
        _open_all(folder)
    return flaws


def _flaws_of_end(ended: Ended, *, is_json: bool) -> Iterator[str]:
    said = ended.out.decode(errors="replace") + ended.err.decode(errors="replace")
    if ended.is_hung:
        yield f"hangs: {ended.seconds:.1f} s"
    elif ended.code not in EXIT_CODES:
        yield f"ends with {ended.code}"
    if ended.bytes_max > BYTES_MAX:
        yield f"takes {ended.bytes_max >> 20:,} MiB"
    yield from (
        f"prints {sign!r}: {_line_with(sign, said)}" for sign in ("Traceback", "the test bed broke") if sign in said
    )
    if not said.replace("\n", "").isprintable() or re.search("^::error::forged", said, re.MULTILINE):
        yield "speaks to the terminal"
    if is_json and ended.out and not ended.is_hung:
        try:
            json.loads(ended.out)
        except ValueError as error:
            yield f"prints no JSON: {error}"


def _line_with(sign: str, said: str) -> str:
    lines = said.splitlines()
    return (lines[-1] if sign == "Traceback" else next(line for line in lines if sign in line))[-200:]


def _flaws_of_folder(changed: set[str], named: Sequence[str]) -> Iterator[str]:
    for name in sorted(changed):
        # A path without a name is the folder itself.
        is_named = any(name == each or name.startswith(f"{each}/" * bool(each)) for each in named)
        if not is_named and not BESIDE_A_RECORD.fullmatch(name):
            yield f"changes {name!r}"


def _listing(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return type, mode, size and content of all that stands in a folder; of links where they lead."""
    found: dict[str, tuple[object, ...]] = {}
    for at, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(at, name)
            state = path.lstat()
            content = str(path.readlink()) if path.is_symlink() else ""
            if not content and path.is_file() and state.st_size < BYTES_MAX and os.access(path, os.R_OK):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            size = 0 if path.is_dir() and not content else state.st_size
            found[str(path.relative_to(folder))] = (state.st_mode, size, content)
    return found


def _open_all(folder: Path) -> None:
    """Let what may not be read be removed."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES_MAX, ADDRESSES_MAX))
    resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES_MAX, BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # A campaign in the background of a shell ignores Ctrl-C, and so would its commands.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end(words: Sequence[str], folder: Path, limit_s: float) -> Ended:
    """Run a command in a folder until it ends, computes for longer than its limit, or waits for nothing."""
    command = [sys.executable, str(PROJECT_ROOT / "run_cluster.py"), *words]
    environment = os.environ | {"TMPDIR": str(folder / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment,
            start_new_session=True,
            preexec_fn=_limit,  # noqa: PLW1509 - it takes no lock
        )
        meter = _Meter(process.pid)
        is_hung, is_served = False, words[0] != "serve"
        while not (waited := os.wait4(process.pid, os.WNOHANG))[0]:
            meter.look()
            if not is_served and meter.idle_s > SERVES_S:
                is_served = True
                os.kill(process.pid, signal.SIGINT)
            elif meter.idle_s > HANG_S or meter.busy_s > limit_s:
                is_hung = True
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(POLL_S)
        process.returncode = os.waitstatus_to_exitcode(waited[1])
        out.seek(0)
        err.seek(0)
        taken_s = meter.idle_s + meter.busy_s
        return Ended(process.returncode, out.read(), err.read(), taken_s, waited[2].ru_maxrss << 10, is_hung)


class _Meter:
    """Seconds that a process and its children waited, and computed; what others take of a busy machine is neither."""

    def __init__(self, session: int) -> None:
        self._session = str(session)
        self._looked = time.perf_counter()
        self.idle_s = 0.0
        self.busy_s = 0.0

    def look(self) -> None:
        """See whether any of them is at work."""
        now = time.perf_counter()
        states, ticks = [], 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                # The name of a program stands in parentheses and may hold anything.
                state, _, _, session, *rest = path.read_text().rpartition(") ")[2].split()
                if session == self._session:
                    states.append(state)
                    ticks += int(rest[7]) + int(rest[8])
        self.busy_s = max(self.busy_s, ticks / os.sysconf("SC_CLK_TCK"))
        if not {"R", "D"} & {*states}:
            self.idle_s += now - self._looked
        self._looked = now


# -- the campaign ------------------------------------------------------------------------------


def run_campaign(count: int, seed: int, jobs: int) -> Iterator[str]:
    """Run every command line with nothing wrong, then so many cases, half of them of records; yield the flaws."""
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(jobs) as pool:
        template = make_template(Path(made) / "template")
        usual_s: dict[str, float] = {}
        for line in LINES:
            usual_s[line], flaws = control(line, template)
            yield from (f"{line}; nothing is wrong: {flaw}" for flaw in flaws)
        drawn = [
            case
            for every in (cases(template), cases_of_records(template))
            for case in sorted(every, key=lambda case: hashlib.sha256(f"{seed} {case}".encode()).digest())[: count // 2]
        ]
        judged = pool.map(lambda case: flaws_of(case, template, usual_s[case.line]), drawn)
        for case, flaws in zip(drawn, judged, strict=True):
            yield from (f"{case}: {flaw}" for flaw in flaws)


def control(line: str, template: Path) -> tuple[float, list[str]]:
    """Return how long a command line takes when nothing is wrong, and what is wrong nevertheless."""
    with tempfile.TemporaryDirectory() as made:
        folder = shutil.copytree(template, Path(made) / "folder")
        ended = _end(typed(line, {}), folder, 600.0)
    flaws = [*_flaws_of_end(ended, is_json=False)]
    return ended.seconds, flaws + [f"is refused: {ended.err[-200:]!r}"] * (ended.code == 2)
