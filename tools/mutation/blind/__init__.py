"""The published figure: a hundred bugs written without a look at checks, tests or draws, and who sees them.

`bugs` has the bugs by area, each with its edits of the code. `python -m tools.mutation blind` puts one bug at a time
into a copy of the tree, runs seeds of the swarm there until a run fails, then the tests of the bug's area until a test
fails, and keeps a row a bug in `rows.json`. `python -m tools.mutation.blind.page` makes docs/mutants.md of the rows.
"""
