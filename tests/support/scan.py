"""Mutants of a scan as a test states them: a source, and its text before and after."""

from tools.mutation.scan.points import MutationPoint, ScanMutant, read_source


def scan_mutant(file, before, after, occurrence=0):
    """Return the mutant that has `after` for `before`, which stands in the source once."""
    source = read_source(file)
    assert source.count(before) == 1, f"{file} has {before!r} {source.count(before)} times"
    line = source[: source.index(before)].count("\n") + 1
    point = MutationPoint(file, "", "ByHand", occurrence, line, 0)
    return ScanMutant(point=point, source=source.replace(before, after), before=before, after=after)
