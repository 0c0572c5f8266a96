"""Help for those who write scenarios: a commented file to begin with, a schema for editors, faults by level.

Nothing here knows a kind of fault or workload by its name: the scenario's own types and the kinds' own draws say what
there is. What is written here is read by `cluster.scenario.load` like any other file.
"""
