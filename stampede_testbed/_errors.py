"""Errors of the public functions: the call has no result. A failed run is a result and raises no error."""


class StampedeError(Exception):
    """The call has no result: the error has the child process's exit code and its last line as message."""

    def __init__(self, reason: str, exit_code: int) -> None:
        super().__init__(reason)
        self.exit_code = exit_code


class BadInputError(StampedeError):
    """A scenario, seed or setting is invalid: the message names the key and the allowed values."""


class EnvironmentFailedError(StampedeError):
    """The machine refused a request, for example disk space, or the test bed itself failed."""
