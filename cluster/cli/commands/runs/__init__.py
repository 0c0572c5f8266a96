"""The commands about scenarios and their runs: list them, check them, run them."""
