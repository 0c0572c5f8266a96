"""The policy oracle of `fifo`: the rules of CIP-5, which are the defaults of a policy oracle."""

from typing import ClassVar

from checker.oracle.policies.policy import PolicyOracle


class FifoOracle(PolicyOracle):
    """First in, first out."""

    name: ClassVar[str] = "fifo"
    follows: ClassVar[tuple[str, ...]] = ("fifo-free", "bias-auction")
