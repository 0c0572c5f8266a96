"""Why the answers of an application differ: the calls of a failed run, repeated and compared."""
