"""The mutation scan: mutants that nobody wrote by hand, each run against the swarm and the shipped scenarios.

A mutation library's operators change one place of one source. The operators and the places, the sample, the process
that runs a mutant, the campaign over all of them and the wording of its report belong here. The mutants that were
written by hand do not. No file of the tree is ever changed: a process of its own loads the changed source in place of
the one on disk.
"""
