"""The file that `new` writes: a small scenario that runs, with a comment on each line that one would change."""

from string import Template
from typing import Final

from checker.record.program import program_name

_TEMPLATE: Final = Template("""\
$named # also the name of the run directory
title = "four validators, one of them away for a while"
requires = ["away"]                # without effect of these the run is inconclusive

[cluster]
validators = 4                     # 4 bear one that is down, 7 bear two

[workload.pulse]                   # clients; the name is free, the kind is not ($program workloads)
kind = "heartbeats"                # actors that schedule themselves for ever ...
actors = 4                         # ... four of them, every slot

[workload.payments]
kind = "transfers"                 # accounts that pay each other
accounts = 4
count = 20                         # transactions, one every 200 ms

[faults.away]                      # a fault with a name ($program faults): --set faults.away.enabled=false
kind = "crash"
validator = 2
at_ms = 4_000                      # virtual milliseconds from the start of the run
restart_ms = 8_000

[run]
until_height = 14                  # over when every validator has finalized this height and no fault is at work

# $program check $file             what the faults will do, in sentences, and what the run costs
# $program run $file --seed 7
# $program sweep $file --seeds 0..99
""")


_COMMENT_COLUMN: Final = 34


def template_of(name: str, file: str) -> str:
    """Return the text of a new scenario of this name, to be written to this file."""
    named = f'name = "{name}"'.ljust(_COMMENT_COLUMN)
    return _TEMPLATE.substitute(named=named, program=program_name(), file=file)
