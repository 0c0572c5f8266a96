"""Bugs whose trigger is known, for `curve`: ten that a draw sets off, and ten that no draw can avoid."""
