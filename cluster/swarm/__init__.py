"""The swarm: whole scenarios drawn from a seed.

Every draw has a purpose of its own, so that a new draw moves none of the others. What is drawn must be a scenario that
a person could have written; nothing else of a run may know that it was drawn.
"""
