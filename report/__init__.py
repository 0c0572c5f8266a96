"""The output that a person looks at: the live console, tables of the verdict and of campaigns, pages.

Everything here takes plain rows (named tuples and small data classes of its own) and draws them; it imports no other
package of the project, and nothing here decides anything about a run.
"""
