"""Consensus engines of drawn scenarios: how each is drawn, and how other draws differ under it.

One file an engine, and a registry with the share of each. The swarm's other draws use Simplex' terms. An engine's file
gives their meaning under its engine, and names the draws that the engine does not have.
"""
