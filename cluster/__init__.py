"""Builds a cluster from a scenario, runs it, and judges what came of it."""
