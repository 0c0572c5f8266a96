"""Specimens of states, of their proofs and of their operation logs; the roots are the oracle's."""
