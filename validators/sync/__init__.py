"""Blocks that a validator lacks: following certificates, asking peers, joining from a snapshot."""
