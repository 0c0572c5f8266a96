"""Specimens of what stands below a block's execution: lists of what waits, lanes, trees of blocks, headers."""
