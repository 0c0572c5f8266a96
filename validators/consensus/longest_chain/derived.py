"""The fork tree and the slots, beside the same data derived from final block, headers and judgements, for the checks.

A block that lost to the final block only takes room. A waiting block whose slot has come is followed too late. Neither
changes a head by itself. No formula bounds the blocks of a slot, as a Byzantine leader may seal any number of them.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from network.types import Digest
from validators.consensus.interface import HeaderFacts
from validators.consensus.longest_chain.slots import WAITING_MAX, SlotBook
from validators.consensus.longest_chain.tree import LOST_MAX, BlockState, ForkTree, TreeBlock
from validators.derived import Derived, DerivedSize, Plain


def derive_forks(tree: ForkTree, slots: SlotBook) -> Derived:
    """Return blocks, forks, slots and waiting blocks beside the same data rebuilt, with their sizes."""
    waiting, lost = slots.waiting.values(), dict.fromkeys(tree.lost())
    open_slots = max(slots.current - tree.floor.view, 0) + 2
    kept: dict[str, Plain] = {f"block {each.digest.hex()} waits": True for each in waiting}
    rebuilt: dict[str, Plain] = {
        f"block {each.digest.hex()} waits": True for each in waiting if each.view > slots.last_followed
    }
    return Derived(
        part="longest chain",
        kept=kept | _describe_kept(tree, slots),
        rebuilt=rebuilt | _describe_rebuilt(tree, lost),
        sizes=(
            DerivedSize("sealed slots", len(slots.sealed), open_slots, "slots above the final block"),
            DerivedSize("blocks of lost branches", len(lost), LOST_MAX, "LOST_MAX"),
            DerivedSize("blocks of slots to come", len(waiting), WAITING_MAX, "WAITING_MAX"),
        ),
    )


def _describe_kept(tree: ForkTree, slots: SlotBook) -> dict[str, Plain]:
    """Return the data kept of blocks: whether each is followed, its children, and its slot's seal."""
    found: dict[str, Plain] = {"head": tree.head.digest}
    for block in tree.blocks():
        found[_name(block)] = _show(is_followed=block.can_follow, is_bad=block.state is BlockState.BAD)
        if _has_slot(tree, block):
            found[_name_seal(block)] = _is_sealed(slots, block.facts)
    return found | _describe_children(dict(tree.children()))


def _describe_rebuilt(tree: ForkTree, lost: Mapping[Digest, None]) -> dict[str, Plain]:
    """Return the same data from each block's own header and judgement, its ancestors' and the final block."""
    found: dict[str, Plain] = {"head": tree.floor.digest}
    children: dict[Digest, list[Digest]] = {}
    for block in tree.blocks():
        if not _is_above(tree.floor, block.facts) or block.facts.digest in lost or block.facts.parent in lost:
            continue
        children.setdefault(block.facts.parent, []).append(block.facts.digest)
        path = tree.path_to(block.facts.digest)
        is_followed = path[0].facts.parent == tree.floor.digest and all(each.state is BlockState.SOUND for each in path)
        found[_name(block)] = _show(is_followed=is_followed, is_bad=_is_bad(block, path))
        if _has_slot(tree, block):
            found[_name_seal(block)] = True
        if is_followed and block.facts.digest == tree.head.digest:
            found["head"] = block.facts.digest
    return found | _describe_children(children)


def _describe_children(children: Mapping[Digest, Sequence[Digest]]) -> dict[str, Plain]:
    return {f"children of {digest.hex()}": b"".join(each) for digest, each in children.items()}


def _is_above(floor: HeaderFacts, facts: HeaderFacts) -> bool:
    """Return whether a block is above the final block, and extends it where it is the next block."""
    return facts.height > floor.height and (facts.height > floor.height + 1 or facts.parent == floor.digest)


def _is_bad(block: TreeBlock, path: Sequence[TreeBlock]) -> bool:
    """Return whether a block, the last of its path, is never followed: it or an ancestor was refused."""
    return block.state is BlockState.BAD or any(
        below.state is BlockState.BAD
        or above.facts.height != below.facts.height + 1
        or above.facts.view <= below.facts.view
        for below, above in pairwise(path)
    )


def _is_sealed(slots: SlotBook, facts: HeaderFacts) -> bool:
    """Return whether a block is its slot's only known block, or one of at least two, for which the slot holds None."""
    sealed = slots.sealed.get(facts.view)
    return facts.view in slots.sealed and (sealed is None or sealed.header == facts.header)


def _has_slot(tree: ForkTree, block: TreeBlock) -> bool:
    """Return whether a block's slot is still open: slots up to the final block's are forgotten."""
    return block.facts.view > tree.floor.view


def _show(*, is_followed: bool, is_bad: bool) -> str:
    return "bad" if is_bad else "followed" if is_followed else "waiting"


def _name(block: TreeBlock) -> str:
    return f"block {block.facts.digest.hex()}"


def _name_seal(block: TreeBlock) -> str:
    return f"seal of {block.facts.digest.hex()} in its slot"
