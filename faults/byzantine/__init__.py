"""Dishonest validators: the ways in which they lie, and the parts that make an honest one do so."""

from faults.byzantine.adversary import Liar, Lie
from faults.byzantine.catalogue import LIES
from faults.byzantine.port import LyingPort

__all__ = ["LIES", "Liar", "Lie", "LyingPort"]
