"""Policies of drawn chains with parameters of their own: how each is drawn, and what workloads have to be under it.

One file a policy, and a registry with the share of each. A file may draw parameters and change drawn workloads; what
the policy does with them is its own.
"""
