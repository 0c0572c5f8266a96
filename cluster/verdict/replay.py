"""The comparison of a record with a repetition of its run: events, genesis, blocks, roots, and verdict.

Matching hashes show only that a record was not damaged by accident: a changed record can be sealed again. Only the
repeated run shows the true contents. If the record was made by other code, a difference proves no error. Then the
replay is inconclusive, and names the first change of the code.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import msgspec

from checker.record.cold_replay import load_genesis
from checker.record.errors import ReportedError, on_one_line
from checker.record.fingerprint import Code, CodeChangedError
from checker.record.manifest import MANIFEST, SCENARIO
from checker.record.plugins import PluginError, code_with, plugin_codes
from checker.record.run_directory import (
    BLOCKS,
    BRANCHES,
    GENESIS,
    ROOTS,
    SUMMARIES,
    VERDICT,
    WAITS,
    DamagedRecordError,
    RecordReader,
)
from checker.record.streams import first_difference, iterate_events, read_document
from checker.results import EXIT_CODES, UNFINISHED, CheckResult, verdict_of
from cluster.live.progress import LiveProgress
from cluster.outside.hosting.calls import APPLICATION_CALLS, CallRecord, read_calls
from cluster.scenario.load import decode_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario
from cluster.verdict.executions import RunWitness
from cluster.verdict.pipeline import run_pipeline
from cluster.verdict.result import PipelineResult


class UnfinishedRecordError(ReportedError):
    """A record of a run that was interrupted: no check has judged it, and no other run ends where it does."""

    exit_code = EXIT_CODES["inconclusive"]


CALLS_BYTES_MAX: Final = 2 * 1024**3
"""The longest record of calls in bytes, which is the most that a run keeps in memory."""

CHECK: Final = "replay"
"""The name of the result that says whether the record is the run's."""

_MADE_BY_HAND: Final = ("determinism",)
"""Checks of a record that a replay does not make: they need more than one run."""


def replay_record(
    reader: RecordReader, *, progress: LiveProgress, witnesses: Sequence[RunWitness] = ()
) -> PipelineResult:
    """Run a recorded scenario again, and add the check `replay` to its result; raises what recorded_scenario raises.

    If other code than the record's gives another run, the result has only this check, because all other checks would
    judge a run that was not recorded. `witnesses` see the run.
    """
    scenario = recorded_scenario(reader)
    result = run_pipeline(
        scenario, reader.manifest.seed, runs=None, progress=progress, witnesses=witnesses, calls=recorded_calls(reader)
    )
    difference = _difference_of(reader, result)
    if not is_made_by_this_code(reader):
        return _result_by_other_code(reader, result, difference)
    if reader.verdict().get("reopened"):
        summary = "the run went on with a data directory, and no other run is the same"
        return replace(result, checks=(CheckResult(CHECK, "failed", "inconclusive", summary, (), 1),))
    if isinstance(difference, DamagedRecordError):
        raise difference
    if difference:
        return result.with_check(CheckResult(CHECK, "failed", "determinism", difference, (), 1))
    _compare_verdict(reader, result)
    return result.with_check(_passed(result, ""))


def recorded_calls(reader: RecordReader) -> CallRecord | None:
    """Return the calls of a record's applications, None where it has none; raises CallRecordError."""
    if APPLICATION_CALLS not in reader.manifest.files:
        return None
    encoded = read_document(reader.path, APPLICATION_CALLS, CALLS_BYTES_MAX)
    return read_calls(encoded, str(reader.path / APPLICATION_CALLS))


def checks_of(reader: RecordReader, result: PipelineResult) -> tuple[CheckResult, ...]:
    """Return the checks of a repeated run, and the record's checks that a single run cannot make."""
    made = [check for check in result.checks if check.name != CHECK]
    return (*made, *(check for check in reader.checks() if check.name in _MADE_BY_HAND))


