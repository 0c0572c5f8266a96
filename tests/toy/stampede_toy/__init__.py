"""A package outside the test bed that brings one of everything; tests/support/plugins.py installs it."""
