"""The comparison of an engine's recorded calls with its specification, up to the first difference of each life.

The whole list of effects is compared, in order. A different vote, certificate, journal record, seal, adoption or
finality is a safety violation; any other difference costs only time.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from types import FrameType
from typing import Any, Final, NamedTuple, assert_never

import msgspec

from checker.oracle.consensus import calls
from checker.oracle.consensus.signatures import SIGNATURE_BYTES, Signatures, Signed

SpecificationMaker = Callable[[calls.Life, Signatures], calls.Specification]

SAFETY_PARTS: Final = ("vote", "certificate", "record", "seal", "adoption", "finality")
LIVENESS_PARTS: Final = ("timer", "request", "retry", "report")
PARTS: Final = (*SAFETY_PARTS, *LIVENESS_PARTS)

_RULE: Final = re.compile(r"(?:SX|HS|LC)-\d+")
_SHOWN_BYTES: Final = 4
_SHOWN_DIFFERENCES: Final = 3
_SHOWN_RULES: Final = 4
"""The number of rules shown for a surplus effect: the last rules called; no rule emitted the effect."""


_PART_OF_EFFECT: Final[dict[type[Any], str]] = {
    calls.Append: "record",
    calls.SetTimer: "timer",
    calls.SetAlarm: "timer",
    calls.CancelTimer: "timer",
    calls.Entered: "timer",
    calls.Build: "request",
    calls.Judge: "request",
    calls.Adopt: "adoption",
    calls.Finalized: "finality",
    calls.ReportActivity: "report",
}
"""Parts of effects; the part of a message depends on its tag, and a block without a seal requests votes."""


class Difference(NamedTuple):
    """The first difference between an engine and its specification in a life of a replica.

    `rules` has the numbers of the rules that emitted the expected effect, or of the last rules called.
    """

    replica: int
    life: int
    at_us: int
    number: int
    call: str
    expected: str
    found: str
    part: str
    rules: Sequence[str]

    @property
    def is_safety(self) -> bool:
        """Whether it is a safety violation."""
        return self.part in SAFETY_PARTS

    def __str__(self) -> str:
        rules = " ".join(self.rules) or "no rule"
        at = f"{self.at_us // 1_000:,}.{self.at_us % 1_000:03} ms"
        return (
            f"replica {self.replica} at {at}, call {self.number} of life {self.life}, {self.call}: "
            f"expected {self.expected} ({rules}), found {self.found}"
        )


class Comparison(NamedTuple):
    """The comparison of a life: its first difference, and the number of calls and effects up to it."""

    calls: int
    effects: int
    difference: Difference | None


def compare_life(
    make: SpecificationMaker,
    life: calls.Life,
    timed_calls: Iterable[tuple[int, calls.Call]],
    *,
    number: int = 1,
    known: MutableMapping[Signed, bool] | None = None,
) -> Comparison:
    """Compare the calls of a life, each with its virtual time, with the specification of the engine.

    Args:
        make: Makes the specification.
        life: The arguments of the engine.
        timed_calls: The virtual time in microseconds and the plain data of each call, in their order.
        number: The number of the life of the replica, from 1.
        known: Valid and invalid signatures, which the lives of a run share.
    """
    kept = list(timed_calls)
    follower = _Follower(make, life, known)
    effects = 0
    for place, (at_us, call) in enumerate(kept):
        expected = follower.follow_soundly(call)
        found = _outcome_of(call)
        effects += len(found)
        if _typed(expected) != _typed(found):
            part = _part_of(expected, found, call, follower)
            at = _first_place(expected, found)
            rules = _rules_of(make, life, [call for _, call in kept[: place + 1]], at)
            shown = _shown_difference(expected, found)
            difference = Difference(life.me, number, at_us, place + 1, _shown_call(call), *shown, part, rules)
            return Comparison(place + 1, effects, difference)
        follower.note_sent(found)
    return Comparison(len(kept), effects, None)


class _Follower:
    """A specification that follows the calls of a life, and the messages that were sent until then."""

    def __init__(
        self, make: SpecificationMaker, life: calls.Life, known: MutableMapping[Signed, bool] | None = None
    ) -> None:
        self.signatures = Signatures(life.me, life.public_keys, known)
        self.specification = make(life, self.signatures)
        self.sent: dict[bytes, None] = {}

    def follow_soundly(self, call: calls.Call) -> list[Any]:
        """Return the specification's outcome for a call; an error of the specification is an outcome as well.

        Effects of a faulty engine may lead to calls that no rule covers.
        """
        try:
            return self.follow(call)
        except Exception as error:  # noqa: BLE001 - any error: the other checks of the run follow
            return [f"no such call ({type(error).__name__}: {error})"]

    def follow(self, call: calls.Call) -> list[Any]:
        """Return the specification's outcome for a call."""
        specification = self.specification
        if isinstance(call, calls.Stepped):
            self.signatures.offer(_signatures_in(call.effects))
            return list(specification.step(call.event))
        if isinstance(call, calls.Checked):
            return [specification.check(call.sender, call.message)]
        if isinstance(call, calls.SealChecked):
            return [specification.check_seal(call.block, call.seal)]
        if isinstance(call, calls.FinalityVerified):
            return [specification.verify_finality(call.finality)]
        if isinstance(call, calls.Replayed):
            return [specification.replay(call.records, call.floor)]
        if isinstance(call, calls.Raised):
            return ["no error"]
        assert_never(call)

    def note_sent(self, effects: Iterable[object]) -> None:
        """Note the messages of a correct step, because a message that the replica sends again is a retry."""
        self.sent.update((each.message, None) for each in effects if isinstance(each, calls.Send))


