"""Policies of drawn chains with parameters of their own: how each is drawn, and how workloads are fitted to it.

One file a policy, and a registry with the share of each. A file may draw parameters and change drawn workloads; the
policy alone decides their effect.
"""
