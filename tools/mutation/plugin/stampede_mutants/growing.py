"""Mutants whose memory grows or goes stale: no vote and no root is wrong, and a run is too short to end by it."""

from typing import Any

from checker.mutants.mutant import mutant
from stampede_mutants.storage import PRUNED_SOON
from validators.consensus.simplex.views import Views
from validators.execution.view import DecodedCache
from validators.mempool.pool import Mempool
from validators.pruning import JournalPruner
from validators.sync.block_exchange import BlockExchange
from validators.sync.follower import Follower


@mutant((Mempool, "remove_included"), area="network", kills=("derived",))
def room_is_never_given_back(remove: Any) -> Any:
    """A mempool goes on counting the bytes of transactions that were included."""

    def remove_and_count_on(self: Any, included: Any) -> None:
        given_bytes = dict(self._given_bytes)
        remove(self, included)
        self._given_bytes.update(given_bytes)

    return remove_and_count_on


@mutant((Follower, "prune"), area="network", kills=("derived",))
def final_blocks_stay_in_the_follower(_original: Any) -> Any:
    """A follower keeps blocks that finality has made history."""
    return lambda _self: None


@mutant((BlockExchange, "_forget"), area="network", kills=("derived",))
def first_peers_are_remembered(forget: Any) -> Any:
    """The peer that was to be asked first for a block is remembered when the block is there."""

    def forget_all_else(self: Any, digest: bytes) -> None:
        first = self._first_peer.get(digest)
        forget(self, digest)
        if first is not None:
            self._first_peer[digest] = first

    return forget_all_else


@mutant((Views, "finalize"), area="consensus", kills=("derived",), needs=(PRUNED_SOON,))
def rounds_are_never_dropped(finalize: Any) -> Any:
    """Views far below the finalized one are kept for ever."""

    def finalize_and_keep(self: Any, finalization: Any) -> None:
        rounds = self._rounds
        finalize(self, finalization)
        self._rounds = rounds

    return finalize_and_keep


@mutant((DecodedCache, "forget"), area="execution", kills=("derived",))
def records_of_deleted_keys_stay(_original: Any) -> Any:
    """Decoded records whose keys are gone for good are kept."""
    return lambda _self, _key: None


@mutant((JournalPruner, "_is_due"), area="storage", kills=("derived",), needs=(PRUNED_SOON,))
def journal_never_pruned(_original: Any) -> Any:
    """The vote journal grows for ever."""
    return lambda _self, _finality: False