def _outcome_of(call: calls.Call) -> list[Any]:
    if isinstance(call, calls.Stepped):
        return list(call.effects)
    if isinstance(call, (calls.Checked, calls.SealChecked)):
        return [call.answer]
    if isinstance(call, calls.FinalityVerified):
        return [call.is_proved]
    if isinstance(call, calls.Replayed):
        return [call.error]
    return [call.error]


def _typed(outcome: Sequence[Any]) -> list[tuple[type[Any], Any]]:
    """Return an outcome with the types: effects of two kinds with the same fields are equal as tuples."""
    return [(type(each), each) for each in outcome]


def _first_place(expected: Sequence[Any], found: Sequence[Any]) -> int:
    """Return the first index at which outcomes differ; the shorter length if one begins with the other."""
    pairs = enumerate(zip(_typed(expected), _typed(found), strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(expected), len(found)))


def _signatures_in(effects: Iterable[calls.Effect]) -> Iterator[bytes]:
    """Yield all values of the length of a signature in the messages, records and seals of effects."""
    for effect in effects:
        for field in effect:
            if isinstance(field, bytes):
                yield from _signatures_of(_decoded(field))


def _signatures_of(value: object) -> Iterator[bytes]:
    if isinstance(value, bytes):
        if len(value) == SIGNATURE_BYTES:
            yield value
    elif isinstance(value, list):
        for each in value:
            yield from _signatures_of(each)


def _decoded(encoded: bytes) -> Any:  # noqa: ANN401 - whatever an engine encodes
    """Return a message or record, with or without a tag byte, as lists, numbers and bytes; else the bytes."""
    if len(encoded) in {0, 32, SIGNATURE_BYTES}:
        return encoded
    for start in (0, 1):
        try:
            return msgspec.msgpack.decode(encoded[start:])
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
    return encoded


# -- parts and rules -------------------------------------------------------------------------------


def _part_of(expected: Sequence[Any], found: Sequence[Any], call: calls.Call, follower: _Follower) -> str:
    """Return the part of a difference: a part of safety if any missing or surplus effect is of safety."""
    if isinstance(call, calls.Replayed):
        return "record"
    if isinstance(call, calls.FinalityVerified):
        return "finality"
    if isinstance(call, calls.Raised):
        return "report"
    if isinstance(call, (calls.Checked, calls.SealChecked)):
        if call.answer.reason or not getattr(expected[0], "reason", ""):
            return "report"  # An unjust refusal, another reason or another cost.
        return "seal" if isinstance(call, calls.SealChecked) else _part_of_message(call.message, follower)
    missing, extra = Counter(_typed(expected)), Counter(_typed(found))
    # Without missing and surplus effects the order differs.
    differing = [*(missing - extra), *(extra - missing)] or _typed(found[_first_place(expected, found) :])
    parts = [_part_of_effect(each, follower) for _, each in differing]
    return next((each for each in SAFETY_PARTS if each in parts), parts[0])


