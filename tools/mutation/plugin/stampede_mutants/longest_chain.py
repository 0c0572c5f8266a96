"""Mutants of the longest chain: slots, fork choice, and what a leader writes before it sends."""

from dataclasses import replace
from functools import partial
from typing import Any, Final

import validators.consensus.longest_chain.engine as chain_engine
from checker.mutants.mutant import mutant
from stampede_mutants.consensus import CUT
from validators.consensus.interface import Append
from validators.consensus.longest_chain import sealing
from validators.consensus.longest_chain.engine import LongestChain
from validators.consensus.longest_chain.slots import SlotBook
from validators.consensus.longest_chain.tree import ForkTree

_mutant = partial(mutant, area="consensus")

LONGEST_CHAIN: Final = 'consensus.engine="longest-chain"'

LOTTERY: Final = 'consensus.longest_chain={leaders="lottery", empty_slot_share_ppm=300_000}'
"""Leaders are drawn, and of ten slots three have none."""

CRASH: Final = 'faults={down={kind="crash", validator=0, at_ms=9_300, restart_ms=11_400}}'


@_mutant(
    (chain_engine, "leader_of"), (sealing, "leader_of"), kills=("leaders",), needs=(LONGEST_CHAIN, LOTTERY), on_all=True
)
def empty_slots_led(leader_of: Any, _original: Any) -> Any:
    """A slot that the lottery gives to nobody is led by a validator all the same."""

    def leader_always(view: int, validators: int, config: Any) -> int:
        return int(leader_of(view, validators, replace(config, empty_slot_share_ppm=0)))

    return leader_always, leader_always


@_mutant((SlotBook, "hold"), kills=("consensus",), needs=(LONGEST_CHAIN,), on_all=True)
def blocks_of_the_present_slot_wait(hold: Any) -> Any:
    """A block is followed when its slot is over."""

    def hold_longer(self: Any, facts: Any, seal: bytes) -> Any:
        entered, self._entered = self._entered, max(self._entered - 2, min(self._entered, 1))
        try:
            return hold(self, facts, seal)
        finally:
            self._entered = entered

    return hold_longer


@_mutant((LongestChain, "_propose"), kills=("write-ahead",), needs=(LONGEST_CHAIN, CRASH))
def sealed_before_written(propose: Any) -> Any:
    """A leader sends its sealed block without a word in its journal."""

    def propose_unwritten(self: Any, view: int, facts: Any) -> None:
        propose(self, view, facts)
        self._effects = [each for each in self._effects if not isinstance(each, Append)]

    return propose_unwritten


@_mutant((ForkTree, "best"), kills=("agreement",), needs=(LONGEST_CHAIN, CUT), on_all=True)
def branches_never_left(_original: Any) -> Any:
    """A validator follows only what stands on its head, however long another branch is."""

    def best_on_head(self: Any) -> Any:
        found = [block for block in self.blocks() if block.can_follow and block.facts.parent == self.head.digest]
        return min(found, key=lambda block: block.facts.digest, default=None)

    return best_on_head
