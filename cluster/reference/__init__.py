"""References that are read off the code: commands with their options, events of the log and of the chain, records.

Each module is a program that prints its page; that of records writes it. Keys of scenarios and kinds of faults
print theirs where they are at home (`cluster.scenario.reference`, `faults.catalogue`).
"""
