"""Each bad application fails at its first wrong answer, with a sentence that says what is wrong."""

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.outside import process
from cluster.outside.conformance.script import play
from cluster.outside.frames import FRAMINGS
from cluster.outside.process import Launch
from tests.applications.bad_ledger import BUGS
from tests.support.applications import bad_command

FOUND = {
    "lies": ("another process", "of height 7, in another process: root"),
    "hash-order": ("another process", "genesis in another process: root"),
    "clock": ("another process", "of height 1, in another process: root"),
    "time-zone": ("another process", "in another process: root"),
    "no-rollback": ("timers", "neither left nor was deferred"),
    "forgets": ("a kill after each call", "height 0 on resume, 1 was expected: that was answered for"),
    "hangs": ("another process", "`execute`: no answer came in 1,000 ms"),
    "dies": ("another process", "`execute`: it ended with exit status 3; standard error ends with `out of luck`"),
    "floods": ("another process", "`execute`: 16,777,216 bytes came without the end of a line"),
    "banner": ("hello", "request 1, `hello`: the line `welcome to the ledger` is no JSON"),
    "twice": ("hello", "request 2, `transactions`: the answer has n = 1, 2 was expected"),
    "grows": ("propose", "bytes of memory, at most 67,108,864 are allowed"),
    "error": ("another process", "the application answers with the error 'it does not like height 5'"),
    "short-root": ("genesis", "`genesis`: `root` has 31 bytes, 32 were expected"),
    "fires-early": ("timers", "1 before it is due"),
    "loses-timers": ("timers", "neither left nor was deferred"),
    "keeps-counter": ("apply early, and rewind", "of height 3, after a rewind: root"),
    "one-a-height": ("branches", "of height 4, after the branch beside it: root"),
    "second-answer": ("the same request twice", "other events or receipts: 2 events expected, 3 found"),
    "drops-all": ("drop", "`execute`: it ended with exit status 1; standard error ends with"),
}
"""By the name of the bug, the step that fails first, and a part of its sentence."""


def first_failure(name):
    """Return the first failed step of the script that is played against a bug."""
    launch = Launch(command=bad_command(name), folder=PROJECT_ROOT, call_timeout_ms=1_000)
    steps = play(launch, {})
    failed = next((step for step in steps if step.status == "failed"), None)
    steps.close()
    return failed


def test_every_bug_has_its_sentence():
    assert FOUND.keys() == BUGS.keys()


@pytest.mark.parametrize("name", FOUND)
def test_a_bug_is_found_at_its_first_wrong_answer(name, monkeypatch):
    monkeypatch.setattr(process, "RESIDENT_BYTES_MAX", 64 * 2**20)
    failed = first_failure(name)

    step, sentence = FOUND[name]
    assert failed is not None
    assert (failed.step, sentence in failed.summary) == (step, True), failed.summary


def test_the_framings_are_those_of_the_protocol():
    assert list(FRAMINGS) == ["json", "msgpack"]
