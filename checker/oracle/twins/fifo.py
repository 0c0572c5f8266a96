"""The twin of `fifo`: CIP-5, which is what the form of a twin has by itself."""

from typing import ClassVar

from checker.oracle.twins.twin import Twin


class FifoTwin(Twin):
    """First in, first out."""

    name: ClassVar[str] = "fifo"
    follows: ClassVar[tuple[str, ...]] = ("fifo-free", "bias-auction")
