"""Boundary cases by kind: shared scripts, values exactly at a limit, and the queue of `aptos`."""
