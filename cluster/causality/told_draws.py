"""The draws behind a rise in sentences and as plain data."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from cluster.causality.draws import JudgedDraw, OtherValue, link_of

SHOWN: Final = 5
"""The most draws that are listed."""

LATENCY: Final = "latency"

HAPPENINGS: Final[Mapping[str, str]] = {
    "corrupt": "is damaged",
    "duplicate": "comes twice",
    "reorder": "is held back",
}
"""By the kind of a draw, the fate of a message for which the draw is below a bound."""


def draw_lines(judged: Sequence[JudgedDraw], first: int, last: int) -> Iterator[str]:
    """Yield the draws of these turns that move a failure, the strongest first."""
    turns = f"turn {last:,}" if first == last else f"turns {first:,} to {last:,}"
    if not judged:
        yield f"  no single draw of {turns} moves the failure by itself"
        return
    yield f"  the draws of {turns} that move the failure, each with {len(judged[0].values)} other values:"
    for each in judged[:SHOWN]:
        yield f"    {sentence_of(each)}"
    if len(judged) > SHOWN:
        yield f"    and {len(judged) - SHOWN} more"


def sentence_of(judged: JudgedDraw) -> str:
    """Return what a draw was, and which values of it make the run fail."""
    values = [judged.had, *judged.values]
    counted = f"fails with {judged.fails} of {len(judged.values)} other values"
    if judged.message is None or (link := link_of(judged.draw)) is None:
        draw = judged.draw
        due = "" if draw.due_us is None else f", made for {draw.due_us / 1_000_000:,.3f} s"
        return f"{draw.purpose}, {draw.subject}, draw {draw.ordinal:,}{due}: {counted}"
    label, view = judged.message
    where = "" if view is None else f" in view {view:,}"
    message = f"{label} from validator {link[0]} to {link[1]}{where}"
    if judged.draw.purpose.startswith(LATENCY):
        return f"delay of {message} was {_milliseconds(judged.had)}: {_by_delay(values) or counted}"
    fate = "was lost" if judged.had.delay_us is None else f"took {_milliseconds(judged.had)}"
    kind, _, fault = judged.draw.purpose.partition(" ")
    by = f" by fault {fault}" if fault else ""
    return f"{kind} of {message}{by}, which {fate}: {_by_loss(values) or _by_happening(kind, values) or counted}"


def _milliseconds(value: OtherValue) -> str:
    return "endless" if value.delay_us is None else f"{value.delay_us / 1_000:,.3f} ms"


def _by_delay(values: Sequence[OtherValue]) -> str:
    """Return the delay at which the outcome changes; nothing where it changes more than once."""
    came = sorted((value for value in values if value.delay_us is not None), key=lambda value: value.delay_us or 0)
    changes = [pair for pair in pairwise(came) if pair[0].fails != pair[1].fails]
    if len(came) < len(values) or len(changes) != 1:
        return ""
    below, above = changes[0]
    does, does_not = ("it always fails", "it never does") if below.fails else ("it never fails", "it always does")
    return f"up to {_milliseconds(below)} {does}, from {_milliseconds(above)} on {does_not}"


def _by_loss(values: Sequence[OtherValue]) -> str:
    """Return whether a message that is lost makes the run fail; nothing where its fate does not decide."""
    lost = {value.fails for value in values if value.delay_us is None}
    came = {value.fails for value in values if value.delay_us is not None}
    if (lost, came) == ({True}, {False}):
        return "it always fails where this message is lost, and never where it arrives"
    if (lost, came) == ({False}, {True}):
        return "it always fails where this message arrives, and never where it is lost"
    return ""


def _by_happening(kind: str, values: Sequence[OtherValue]) -> str:
    """Return whether a fate that some values of a draw have makes the run fail; nothing where it does not decide."""
    fails = [value.word for value in values if value.fails]
    passes = [value.word for value in values if not value.fails]
    if kind not in HAPPENINGS or not fails or not passes:
        return ""
    if max(fails) < min(passes):
        return f"it always fails where this message {HAPPENINGS[kind]}, and never otherwise"
    return f"it never fails where this message {HAPPENINGS[kind]}" if max(passes) < min(fails) else ""


def draws_as_json(judged: Sequence[JudgedDraw]) -> list[dict[str, object]]:
    """Return the draws as plain data."""
    return [
        {
            **each.draw._asdict(),
            "message": None if each.message is None else each.message[0],
            "view": None if each.message is None else each.message[1],
            "delay_us": each.had.delay_us,
            "told": sentence_of(each),
            "values": [value._asdict() for value in each.values],
        }
        for each in judged
    ]
