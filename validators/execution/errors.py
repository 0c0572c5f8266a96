"""Errors of blocks, transactions, genesis and logs, typed and with the values in the message."""


class InvalidEncodingError(Exception):
    """Bytes are not the one canonical encoding of their type, or exceed their limit."""


class InvalidBlockError(Exception):
    """A block breaks a rule, which `reason` names.

    `own_root` is the state root after its execution, where it could be executed and only its roots are wrong.
    """

    def __init__(self, reason: str, own_root: bytes | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.own_root = own_root


class InvalidTransactionError(Exception):
    """A transaction is not valid in this block; `reason` names the rule. Nothing was written."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnknownBlockError(Exception):
    """A block is neither executed here nor the last finalized block."""

    def __init__(self, digest: bytes) -> None:
        super().__init__(f"block {digest.hex()} is not executed here")


class UnknownParentError(Exception):
    """A block's parent is neither executed here nor the last finalized block, or its branch has lost."""

    def __init__(self, parent: bytes) -> None:
        super().__init__(f"parent {parent.hex()} is neither executed nor finalized here")


class RootMismatchError(Exception):
    """A log read back does not lead to the state root of the last finalized header."""

    def __init__(self, height: int, expected: bytes, actual: bytes) -> None:
        super().__init__(f"at height {height} the log leads to root {actual.hex()}, the header has {expected.hex()}")


class LostBlockError(Exception):
    """A log leads to a block that its state machine must execute again, and the block is not here any more."""

    def __init__(self, height: int) -> None:
        super().__init__(f"the block of height {height} that has to be executed again is lost")


class InvalidGenesisError(Exception):
    """A genesis that no chain can start from."""


class CorruptStateError(Exception):
    """A key or value of the state cannot be decoded: the database holds an entry that no block wrote."""
