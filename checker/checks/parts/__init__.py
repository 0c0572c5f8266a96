"""The check of parts: a validator's parts, tried on specimens that few drawn runs bring about.

A room for each room of `validators/`, and each trial with what it tries; those of an engine's own parts stand beside
its rules (`checker.checks.rules`). What has to come out is worked out there by the plainest means.
"""
