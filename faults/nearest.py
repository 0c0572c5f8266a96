"""The allowed name that is most like a misspelt name, because a list of all names may be long."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the nearest known name, to stand after a misspelt name; empty if no known name is near.

    The hint is empty for a known name: rules make their messages even if they hold, and the search takes long.
    """
    by_small_letters = {each.lower(): each for each in known}
    if by_small_letters.get(name.lower()) == name:
        return ""
    found = get_close_matches(name.lower(), by_small_letters, n=1)
    return f" (did you mean {by_small_letters[found[0]]}?)" if found else ""
