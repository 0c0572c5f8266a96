"""The performer of consensus effects, and the only place that implements the write-ahead order.

A step's appends go to the journal at once. Its sends go through `Barrier.then` and so leave only after the sync.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import assert_never

from network.codec import Codec
from network.port import Port
from validators.application import Application
from validators.consensus.interface import (
    Adopt,
    Append,
    Build,
    CancelTimer,
    Effect,
    Finalized,
    Judge,
    RecordCodec,
    Relay,
    ReportActivity,
    Send,
    SetAlarm,
    SetTimer,
)
from validators.events import Entered, EvidenceReported, HeadAdopted, Reported
from validators.messages import Message
from validators.outbox import Outbox, trace_certificate
from validators.pruning import JournalPruner
from validators.storage import Barrier, Journal


class EffectRunner:
    """Performs one validator's effects, step by step."""

    def __init__(
        self,
        port: Port,
        codec: Codec[Message],
        records: RecordCodec,
        *,
        journal: Journal,
        barrier: Barrier,
        outbox: Outbox,
        pruner: JournalPruner,
        blame: Callable[[int, str], None],
    ) -> None:
        self._port = port
        self._codec = codec
        self._records = records
        self._journal = journal
        self._barrier = barrier
        self._outbox = outbox
        self._pruner = pruner
        self._blame = blame
        self._steps: deque[list[Effect]] = deque()

    def perform(self, step: list[Effect], application: Application) -> None:
        """Perform one step's effects: all appends first, then the rest in order."""
        records = [effect.record for effect in step if isinstance(effect, Append)]
        for record in records:
            self._journal.append(self._records.encode(record))
        # After all appends, so that one sync covers them. Traced only once durable, because a certificate that a crash
        # loses was never held.
        for record in records:
            self._barrier.then(partial(trace_certificate, self._port, self._records, record))
        self._steps.append(step)
        if len(self._steps) > 1:
            # An effect of an earlier step was answered at once: the other effects of that step come first.
            return
        while self._steps:
            for effect in self._steps[0]:
                self._perform_one(effect, application)
            self._steps.popleft()

    def _report_of(self, report: ReportActivity) -> Reported:
        about = report.activity, report.node, report.view, report.detail
        if not report.evidence:
            return Reported(*about)
        first, second = map(self._codec.encode, report.evidence)
        return EvidenceReported(*about, first, second)

    def _perform_one(self, effect: Effect, application: Application) -> None:  # noqa: C901, PLR0912 - one flat line per kind
        match effect:
            case Append():
                pass
            case Send(to, message):
                self._barrier.then(partial(self._outbox.send, to, message))
            case SetTimer(name, number, after_us):
                self._port.set_timer(("consensus", name, number), after_us)
            case SetAlarm(name, number, at_wall_us):
                self._port.set_alarm(("alarm", name, number), at_wall_us)
            case CancelTimer(name, number):
                self._port.cancel_timer(("consensus", name, number))
            case Build(view, parent):
                application.build(view, parent)
            case Judge(question, ref, parent):
                application.judge(question, ref, parent)
            case Adopt(ref, height, abandoned):
                self._port.trace(HeadAdopted(height, ref.view, ref.digest, abandoned))
                application.adopt(ref)
            case Finalized(finality):
                application.finalize(finality)
                self._pruner.finalized(finality)
            case Entered():
                self._port.trace(effect)
                application.enter(effect.view)
            case Relay(digest, seal):
                application.exchange.seal(digest, seal)
                relay = partial(application.exchange.relay, digest)
                # Before the vote is durable, as in the specification: a block is not a promise. A seal is a promise.
                self._barrier.then(relay) if seal else relay()
            case ReportActivity():
                self._port.trace(self._report_of(effect))
                if effect.evidence:
                    self._blame(effect.node, f"evidence: {effect.activity}")
            case _:
                assert_never(effect)
