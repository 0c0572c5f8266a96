"""Differential chains: validators' code and oracle execute the same blocks, on states that no run has led to.

One engine builds a chain as leaders would (`chain`), or tables are written before a block (`blocks`). No consensus, no
disk and no network: a chain costs a fraction of a run. Both are cases (`cases`), which draws make (`chain_draws`,
`block_draws`), files keep (`case_files`) and a campaign judges seed by seed (`tasks`).
"""
