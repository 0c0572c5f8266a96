"""Applications in a run: a home for each replica, all that was asked and answered, and what is judged of it."""
