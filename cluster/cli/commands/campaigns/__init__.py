"""The commands that run many clusters: over seeds, over smaller plans, over changed code."""
