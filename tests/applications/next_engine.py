"""The project's own engine as its next version: from a height on a block burns one unit more.

`next_engine.py PROJECT HEIGHT`, with msgpack frames.
"""

import sys
from io import FileIO

sys.path.insert(0, sys.argv[1])

from cluster.outside.frames import FRAMINGS
from cluster.outside.own.engine import EngineApplication
from cluster.outside.own.serve import serve
from validators.execution.run import BlockRun

book_burns = BlockRun._book_burns


def book_one_more(run):
    run._ledger.burned += run._moment.height >= int(sys.argv[2])
    book_burns(run)


BlockRun._book_burns = book_one_more
with FileIO(0, closefd=False) as requests, FileIO(1, "w", closefd=False) as answers:
    serve(FRAMINGS["msgpack"], EngineApplication(FRAMINGS["msgpack"], "2").answer, requests, answers)
