"""Recorded calls are those of the engine, and errors and contradictions in them are kept as they are."""

import pytest

from checker.oracle.consensus import calls
from checker.record.engine_calls import RecordedEngine, RecordedLife
from validators.consensus import interface as seam
from validators.consensus.simplex.kind import SIMPLEX
from validators.consensus.simplex.messages import CertificateRequest


class Stub:
    """An engine whose answers are given."""

    position = seam.Position(3, 1)
    finality = None

    def __init__(self, answer):
        self.answer = answer

    def check(self, _sender, _message):
        return self.answer

    def step(self, _event):
        raise KeyError(self.answer)

    def replay(self, _records, _floor):
        raise seam.CorruptRecordError("not mine")


def recorded(answer):
    life = RecordedLife(SIMPLEX, calls.Life(0, (), False, b"", {}))
    return RecordedEngine(Stub(answer), life, lambda: 7), life


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (seam.MessageCheck(ok=True, reason="", signatures_verified=1), ""),
        (seam.MessageCheck(ok=False, reason="stale", signatures_verified=0), "stale"),
        (seam.MessageCheck(ok=True, reason="stale", signatures_verified=0), "ok=True and reason='stale'"),
        (seam.MessageCheck(ok=False, reason="", signatures_verified=0), "ok=False and reason=''"),
    ],
)
def test_an_answer_is_kept_with_its_contradictions(answer, reason):
    engine, life = recorded(answer)

    assert engine.check(2, CertificateRequest(5)) is answer
    ((at_us, call),) = life.calls()
    assert (at_us, call.sender, call.answer.reason) == (7, 2, reason)
    assert engine.position.view == 3


def test_an_error_is_kept_and_goes_on():
    engine, life = recorded("why")

    with pytest.raises(KeyError, match="why"):
        engine.step(seam.Started())
    with pytest.raises(seam.CorruptRecordError, match="not mine"):
        engine.replay((), None)
    assert [call for _, call in life.calls()] == [
        calls.Raised("step of Started()", "KeyError('why')"),
        calls.Replayed((), None, "not mine"),
    ]