def recorded_scenario(reader: RecordReader) -> Scenario:
    """Return the scenario of a record once all in it was read, so that malformed data is refused before the run.

    Raises:
        UnfinishedRecordError: Its run was interrupted.
        PluginError: A plug-in of its run is not installed.
        CodeChangedError: Other code wrote the record, and this code cannot read it.
        ScenarioError: This code wrote it, and the scenario cannot be read.
        DamagedRecordError: This code wrote it, and another part cannot be read.
    """
    refuse_unfinished(reader)
    # Checked first: without the plug-in the record would be taken for a record of other code.
    try:
        plugin_codes(_plugins_of(reader))
    except PluginError as error:
        raise PluginError(f"{reader.path}: {error}") from None
    with naming_changed_code(reader):
        scenario = decode_scenario(reader.scenario(), str(reader.path / SCENARIO))
        load_genesis(reader.path)
        reader.read_all()
    return scenario


class ForeignStateError(ReportedError):
    """A record with the states of an application, where states of the project's own chain are needed."""


def refuse_foreign(reader: RecordReader) -> None:
    """Raise ForeignStateError for the record of an application, whose blocks only the application can execute."""
    if APPLICATION_CALLS not in reader.manifest.files:
        return
    with naming_changed_code(reader):
        scenario = decode_scenario(reader.scenario(), str(reader.path / SCENARIO))
    if scenario.foreign_application is not None:
        reason = "its states are those of an application, which alone can prove them: `show` has its blocks and roots"
        raise ForeignStateError(f"{reader.path}: {reason}")


def unfinished_line(reader: RecordReader) -> str:
    """Return how far the interrupted run of a record came, and an empty string for a run that was judged."""
    if reader.manifest.verdict != UNFINISHED:
        return ""
    return on_one_line(f"{UNFINISHED}: {reader.verdict().get('headline', 'interrupted')}")


def refuse_unfinished(*readers: RecordReader) -> None:
    """Raise UnfinishedRecordError for the first record of an interrupted run."""
    for reader in readers:
        if line := unfinished_line(reader):
            repeat = on_one_line(str(reader.verdict().get("repeat", "")))
            raise UnfinishedRecordError(f"{reader.path}: {line}; run it to its end with: {repeat}")


@contextmanager
def naming_changed_code(reader: RecordReader) -> Iterator[None]:
    """Raise CodeChangedError where a record cannot be read because other code wrote it."""
    try:
        yield
    except (ScenarioError, DamagedRecordError) as error:
        if is_made_by_this_code(reader):
            raise
        raise CodeChangedError(f"{describe_change(reader)}; {error}") from None


def is_made_by_this_code(reader: RecordReader) -> bool:
    """Return whether the code that wrote a record equals the present code."""
    return reader.manifest.code.fingerprint == _code_for(reader).fingerprint


def _code_for(reader: RecordReader) -> Code:
    return code_with(_plugins_of(reader))


def _plugins_of(reader: RecordReader) -> list[str]:
    return [plugin.name for plugin in reader.manifest.plugins]


def describe_change(reader: RecordReader) -> str:
    """Return that the code changed since a record was made, and from which to which."""
    return f"the code changed since: recorded by {reader.manifest.code}; this is {_code_for(reader)}"


def _result_by_other_code(
    reader: RecordReader, result: PipelineResult, difference: str | DamagedRecordError
) -> PipelineResult:
    if not difference:
        recorded = reader.manifest.verdict
        other = "" if recorded == result.verdict else f", which judged it {recorded}"
        return result.with_check(_passed(result, f", by {reader.manifest.code}{other}"))
    found = f"{difference.place} {difference.reason}" if isinstance(difference, DamagedRecordError) else difference
    summary = f"{describe_change(reader)}; {found}; here the run ends as {result.verdict}"
    return replace(result, checks=(CheckResult(CHECK, "failed", "inconclusive", summary, (), 1),))


def _passed(result: PipelineResult, by_whom: str) -> CheckResult:
    summary = f"the same digest {result.digest.hex()[:16]} as recorded{by_whom}"
    return CheckResult(CHECK, "passed", "determinism", summary, (), 1)


