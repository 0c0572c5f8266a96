"""The oracle: the chain of docs/chain.md and docs/state.md restated in the plainest possible way.

It shares no code with the validators and imports nothing of `scheduler/` or `validators/`: a mistake would have to be
made twice, in two different forms, to go unseen. It keeps its state in dicts and finds entries by going
through them; where the chain keeps an index, it sorts.
"""

from checker.oracle.branches import ExecutedOn, OracleBranch, no_branches
from checker.oracle.replay import NAME, OracleBlock, judge_oracle

__all__ = ["NAME", "ExecutedOn", "OracleBlock", "OracleBranch", "judge_oracle", "no_branches"]