def _part_of_effect(effect: Any, follower: _Follower) -> str:  # noqa: ANN401 - any effect
    if isinstance(effect, str):
        return "report"
    if isinstance(effect, calls.Send):
        return "retry" if effect.message in follower.sent else _part_of_message(effect.message, follower)
    if isinstance(effect, calls.Relay):
        return "seal" if effect.seal else "request"
    return _PART_OF_EFFECT[type(effect)]


def _part_of_message(message: bytes, follower: _Follower) -> str:
    decoded = _decoded(message)
    tag = decoded[0] if isinstance(decoded, list) and decoded else None
    return follower.specification.MESSAGE_PARTS.get(tag, "report") if isinstance(tag, int) else "report"


def _rules_of(
    make: SpecificationMaker, life: calls.Life, followed: Sequence[calls.Call], place: int
) -> tuple[str, ...]:
    """Return the rules behind an effect of the last call, by following all calls again."""
    follower = _Follower(make, life)
    for call in followed[:-1]:
        follower.follow(call)
    asked: dict[str, None] = {}
    emitted: list[tuple[str, ...]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        for rule in _rules_named(frame):
            asked.pop(rule, None)
            asked[rule] = None
        if frame.f_code.co_name == "emit":
            emitted.append(_nearest_rules(frame.f_back))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        follower.follow_soundly(followed[-1])
    finally:
        sys.setprofile(before)
    return emitted[place] if place < len(emitted) else tuple(asked)[-_SHOWN_RULES:]


def _rules_named(frame: FrameType) -> tuple[str, ...]:
    constants = frame.f_code.co_consts
    docstring = constants[0] if constants and isinstance(constants[0], str) else ""
    return tuple(_RULE.findall(docstring.partition(": ")[0]))


def _nearest_rules(frame: FrameType | None) -> tuple[str, ...]:
    while frame is not None:
        if rules := _rules_named(frame):
            return rules
        frame = frame.f_back
    return ()


# -- words -----------------------------------------------------------------------------------------


def _shown_difference(expected: Sequence[Any], found: Sequence[Any]) -> tuple[str, str]:
    """Return the outcomes in words, without their common first and last effects."""
    start = _first_place(expected, found)
    end = min(_first_place(expected[::-1], found[::-1]), min(len(expected), len(found)) - start)
    return _shown(expected[start : len(expected) - end]), _shown(found[start : len(found) - end])


def _shown(outcome: Sequence[Any]) -> str:
    words = [shown_value(each) for each in outcome[:_SHOWN_DIFFERENCES]]
    more = len(outcome) - len(words)
    return "; ".join(words) + f"; {more} more" * bool(more) if words else "nothing"


def _shown_call(call: calls.Call) -> str:
    if isinstance(call, calls.Stepped):
        return shown_value(call.event)
    if isinstance(call, calls.Checked):
        return f"check of {shown_value(_decoded(call.message))} from {call.sender}"
    if isinstance(call, calls.SealChecked):
        return f"check of the seal of {shown_value(call.block)}"
    if isinstance(call, calls.FinalityVerified):
        return f"check of the finality {shown_value(_decoded(call.finality))}"
    if isinstance(call, calls.Replayed):
        return f"replay of {len(call.records)} records"
    return call.call


def shown_value(value: Any) -> str:  # noqa: ANN401 - any outcome
    """Return an event, effect or answer in words, with its name before its fields."""
    if isinstance(value, bytes):
        decoded = _decoded(value)
        return shown_value(decoded) if isinstance(decoded, list) else value[:_SHOWN_BYTES].hex() or "-"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return f"{type(value).__name__}({', '.join(map(shown_value, value))})"
    if isinstance(value, list) and value and isinstance(value[0], str):
        return f"{value[0]}({', '.join(map(shown_value, value[1:]))})"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown_value, value))}]"
    return str(value)
