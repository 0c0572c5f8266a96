"""Results, lists and names in words."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

RESULTS: Final[Mapping[str, tuple[str, str]]] = {
    "safety": ("failed: safety", "Safety violated"),
    "liveness": ("failed: liveness", "No progress"),
    "determinism": ("failed: determinism", "The test bed was not deterministic"),
    "environment": ("failed: environment", "The machine refused something that the run needs"),
    "usage": ("failed: bad input", "The input could not be run"),
}
"""The result and the beginning of its sentence, by verdict; any other verdict is its own result."""

_LONG_NAME: Final = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{28,}\b")


def result_of(verdict: str) -> str:
    """Return a verdict as a result: `failed: safety` instead of `safety`."""
    return RESULTS.get(verdict, (verdict, ""))[0]


def sentence_of(verdict: str, headline: str) -> str:
    """Return a verdict with its headline, as the last sentence of a result."""
    result, said = RESULTS.get(verdict, (verdict, ""))
    return f"{result}. {said}: {headline}" if said else f"{result}: {headline}"


def join_words(words: Sequence[str]) -> str:
    """Return words joined by commas, and by "and" before the last word."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def virtual_seconds(microseconds: object) -> str:
    """Return virtual microseconds in seconds, cut to tenths."""
    tenths = int(str(microseconds)) // 100_000
    return f"{tenths // 10:,}.{tenths % 10} s"


def short_names(text: str) -> str:
    """Return a text with each name of 40 or more hexadecimal digits cut to 12 digits."""
    return _LONG_NAME.sub(r"\1", text)


def reasons_in_words(not_asked: Mapping[str, str]) -> list[str]:
    """Return a phrase for each reason, with the names of all checks that the run does not ask for this reason."""
    names: dict[str, list[str]] = {}
    for name, reason in not_asked.items():
        names.setdefault(reason, []).append(name)
    return [f"{', '.join(listed)} ({reason})" for reason, listed in names.items()]
