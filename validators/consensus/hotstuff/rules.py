"""The coverage points of HotStuff: ends of views, effects of certificates, evidence, restarts."""

import enum

from scheduler import CoveragePoint


@enum.unique
class HotStuffRule(CoveragePoint):
    """Branches of the rules of HotStuff."""

    LEFT_BY_EXPIRY = "hotstuff.md", "A view is given up because its timer expires."
    LEFT_WITH_OTHERS = "hotstuff.md", "A validator follows f + 1 peers into a later view."
    LEFT_BY_TIMEOUT_CERTIFICATE = "hotstuff.md", "A quorum's timeouts end a view."
    TIMEOUT_REPEATED = "hotstuff.md", "A timeout is sent again, because nobody has followed."
    GIVEN_UP_AFTER_VOTE = "hotstuff.md", "A validator gives up a view in which it has voted."
    VIEWS_BETWEEN = "hotstuff.md", "A block is final on a parent that is not of the view before."
    SEVERAL_FINAL = "hotstuff.md", "One certificate makes several blocks final."
    ROLLED_BACK = "hotstuff.md", "An executed block loses to another branch."
    CERTIFICATION_REFUSED = (
        "hotstuff.md",
        "A validator refuses to certify a block with a quorum's votes.",
        "hotstuff-refusals",
    )
    VERIFIED_AFTER_EXPIRY = "hotstuff.md", "A block is verified when its view has been given up already."
    VOTE_FOUND = "hotstuff.md", "A restarted validator finds a vote in its journal."
    VOTES_CONFLICT = "hotstuff.md", "A validator holds two votes of one signer and view."
    FLOOR_ADOPTED = "hotstuff.md", "A joiner goes on from the finality that its snapshot ends with."
