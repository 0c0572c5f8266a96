"""The calls of a replica's consensus engine, kept in their order for the specification that follows them.

The engine's kind is wrapped where the cluster makes a replica's settings, outside everything that a mutant replaces.
Calls are kept as they are, and become plain data when they are read: a run pays for a list of tuples only.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

import msgspec

from checker.oracle.consensus import calls
from network.types import Digest, NodeId
from validators.consensus import interface as seam
from validators.consensus.kind import EngineKind, SealCheck
from validators.consensus.signing import Scheme
from validators.derived import Derived
from validators.events import Entered

_encode_message: Final = msgspec.msgpack.Encoder().encode
"""The wire encoding of a message, as the codec of a validator makes it."""


@dataclass(slots=True)
class RecordedLife:
    """A life of a replica's engine: the arguments that made it, and its calls, each with its virtual time.

    Args:
        kind: The engine's kind.
        life: The arguments of the engine.
    """

    kind: EngineKind
    life: calls.Life
    kept: list[tuple[int, str, tuple[Any, ...]]] = field(default_factory=list)
    """Virtual time, the name of the method, arguments and answer."""

    def calls(self) -> Iterator[tuple[int, calls.Call]]:
        """Yield the virtual time in microseconds and the plain data of each call, in their order."""
        for at_us, name, values in self.kept:
            yield at_us, _PLAIN[name](self.kind, *values)


def encoded_calls(life: RecordedLife, number: int, count: int) -> bytes:
    """Return the first calls of a life as records of a run directory, each like an event.

    Args:
        life: The life.
        number: Its place among those of the replica, from 1.
        count: The number of calls.
    """
    encode = msgspec.msgpack.encode
    return b"".join(
        encode([at_us, life.life.me, type(call).__name__, number, place, *map(calls.tagged, call)])
        for place, (at_us, call) in enumerate(islice(life.calls(), count), 1)
    )


class RecordedEngine:
    """An engine whose calls are kept; it answers as the engine inside answers."""

    def __init__(self, inner: seam.ConsensusEngine, life: RecordedLife, now_us: Callable[[], int]) -> None:
        self._inner = inner
        self._kept = life.kept
        self._now_us = now_us

    @property
    def position(self) -> seam.Position:
        """The current view and its leader."""
        return self._inner.position

    @property
    def finality(self) -> seam.Finality | None:
        """The proof of the highest final block."""
        return self._inner.finality

    def replay(self, records: Sequence[seam.Record], floor: seam.Finality | None) -> None:
        """Take up the journal of an earlier life; raises CorruptRecordError."""
        try:
            self._inner.replay(records, floor)
        except seam.CorruptRecordError as error:
            self._kept.append((self._now_us(), "replay", (tuple(records), floor, str(error))))
            raise
        self._kept.append((self._now_us(), "replay", (tuple(records), floor, "")))

    def check(self, sender: NodeId, message: seam.EngineMessage) -> seam.MessageCheck:
        """Return whether a message is valid and useful."""
        try:
            checked = self._inner.check(sender, message)
        except Exception as error:
            self._kept.append((self._now_us(), "raise", (f"check of {message!r:.200}", repr(error))))
            raise
        self._kept.append((self._now_us(), "check", (sender, message, checked)))
        return checked

    def step(self, event: seam.Event) -> list[seam.Effect]:
        """Take an event and return its effects."""
        try:
            effects = self._inner.step(event)
        except Exception as error:
            self._kept.append((self._now_us(), "raise", (f"step of {event!r:.200}", repr(error))))
            raise
        self._kept.append((self._now_us(), "step", (event, tuple(effects))))
        return effects

    def leader(self, view: int) -> NodeId | None:
        """Return who leads a view."""
        return self._inner.leader(view)

    def derived(self, records: Sequence[seam.Record], floor: seam.Finality | None) -> Derived:
        """Return cached state beside the state rebuilt from the journal."""
        return self._inner.derived(records, floor)

    def statistics(self) -> Mapping[str, int]:
        """Return figures of this life, by name."""
        return self._inner.statistics()


def recorded_kind(
    kind: EngineKind, lives: list[RecordedLife], public_keys: Sequence[bytes], now_us: Callable[[], int]
) -> EngineKind:
    """Return a kind whose engines, seal checks and finality checks keep their calls.

    Args:
        kind: The engine's own kind.
        lives: Gets each life of the replica's engine, the last life last.
        public_keys: 32 bytes for each validator, by index.
        now_us: Returns the virtual time.
    """

    def make(
        *,
        me: NodeId,
        validators: int,
        scheme: Scheme,
        config: Any,  # noqa: ANN401 - the engine's own
        genesis: Digest,
        is_observer: bool,
    ) -> RecordedEngine:
        arguments = calls.Life(me, tuple(public_keys), is_observer, genesis, _plain_config(config))
        lives.append(RecordedLife(kind, arguments))
        inner = kind.make(
            me=me, validators=validators, scheme=scheme, config=config, genesis=genesis, is_observer=is_observer
        )
        return RecordedEngine(inner, lives[-1], now_us)

    def verify_finality(
        scheme: Scheme,
        finality: seam.Finality,
        validators: int,
        config: Any,  # noqa: ANN401 - the engine's own
    ) -> bool:
        is_proved = kind.verify_finality(scheme, finality, validators, config)
        lives[-1].kept.append((now_us(), "verify_finality", (finality, is_proved)))
        return is_proved

    kept = replace(kind, make=make, verify_finality=verify_finality)
    return kept if kind.check_seal is None else replace(kept, check_seal=_recorded(kind.check_seal, lives, now_us))


def _recorded(check: SealCheck, lives: Sequence[RecordedLife], now_us: Callable[[], int]) -> SealCheck:
    def check_seal(
        scheme: Scheme,
        block: seam.HeaderFacts,
        seal: bytes,
        validators: int,
        /,
        *,
        config: Any,  # noqa: ANN401 - the engine's own
    ) -> seam.MessageCheck:
        checked = check(scheme, block, seal, validators, config=config)
        lives[-1].kept.append((now_us(), "check_seal", (block, seal, checked)))
        return checked

    return check_seal


def _plain_config(config: Any) -> Mapping[str, int | str]:  # noqa: ANN401 - the engine's own
    plain: Mapping[str, int | str] = msgspec.to_builtins(config)
    return plain


def _plain_facts(block: seam.HeaderFacts) -> calls.Facts:
    return calls.Facts(*block)


def _plain_answer(checked: seam.MessageCheck) -> calls.Answer:
    # A consent has no reason, and a refusal has a reason: a contradictory answer is kept as it is.
    is_clear = checked.ok is (not checked.reason)
    reason = checked.reason if is_clear else f"ok={checked.ok} and reason={checked.reason!r}"
    return calls.Answer(reason, checked.signatures_verified)


def _whole(kind: EngineKind, finality: seam.Finality) -> bytes:
    """Return a finality as a record, but with its proof: a journal may keep it without."""
    encoded = kind.records.encode(finality)
    return encoded if kind.records.decode(encoded) == finality else _encode_message(finality)


def _plain_event(kind: EngineKind, event: seam.Event) -> calls.Event:
    if isinstance(event, seam.Received):
        return calls.Received(event.sender, _encode_message(event.message))
    if isinstance(event, seam.Built):
        return calls.Built(event.view, event.digest, None if event.block is None else _plain_facts(event.block))
    if isinstance(event, seam.Judged):
        return calls.Judged(event.question.value, event.ref.view, event.ref.digest, event.ok)
    if isinstance(event, seam.BlockArrived):
        return calls.BlockArrived(event.sender, _plain_facts(event.block), event.seal)
    if isinstance(event, seam.FloorAdopted):
        return calls.FloorAdopted(_whole(kind, event.finality))
    return _AS_THEY_ARE[type(event)](*event)


_AS_THEY_ARE: Final[Mapping[type[Any], Callable[..., calls.Event]]] = {
    seam.Started: calls.Started,
    seam.TimeoutReached: calls.TimeoutReached,
    seam.AlarmReached: calls.AlarmReached,
    seam.AskAgain: calls.AskAgain,
}


_EFFECTS: Final[Mapping[type[Any], Callable[[EngineKind, Any], calls.Effect]]] = {
    seam.Append: lambda kind, it: calls.Append(kind.records.encode(it.record)),
    seam.Send: lambda _, it: calls.Send(it.to, _encode_message(it.message)),
    seam.SetTimer: lambda _, it: calls.SetTimer(it.name, it.number, it.after_us),
    seam.SetAlarm: lambda _, it: calls.SetAlarm(it.name, it.number, it.at_wall_us),
    seam.CancelTimer: lambda _, it: calls.CancelTimer(it.name, it.number),
    seam.Build: lambda _, it: calls.Build(it.view, *it.parent),
    seam.Judge: lambda _, it: calls.Judge(it.question.value, *it.ref, *(it.parent or (None, None))),
    seam.Adopt: lambda _, it: calls.Adopt(it.ref.view, it.ref.digest, it.height, it.abandoned),
    seam.Finalized: lambda kind, it: calls.Finalized(_whole(kind, it.finality)),
    Entered: lambda _, it: calls.Entered(it.view, it.leader),
    seam.Relay: lambda _, it: calls.Relay(it.digest, it.seal),
    seam.ReportActivity: lambda _, it: calls.ReportActivity(
        it.activity, it.node, it.view, it.detail, tuple(_encode_message(each) for each in it.evidence)
    ),
}


def _plain_replay(
    kind: EngineKind, records: Sequence[seam.Record], floor: seam.Finality | None, error: str
) -> calls.Replayed:
    encode = kind.records.encode
    return calls.Replayed(tuple(encode(each) for each in records), None if floor is None else encode(floor), error)


def _plain_step(kind: EngineKind, event: seam.Event, effects: Sequence[seam.Effect]) -> calls.Stepped:
    return calls.Stepped(_plain_event(kind, event), tuple(_EFFECTS[type(each)](kind, each) for each in effects))


_PLAIN: Final[Mapping[str, Callable[..., calls.Call]]] = {
    "replay": _plain_replay,
    "check": lambda _, sender, message, checked: calls.Checked(
        sender, _encode_message(message), _plain_answer(checked)
    ),
    "check_seal": lambda _, block, seal, checked: calls.SealChecked(_plain_facts(block), seal, _plain_answer(checked)),
    "verify_finality": lambda kind, finality, is_proved: calls.FinalityVerified(_whole(kind, finality), is_proved),
    "step": _plain_step,
    "raise": lambda _, call, error: calls.Raised(call, error),
}
