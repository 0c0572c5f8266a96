"""The fault model N3f1: of n validators f = (n - 1) // 3 may be Byzantine, and a quorum is n - f."""


def faults_of(validators: int) -> int:
    """Return f, how many of `validators` may be Byzantine."""
    return (validators - 1) // 3


def quorum_of(validators: int) -> int:
    """Return how many votes make a certificate."""
    return validators - faults_of(validators)
