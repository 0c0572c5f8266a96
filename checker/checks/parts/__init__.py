"""The check of parts: what a validator is made of, tried on specimens that few drawn runs bring about.

Each trial stands with what it tries: `journals`, `stored_files`, `waiting`, and beside the rules of an engine those of
its own parts (`checker.checks.rules`). What has to come out is worked out there by the plainest means.
"""
