"""Mutants of the longest chain: slots, fork choice, depth, and what a restart remembers."""

from dataclasses import replace
from functools import partial
from typing import Any, Final

import validators.consensus.longest_chain.engine as chain_engine
from checker.mutants.mutant import mutant
from stampede_mutants.state import EARLY_APPLY
from validators.consensus.interface import Append
from validators.consensus.longest_chain import sealing, tree
from validators.consensus.longest_chain.engine import LongestChain
from validators.consensus.longest_chain.slots import SlotBook
from validators.consensus.longest_chain.tree import ForkTree
from validators.header_rules import HeaderRules
from validators.state.database import Database

_mutant = partial(mutant, area="consensus")

LONGEST_CHAIN: Final = 'consensus.engine="longest-chain"'

LOTTERY: Final = 'consensus.longest_chain={leaders="lottery", empty_slot_share_ppm=300_000}'
"""Leaders are drawn, and of ten slots three have none."""

CUT: Final = 'faults={split={kind="partition", groups=[[0, 1], [2, 3]], start_ms=3_000, stop_ms=12_400}}'
"""Both halves build branches of equal lengths."""

CRASH: Final = 'faults={down={kind="crash", validator=0, at_ms=9_300, restart_ms=11_400}}'

CLOCK: Final = (
    'faults={ahead={kind="clock-offset", validators=[0, 1], start_ms=3_000, stop_ms=12_000, offset_ms=4_000}}'
)
"""Blocks of slots come that others have not reached."""

AHEAD: Final = (
    'faults={ahead={kind="byzantine", behaviour="propose-ahead", validator=2, start_ms=3_000, stop_ms=14_000}}'
)
"""A leader sends blocks of slots that others lead."""

DROPPED: Final = (
    "faults={"
    'this-way={kind="rule", action="drop", from=[0, 1], to=[2, 3], start_ms=3_000, stop_ms=23_000}, '
    'that-way={kind="rule", action="drop", from=[2, 3], to=[0, 1], start_ms=3_000, stop_ms=23_000}}'
)
"""Both halves make their branches final before the eyes of an observer that hears both."""

SHALLOW: Final = (
    'consensus={engine="longest-chain", longest_chain={slot_ms=500, finality_depth=4}}',
    'expect.fails=["agreement"]',
    'observers={plain={kind="finalized-only"}}',
)
"""The depth is less than the cut is long, and an observer follows heads by their headers alone."""


@_mutant((tree, "is_better"), kills=("consensus",), on_all=True, needs=(LONGEST_CHAIN, CUT))
def latest_of_equals_followed(_original: Any) -> Any:
    """Of two branches of one height the one that comes last is followed."""
    return lambda block, other: block.height >= other.height and block.digest != other.digest


@_mutant((LongestChain, "_follow"), kills=("consensus",), needs=(LONGEST_CHAIN, CUT))
def final_one_block_early(follow: Any) -> Any:
    """A block is final one block before it is deep enough."""

    def follow_early(self: Any, block: Any) -> None:
        kept = self._config
        self._config = _shallower(kept)
        follow(self, block)
        self._config = kept

    return follow_early


def _shallower(config: Any) -> Any:
    """Return a configuration whose depth of finality is less by one block."""
    return replace(config, finality_depth=config.finality_depth - 1)


@_mutant(
    (chain_engine, "leader_of"), (sealing, "leader_of"), kills=("leaders",), needs=(LONGEST_CHAIN, LOTTERY), on_all=True
)
def empty_slots_led(leader_of: Any, _original: Any) -> Any:
    """A slot that the lottery gives to nobody is led by a validator all the same."""

    def leader_always(view: int, validators: int, config: Any) -> int:
        return int(leader_of(view, validators, replace(config, empty_slot_share_ppm=0)))

    return leader_always, leader_always


@_mutant((SlotBook, "hold"), kills=("consensus",), needs=(LONGEST_CHAIN, CLOCK), on_all=True)
def future_slots_followed(_original: Any) -> Any:
    """A block is followed however far its slot is ahead of the validator's clock."""
    return lambda _self, _facts, _seal: False


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


@_mutant((SlotBook, "remember"), kills=("consensus",), needs=(LONGEST_CHAIN, CRASH), on_all=True)
def sealed_slots_forgotten(_original: Any) -> Any:
    """A restarted validator takes no slot of its journal for one that it has sealed."""
    return lambda _self, _view, **_is_own: None


@_mutant((ForkTree, "finalize"), kills=("consensus",), needs=(LONGEST_CHAIN, CRASH))
def head_left_at_finality(finalize: Any) -> Any:
    """A validator goes back to its final block each time there is a new one."""

    def finalize_and_go_back(self: Any, facts: Any) -> None:
        finalize(self, facts)
        self.head = facts

    return finalize_and_go_back


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


@_mutant((LongestChain, "_build"), kills=("finality-regained",), needs=(LONGEST_CHAIN, CRASH), on_all=True)
def built_on_the_final_block(build: Any) -> Any:
    """A leader builds on the final block instead of the head."""

    def build_below(self: Any, view: int) -> None:
        head, self._tree.head = self._tree.head, self._tree.floor
        build(self, view)
        self._tree.head = head

    return build_below


@_mutant(
    (sealing, "find_seal_fault"),
    (HeaderRules, "is_of_view"),
    kills=("leaders",),
    needs=(LONGEST_CHAIN, AHEAD),
    on_all=True,
)
def leader_unchecked(find_seal_fault: Any, _is_of_view: Any) -> Any:
    """A block is taken whoever proposed it, if its slot and its seal are sound."""

    def find_other_fault(scheme: Any, block: Any, seal: bytes, validators: int, *, config: Any) -> str:
        fault: str = find_seal_fault(scheme, block, seal, validators, config=config)
        return "" if fault == sealing.WRONG_LEADER else fault

    return find_other_fault, lambda _self, header, view: header.view == view


@_mutant((ForkTree, "_may_stand"), kills=("consensus",), needs=(*SHALLOW, DROPPED), on_observer=True)
def adopts_below_final(_original: Any) -> Any:
    """A replica follows a branch that forks below its final block."""
    return lambda _self, _facts: True


@_mutant((Database, "rewind"), kills=("agreement", "operation-log"), needs=(LONGEST_CHAIN, CUT, EARLY_APPLY))
def undo_one_too_few(rewind: Any) -> Any:
    """A switch of heads undoes one block fewer than it leaves."""
    return lambda self, batches: rewind(self, max(batches - 1, 0))
