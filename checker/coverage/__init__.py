"""Coverage of rules: which branches of the rules a run reached, read off its final blocks, its events and its sinks.

Each room declares its cells beside its rules (`rules.py` there); `registry` lists them all, `catalogue` prints
the page `rule-coverage`. Reading changes nothing: no cell is in a state, a receipt, the log or a digest. What a
campaign makes of the cells is `cluster.campaign`'s.
"""
