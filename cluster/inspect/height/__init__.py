"""One height of a recorded run for `show`: its blocks, the replicas' parts, and one block executed again.

The rows that are printed come from here; how they are printed does not (report/block.py).
"""
