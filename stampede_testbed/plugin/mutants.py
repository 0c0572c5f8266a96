"""Names for a mutant of a plug-in (docs/extend/mutant.md)."""

from checker.mutants.mutant import Mutant, OtherLedger, burning_for, mutant, reordered, settle_with

__all__ = ["Mutant", "OtherLedger", "burning_for", "mutant", "reordered", "settle_with"]
