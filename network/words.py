"""Words beside numbers, for text shown to a person."""

import re
from typing import Final

_PLURAL: Final = re.compile(r"s\b")


def counted(count: int, unit: str) -> str:
    """Return a number with its unit, given in the plural; for 1, the first word that ends in "s" loses this letter."""
    return f"{count:,} {_PLURAL.sub('', unit, count=1) if count == 1 else unit}"
