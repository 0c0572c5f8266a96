"""Differential chains: validators' code and oracle execute the same blocks, on states that no run reaches.

A single engine builds a chain as leaders would (`chain`), or tables are written before a block (`blocks`). There is no
consensus, no disk and no network: a chain costs a fraction of a run. Both are cases (`cases`), which draws make
(`chain_draws`, `block_draws`), files keep (`case_files`) and a campaign judges seed by seed (`tasks`).
"""
