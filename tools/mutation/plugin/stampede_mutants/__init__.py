"""The plug-in `stampede-mutants`: the catalogue of known bugs, one file a room and one decorated function a mutant.

The teaching mutants of the wheel (checker/mutants/teaching.py) belong to the catalogue and are not here.
`python -m tools.mutation.catalogue` writes the entry points.
"""
