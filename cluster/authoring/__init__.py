"""Help for authors of scenarios: a commented first file, a schema for editors, faults by level.

This room knows no kind of fault or workload by its name: it reads the scenario's types and the kinds' draws.
`cluster.scenario.load` reads the written files like any other file.
"""
