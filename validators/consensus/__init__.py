"""Consensus of one validator: one folder an engine, and what all engines share."""
