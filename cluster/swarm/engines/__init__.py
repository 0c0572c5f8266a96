"""Consensus engines of drawn scenarios: how each is drawn, and what of the other draws is different under it.

One file an engine, and a registry with the share of each. The swarm's other draws are in Simplex' words; a file says
what they mean under its engine, and which of them it has not.
"""
