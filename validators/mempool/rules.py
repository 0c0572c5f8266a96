"""The coverage points of the mempool: accepted, refused and repeated transactions."""

import enum

from scheduler import CoveragePoint


@enum.unique
class PoolRule(CoveragePoint):
    """Branches of the rules of mempool and gossip."""

    NONCE_SPENT = "design.md", "A transaction comes whose nonce a final block has."
    NONCE_TAKEN = "design.md", "A transaction comes whose nonce another transaction in the pool has."
    KNOWN_AGAIN = "design.md", "A peer sends a transaction that waits here already."
    HANDED_IN_AGAIN = "design.md", "A client hands in a transaction that waits here already."
    VOIDED_BY_SNAPSHOT = "design.md", "The state of a snapshot makes waiting transactions void."
    SENDER_WAITS_TWICE = "design.md", "Two transactions of one sender wait at once."
    PART_FULL = "design.md", "More transactions wait than go to a peer at once."
    SENT_AGAIN = "design.md", "A transaction that waits is sent to the next peer."
