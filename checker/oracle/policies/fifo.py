"""The policy oracle of `fifo`: CIP-5, which is what the form of a policy oracle has by itself."""

from typing import ClassVar

from checker.oracle.policies.policy import PolicyOracle


class FifoOracle(PolicyOracle):
    """First in, first out."""

    name: ClassVar[str] = "fifo"
    follows: ClassVar[tuple[str, ...]] = ("fifo-free", "bias-auction")
