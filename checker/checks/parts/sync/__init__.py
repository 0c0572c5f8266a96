"""Specimens of what replicas give each other: blocks, goals over them, and snapshots."""
