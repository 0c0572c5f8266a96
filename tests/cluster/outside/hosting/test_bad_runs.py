"""A run with a bad application fails by the name of its bug, in the right family, at its first wrong answer."""

import re
from functools import partial

import pytest

from checker.families import by_family
from cluster.live.progress import LiveProgress
from cluster.outside import process
from cluster.outside.hosting.planning import UnusableApplicationError
from cluster.verdict.pipeline import run_pipeline
from tests.support.applications import bad_command, small_application_run
from tests.support.keystones import rest_in_soak

KEPT = ("clock", "no-rollback", "forgets", "dies", "second-answer", "loses-timers")

WITHIN = (
    ("lies", "equal-roots", "equal-roots", r"at height 7: validator \d has root .*, validator \d has 000000000000"),
    ("hash-order", "equal-roots", "cold-replay", r"^replay from genesis fails: height 0"),
    ("clock", "equal-roots", "application", r"(is not deterministic at request \d+|has two answers: root)"),
    (
        "time-zone",
        "equal-roots",
        "application",
        r"^the application is not deterministic at request \d+ of process 0, `",
    ),
    ("no-rollback", "equal-roots", "equal-roots", r"at height 1: validator \d has root"),
    (
        "forgets",
        "equal-roots",
        "application",
        r"^the application kept height \d+ .* over a restart; height \d+ with .* was",
    ),
    ("hangs", "equal-roots", "application", r"crashes on the block of height 5 again: .*no answer came in 900 ms"),
    ("dies", "equal-roots", "application", r"crashes on the block of height 5 again: .*exit status 3; .*`out of luck`"),
    ("floods", "equal-roots", "application", r"crashes on the block of height 5 again: .*without the end of a line"),
    ("error", "equal-roots", "application", r"crashes on the block of height 5 again: .*'it does not like height 5'"),
    ("second-answer", "equal-roots", "application", r"^`execute` of the block of height \d+ has two answers: root"),
    (
        "grows",
        "liveness",
        "application-lives",
        r"^validators \d, \d.* lost the application for good \(f = 1\); .*bytes of memory",
    ),
    ("fires-early", "timers", "told-timers", r"^height \d+: timer '4' fires at \d+, 1 before it is due"),
    (
        "loses-timers",
        "timers",
        "told-timers",
        r"^height \d+: timer '4' was due at \d+, and neither left nor was deferred",
    ),
)


SETTINGS = {
    # Three losses of a replica, each at another block, take longer.
    "grows": ["run.until_height=21"],
    # A busy machine takes its time for an answer too.
    "hangs": ["application.call_timeout_ms=900"],
}


@pytest.mark.parametrize(
    ("bug", "family", "part", "sentence"),
    rest_in_soak(WITHIN, [case for case in WITHIN if case[0] in KEPT]),
    ids=[case[0] for case in WITHIN],
)
def test_a_run_names_the_bug(bug, family, part, sentence, monkeypatch):
    monkeypatch.setattr(process, "RESIDENT_BYTES_MAX", 64 * 1024**2)
    result = run(bug, *SETTINGS.get(bug, ()))

    failed = {check.name: check.summary for check in result.checks if check.status == "failed"}
    assert re.search(sentence, failed[part]), failed
    assert family in [each.name for each in by_family(result.checks) if each.status == "failed"]
    assert result.verdict == "safety"


def test_a_bug_in_abandoning_a_block_shows_where_a_validator_lies():
    """A block that claims another root is executed, compared and dropped; the bug drops all blocks with it."""
    lie = 'faults.lie={kind="byzantine",validator=0,behaviour="forge-block",what="state-root",start_ms=0,stop_ms=50000}'
    result = run("drops-all", "run.until_height=40", lie)

    failed = {check.name: check.summary for check in result.checks if check.status == "failed"}
    assert re.search(r"^validators 1, 2 lost the application for good .*exit status 1", failed["application-lives"])
    assert result.verdict == "liveness"


@pytest.mark.parametrize(
    ("bug", "sentence"),
    [
        ("banner", r"request 1, `hello`: the line `welcome to the ledger` is no JSON"),
        ("twice", r"request 2, `transactions`: the answer has n = 1, 2 was expected"),
        ("short-root", r"request 2, `genesis`: `root` has 31 bytes, 32 were expected"),
    ],
)
def test_what_shows_at_the_first_answers_is_refused_before_the_run(bug, sentence):
    with pytest.raises(UnusableApplicationError, match=sentence):
        run(bug)


def run(bug, *settings):
    scenario = small_application_run(bad_command(bug), *settings)
    with LiveProgress(title=bug, is_quiet=True) as progress:
        return partial(run_pipeline, runs=None, progress=progress)(scenario, 0)
