"""Benchmarks: each figure beside its floor or peer, from one run."""
