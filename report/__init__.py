"""The output that a person looks at: the live console, tables of the verdict and of campaigns, pages.

Every module takes plain rows (named tuples and small data classes of this package) and draws them. The package imports
only `network.words` of the project, and judges nothing about a run.
"""
