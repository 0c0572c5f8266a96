"""Makes a differential case smaller while it fails in the same way: fewer timers, transactions, accounts, blocks.

The reductions are tried in a fixed order, the greatest pieces first, and the first that keeps the signature is taken.
So the result depends on the case alone.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from cluster.campaign.shrink import halves
from cluster.differential.cases import BlockCase, Case, ChainCase
from validators.execution.block_tree import ApplyMode

ATTEMPTS_MAX: Final = 400
"""Attempts after which shrinking stops with its smallest case so far."""

_LISTS: Final = ("transactions", "timers", "accounts", "scheduled")
_PARTS: Final = ("lane", "auction", "own_config")


def make_smaller(case: Case, fails: Callable[[Case], bool], attempts_max: int = ATTEMPTS_MAX) -> tuple[Case, int]:
    """Return the smallest failing case found, and the number of attempts.

    Args:
        case: A case that fails.
        fails: Whether another case fails in the same way.
        attempts_max: The most attempts.
    """
    attempts, is_smaller = 0, True
    while is_smaller:
        is_smaller = False
        for smaller in _reductions(case):
            if attempts >= attempts_max:
                return case, attempts
            attempts += 1
            if fails(smaller):
                case, is_smaller = smaller, True
                break
    return case, attempts


def _reductions(case: Case) -> Iterator[Case]:
    yield from _of_chain(case) if isinstance(case, ChainCase) else _of_block(case)
    for name in ("actors", "accounts", "system_deployers"):
        for fewer in _shorter(getattr(case.genesis, name)):
            genesis = msgspec.structs.replace(case.genesis, **{name: fewer})
            yield msgspec.structs.replace(case, genesis=genesis)


def _shorter(values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the list without all entries, without halves, quarters, down to single entries."""
    for removed in halves(range(len(values))):
        yield tuple(value for place, value in enumerate(values) if not removed[0] <= place <= removed[-1])


def _of_block(case: BlockCase) -> Iterator[BlockCase]:
    for name in _LISTS:
        for fewer in _shorter(getattr(case, name)):
            yield msgspec.structs.replace(case, **{name: fewer})
    for name in _PARTS:
        if getattr(case, name) is not None:
            yield msgspec.structs.replace(case, **{name: None})
    if case.timer_config != case.genesis.timer_config:
        yield msgspec.structs.replace(case, timer_config=case.genesis.timer_config)
    yield from _of_queue(case)
    yield from _plainer_timers(case)


def _of_queue(case: BlockCase) -> Iterator[BlockCase]:
    if case.queue is None:
        return
    for name in ("marks", "numbers", "slots"):
        for fewer in _shorter(getattr(case.queue, name)):
            yield msgspec.structs.replace(case, queue=msgspec.structs.replace(case.queue, **{name: fewer}))


def _plainer_timers(case: BlockCase) -> Iterator[BlockCase]:
    """Yield the case with one timer that carries, offers or has in escrow less."""
    for place, timer in enumerate(case.timers):
        for change in ({"payload": b""}, {"quote": None}, {"bid": 0}):
            plain = msgspec.structs.replace(timer, **change)
            # An entry of the queue has a price.
            if plain != timer and not (case.queue and plain.quote is None):
                timers = (*case.timers[:place], plain, *case.timers[place + 1 :])
                yield msgspec.structs.replace(case, timers=timers)


def _of_chain(case: ChainCase) -> Iterator[ChainCase]:
    for removed in halves(range(len(case.blocks))):
        yield _without_blocks(case, range(removed[0], removed[-1] + 1))
    for removed in halves(range(len(case.transactions))):
        yield _without_transactions(case, range(removed[0], removed[-1] + 1))
    if case.mode != ApplyMode():
        yield msgspec.structs.replace(case, mode=ApplyMode())


def _without_blocks(case: ChainCase, removed: range) -> ChainCase:
    """Leave blocks out: children move to the removed block's parent; the last block on the winning branch is final."""
    places, blocks = [0], list[Any]()
    for place, block in enumerate(case.blocks):
        parent = places[block.parent]
        if place in removed:
            places.append(parent)
        else:
            blocks.append(msgspec.structs.replace(block, parent=parent))
            places.append(len(blocks))
    kept = [place for place, block in enumerate(blocks) if not block.is_given_up]
    if kept:
        blocks[kept[-1]] = msgspec.structs.replace(blocks[kept[-1]], is_final=True)
    return msgspec.structs.replace(case, blocks=tuple(blocks))


def _without_transactions(case: ChainCase, removed: range) -> ChainCase:
    kept = [place for place in range(len(case.transactions)) if place not in removed]
    places = {place: index for index, place in enumerate(kept)}
    blocks = tuple(
        msgspec.structs.replace(block, offered=tuple(places[place] for place in block.offered if place in places))
        for block in case.blocks
    )
    return msgspec.structs.replace(case, transactions=tuple(case.transactions[place] for place in kept), blocks=blocks)
