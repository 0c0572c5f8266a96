"""Specimens of what is on a disk, and of starts from it."""
