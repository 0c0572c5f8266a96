"""A sweep in the tools of those who run it: JUnit files, annotations of a code host, and plans that failed before.

Everything here is made from the results of seeds, which it only reads. No name of a network place is in it: formats are
text, and whoever runs the sweep carries them on.
"""
