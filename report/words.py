"""Words beside numbers."""


def counted(count: int, unit: str) -> str:
    """Return a number with its unit, which is a plural: of one thing, a single word loses its last letter."""
    return f"1 {unit.removesuffix('s')}" if count == 1 and " " not in unit else f"{count:,} {unit}"
