"""Words beside numbers, for whatever is shown to a person."""

import re
from typing import Final

_PLURAL: Final = re.compile(r"s\b")


def counted(count: int, unit: str) -> str:
    """Return a number with its unit, a plural: of one thing, the first word that ends in "s" loses this letter."""
    return f"{count:,} {_PLURAL.sub('', unit, count=1) if count == 1 else unit}"
