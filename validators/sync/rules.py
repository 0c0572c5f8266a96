"""The coverage points of catching up: single blocks, snapshots, answers and refusals."""

import enum

from scheduler import CoveragePoint


@enum.unique
class SyncRule(CoveragePoint):
    """Branches of the rules of block exchange, snapshots and the follower."""

    BLOCK_REQUESTED = "design.md", "A validator asks a peer for a block."
    BLOCK_REQUESTED_AGAIN = "design.md", "A second peer is asked for a block."
    BLOCK_SERVED = "design.md", "A validator sends a peer blocks."
    BLOCK_OF_LOST_BRANCH = "design.md", "A wanted block lies on a branch that lost.", "f-plus-one-equivocate"
    PROPOSAL_TOO_EARLY = "design.md", "A proposal's time is too far ahead of the local clock."
    ANSWERS_LIMITED = "design.md", "A peer has had its answers of this second."
    ANSWER_UNDER_WAY = "design.md", "A peer asks again while its answer is being prepared."
    SNAPSHOT_REQUESTED = "design.md", "A validator far behind asks for a snapshot."
    SNAPSHOT_IN_PIECES = "design.md", "A snapshot comes in more than one piece."
    SNAPSHOT_UNANSWERED = "design.md", "A peer does not answer a joiner, and the next peer is asked."
    SNAPSHOT_TOO_OLD = (
        "design.md",
        "A snapshot is offered that is no better than the joiner's state.",
        "forged-snapshots",
    )
    SNAPSHOT_GIVEN_UP = "design.md", "No peer has a snapshot, and the blocks are fetched instead.", "no-snapshot"
    SNAPSHOT_FORGED = "design.md", "An offered snapshot does not prove its claims."
    SNAPSHOT_JOINED = "design.md", "A validator goes on from a peer's snapshot."
    SNAPSHOT_OF_JOINER = (
        "design.md",
        "A validator joins from the snapshot of a peer that joined from a snapshot.",
    )
    SNAPSHOT_JOINED_THRICE = "design.md", "A validator goes on from a snapshot for the third time."
    FINAL_BY_BLOCKS = "design.md", "A validator that was behind executes a chain of final blocks at once."
    PEER_BLOCKED = (
        "byzantine.md",
        "A validator cuts off a peer that sent what no honest validator sends.",
        "impersonator",
    )
    PEER_ADMITTED = "byzantine.md", "A validator hears a peer again that it had cut off.", "impersonator"
