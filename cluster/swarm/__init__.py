"""The swarm: whole scenarios drawn from a seed.

Each draw has a purpose of its own, so that a new draw changes no other draw. A drawn scenario is a scenario that a
person could have written; no other part of a run may know that it was drawn.
"""
