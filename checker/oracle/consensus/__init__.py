"""Executable specifications of the consensus engines, which follow the recorded calls of a replica."""
