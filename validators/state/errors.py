"""Errors of the state database, named after the event that they report."""


class StateFault(Exception):  # noqa: N818 - names say what happened to the batch or log, as the callers speak of it
    """Base of all refusals of the state database."""


class BadKey(StateFault):
    """A key is not exactly 32 bytes long."""


class BadValue(StateFault):
    """A value does not fit the database's encoding."""


class CorruptLog(StateFault):
    """A database of this encoding cannot have written an operation log."""


class NotMerkleized(StateFault):
    """A result was asked of a batch before it was merkleized."""


class SealedBatch(StateFault):
    """A batch that already has its root cannot change."""


class StaleBatch(StateFault):
    """A batch does not extend the committed tip of this database, so it cannot be applied."""


class DeadBranch(StateFault):
    """A batch was used whose branch was dropped or lost to an applied sibling."""


class PrunedLocation(StateFault):
    """A pruned operation was requested."""


class NotRetained(StateFault):
    """A rewind goes further back than the database retains."""


class AbsentKey(StateFault):
    """A proof was requested of a key that the database does not have."""


class ForgedSnapshot(StateFault):
    """A snapshot does not lead to the root that it was asked for."""
