"""Mutants of how a validator deals with its peers: what it takes from them, asks them for and gives them."""

from functools import partial
from typing import Any, Final

from checker.mutants.mutant import mutant
from validators.sync import block_exchange
from validators.sync.block_exchange import BlockExchange

_mutant = partial(mutant, area="network")

DAMAGED_MESSAGES: Final = (
    "faults={"
    'noise={kind="links", corrupt_ppm=150_000, stop_ms=14_000},'
    'late={kind="rule", action="drop", kinds=["BlockResponse"], to=[0, 1], start_ms=3_000, stop_ms=14_000}}'
)
"""Bytes change on all links, for most of the run."""


class _Whatever(bytes):
    """Equal to everything."""

    __slots__ = ()

    def __eq__(self, _other: object) -> bool:
        return True

    def __ne__(self, _other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0


@_mutant(
    (block_exchange, "mmr_root"),
    kills=("agreement", "finality-regained"),
    cause="input",
    needs=(DAMAGED_MESSAGES,),
    shows="transaction",
)
def block_body_unchecked(_original: Any) -> Any:
    """A block is kept under its header's digest whatever its transactions are."""
    return lambda _transactions, _grow=None: _Whatever()


@_mutant((BlockExchange, "retry"), kills=("finality-regained",), on_all=True)
def asks_once_for_a_block(retry: Any) -> Any:
    """A validator that gets no answer does not ask another peer for a block."""

    def ask_the_first(self: Any, digest: bytes) -> None:
        if not self._attempts.get(digest):
            retry(self, digest)

    return ask_the_first


@_mutant((BlockExchange, "serve"), kills=("finality-regained",), on_all=True)
def serves_no_blocks(_original: Any) -> Any:
    """A validator that missed a block gets it from no peer."""
    return lambda _self, _peer, _request: None
