"""Rules of consensus engines as the checks know them, restated without the engines' own predicates: one module each.

A module may import the types of an engine's messages and records, never a function that decides. `registry` lists the
rules by the engine's name; checks that hold for every engine ask it and know no engine.
"""
