"""Specimens of mempools, of gossip, and of the intake of messages."""
