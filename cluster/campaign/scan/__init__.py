"""The mutation scan: mutants that nobody wrote by hand, each run against the swarm and the shipped scenarios.

A mutation library's operators change one place of one source. The operators and the places, the sample, the process
that runs a mutant and the campaign over all of them belong here; the hand-written mutants do not (checker/mutants), nor
does the wording of the report (report/scan.py). No file of the tree is ever changed: a process of its own loads the
changed source in place of the one on disk.
"""
