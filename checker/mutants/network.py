"""Variants of how a validator deals with its peers: what it takes from them, asks them for and gives them."""

from typing import Any, Final

from checker.mutants.mutant import Swap, Variant, swap
from validators.mempool.pool import Mempool
from validators.sync import block_exchange
from validators.sync.block_exchange import BlockExchange

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


def _take_any_body() -> list[Swap]:
    return [(block_exchange, "mmr_root", lambda _transactions: _Whatever())]


def _ask_once() -> list[Swap]:
    def make(retry: Any) -> Any:
        def ask_the_first(self: Any, digest: bytes) -> None:
            if not self._attempts.get(digest):
                retry(self, digest)

        return ask_the_first

    return [swap(BlockExchange, "retry", make)]


def _serve_nothing() -> list[Swap]:
    return [(BlockExchange, "serve", lambda _self, _peer, _request: None)]


def _offer_some() -> list[Swap]:
    def make(candidates: Any) -> Any:
        def some(self: Any) -> Any:
            return (each for each in candidates(self) if each.signature[0] % 4)

        return some

    return [swap(Mempool, "candidates", make)]


NETWORK: Final = (
    Variant(
        name="offers-not-all",
        what="a mempool never offers a fourth of its transactions to a leader",
        area="network",
        caught_by=("inclusion",),
        swaps=_offer_some,
        on_all=True,
    ),
    Variant(
        name="block-body-unchecked",
        what="a block is kept under its header's digest whatever its transactions are",
        area="network",
        caught_by=("agreement", "finality-regained"),
        swaps=_take_any_body,
        cause="input",
        needs=(DAMAGED_MESSAGES,),
        shows="transaction",
    ),
    Variant(
        name="asks-once-for-a-block",
        what="a validator that gets no answer does not ask anybody else for a block",
        area="network",
        caught_by=("finality-regained",),
        swaps=_ask_once,
        on_all=True,
    ),
    Variant(
        name="serves-no-blocks",
        what="a validator that missed a block gets it from nobody",
        area="network",
        caught_by=("finality-regained",),
        swaps=_serve_nothing,
        on_all=True,
    ),
)
"""Variants of what validators do with each other's messages."""
