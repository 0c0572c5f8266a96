"""The packages from the bottom to the top."""

LAYERS = ["scheduler", "network", "validators", "faults", "checker", "report", "cluster"]
"""From the bottom to the top; a package imports itself and what stands before it."""
