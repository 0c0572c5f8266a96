"""Coverage of rules: which branches of the rules a run reached, read off its final blocks, its events and its sinks.

Each room declares its points beside its rules (`rules.py` there); `registry` lists them all, `catalogue` prints
`stampede docs rule-coverage`. Reading changes nothing: no point is in a state, a receipt, the log or a digest.
`cluster.campaign` adds up the points of a campaign.
"""
