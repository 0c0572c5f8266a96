"""The project's own engine as an application, with a known bug in it: `planted.py PROJECT MUTANT`."""

import sys
from io import FileIO

sys.path.insert(0, sys.argv[1])

from checker.mutants.mutant import swaps_of
from cluster.outside.frames import FRAMINGS
from cluster.outside.own.engine import EngineApplication
from cluster.outside.own.serve import serve
from tools.mutation.catalogue import MUTANTS

mutant = next(each for each in MUTANTS if each.name == sys.argv[2])
with swaps_of([mutant]), FileIO(0, closefd=False) as requests, FileIO(1, "w", closefd=False) as answers:
    serve(FRAMINGS["json"], EngineApplication(FRAMINGS["json"], "1").answer, requests, answers)
