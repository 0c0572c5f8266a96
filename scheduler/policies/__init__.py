"""Policies: each decides admission, order, payment and carry-over, and lists the phases of a block."""

from scheduler.policies.fifo import Fifo

__all__ = ["Fifo"]
