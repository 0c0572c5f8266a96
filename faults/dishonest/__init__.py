"""Dishonest validators: the ways in which they lie, and the parts that make an honest one do so."""

from faults.dishonest.catalogue import LIES
from faults.dishonest.liar import Liar, Lie
from faults.dishonest.port import LyingPort

__all__ = ["LIES", "Liar", "Lie", "LyingPort"]
