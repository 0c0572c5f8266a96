"""Errors of the public functions: each is a call that gave no result. A run that fails is a result."""


class StampedeError(Exception):
    """No result: the child process ended with this exit code and one line, which is the message."""

    def __init__(self, reason: str, exit_code: int) -> None:
        super().__init__(reason)
        self.exit_code = exit_code


class BadInputError(StampedeError):
    """A scenario, seed or setting that cannot be: the message names the key and what is allowed."""


class EnvironmentFailedError(StampedeError):
    """The machine refused something, such as room on a disk, or the test bed itself broke."""
