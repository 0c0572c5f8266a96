"""Engines alone, on a stage without blocks, disks or a bus; and the scheme that signs for specimens.

Trials of one engine's own parts stand beside its rules, in `checker.checks.rules`.
"""
