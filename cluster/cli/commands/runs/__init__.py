"""The commands about scenarios and their runs: what there is, what it will do, and doing it."""
