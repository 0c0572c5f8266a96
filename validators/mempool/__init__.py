"""Transactions on their way into a block: how they spread, and how they wait."""
