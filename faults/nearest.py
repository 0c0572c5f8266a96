"""The allowed name that is most like a misspelt one: a list of all of them may be long."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the known name nearest to another one, to stand right after that; nothing where none is near.

    Nor for a known name: rules make their messages before they are broken, and looking for the nearest takes long.
    """
    by_small_letters = {each.lower(): each for each in known}
    if by_small_letters.get(name.lower()) == name:
        return ""
    found = get_close_matches(name.lower(), by_small_letters, n=1)
    return f" (did you mean {by_small_letters[found[0]]}?)" if found else ""