def _difference_of(reader: RecordReader, result: PipelineResult) -> str | DamagedRecordError:
    """Return the first difference of the events, or else the file that is not the fresh run's; nothing without any."""
    if result.digest.hex() == reader.manifest.digest:
        return _foreign_file(reader, result) or ""
    difference = first_difference(reader.events(), iterate_events(bytes(result.log)))
    assert difference is not None, "two digests are of two logs"
    return f"event {difference.index} was {difference.first}, is {difference.second}"


def _foreign_file(reader: RecordReader, result: PipelineResult) -> DamagedRecordError | None:
    if reader.genesis() != msgspec.msgpack.encode(result.genesis):
        return DamagedRecordError(reader.path, GENESIS, "is not the genesis of the recorded scenario")
    recorded = [(block.height, block.digest, block.root, block.block) for block in reader.blocks()]
    finalized = [(each.height, each.digest, each.state_root, each.encoded) for each in result.chain]
    if recorded != finalized:
        return DamagedRecordError(reader.path, BLOCKS, "holds other blocks than the recorded run finalized")
    if [(each.node, each.height, each.digest, each.root) for each in reader.roots()] != result.roots:
        return DamagedRecordError(reader.path, ROOTS, "holds other roots than the recorded run's validators had")
    return _foreign_figures(reader, result)


def _foreign_figures(reader: RecordReader, result: PipelineResult) -> DamagedRecordError | None:
    """Return the first file that only newer records have and that is not the fresh run's."""
    files = reader.manifest.files
    if SUMMARIES in files and list(reader.summaries()) != [each.summary for each in result.chain]:
        return DamagedRecordError(reader.path, SUMMARIES, "holds other numbers than the recorded run's blocks have")
    if WAITS in files and [each.oldest for each in reader.waits()] != result.waits:
        return DamagedRecordError(reader.path, WAITS, "holds other waits than the recorded run's timers had")
    branches = files.get(BRANCHES)
    if branches is not None and branches.sha256 != result.branches:
        return DamagedRecordError(reader.path, BRANCHES, "holds other blocks than its validators executed")
    return None


def _compare_verdict(reader: RecordReader, result: PipelineResult) -> None:
    """Refuse a record whose verdict is not that of its run, judged by the same code; raises DamagedRecordError."""
    document, recorded = reader.verdict(), reader.manifest.verdict
    if reader.manifest.scenario != result.scenario.name:
        raise DamagedRecordError(reader.path, MANIFEST, f"is not named after {SCENARIO}: {result.scenario.name}")
    if document.get("verdict") != recorded:
        raise DamagedRecordError(reader.path, MANIFEST, f"says {recorded}, and {VERDICT} another verdict")
    _compare_checks(reader, result)
    if document.get("figures") != result.figures:
        raise DamagedRecordError(reader.path, VERDICT, "holds other figures than the run has")
    verdict = verdict_of(checks_of(reader, result), result.scenario.expect.fails)
    if recorded != verdict.name:
        raise DamagedRecordError(reader.path, MANIFEST, f"says {recorded}, and the run ends as {verdict.name}")
    if document.get("exit_code") != verdict.exit_code:
        raise DamagedRecordError(reader.path, VERDICT, f"says another exit code than {verdict.exit_code}")


def _compare_checks(reader: RecordReader, result: PipelineResult) -> None:
    """Refuse a verdict with a missing or extra check, or another outcome; raises DamagedRecordError."""
    before, now = _outcomes_of(reader.checks()), _outcomes_of(result.checks)
    if before != now:
        said = ", ".join(each for each in before if each not in now) or "nothing else"
        found = ", ".join(each for each in now if each not in before) or "nothing else"
        raise DamagedRecordError(reader.path, VERDICT, f"says of its checks: {said}; the run has: {found}")


def _outcomes_of(checks: tuple[CheckResult, ...]) -> list[str]:
    return [f"{check.name} {check.status}" for check in checks if check.name not in _MADE_BY_HAND]
