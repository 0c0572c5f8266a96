"""The mutants: known-bad versions of a validator's code, which measure the checks.

`mutant.py` is the mechanism, `teaching.py` has the mutants of every installation, and plug-ins add mutants to
`registry.py` (docs/extend/mutant.md). No production code knows of any mutant.
"""

from checker.mutants.mutant import MissingTargetError, Mutant
from checker.mutants.placed import PlacedMutants
from checker.mutants.registry import MUTANTS, TEACHING, add_mutant, mutants_with

__all__ = ["MUTANTS", "TEACHING", "MissingTargetError", "Mutant", "PlacedMutants", "add_mutant", "mutants_with"]
