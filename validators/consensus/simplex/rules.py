"""The coverage points of Simplex: reasons to leave a view, effects of certificates, evidence, restarts."""

import enum

from scheduler import CoveragePoint


@enum.unique
class SimplexRule(CoveragePoint):
    """Branches of the rules of Simplex."""

    LEFT_BY_INACTIVITY = "simplex.md", "A view is left at once because its leader was silent for long."
    LEFT_BY_LEADER_NULLIFY = "simplex.md", "A view is left because its leader wants to leave it."
    LEFT_BY_LEADER_TIMEOUT = "simplex.md", "A view is left because its leader's proposal does not come."
    LEFT_BY_CERTIFICATION_TIMEOUT = "simplex.md", "A view is left because no certified block comes."
    LEFT_BY_MISSING_PROPOSAL = (
        "simplex.md",
        "A leader gives its own view up: nothing to propose, or a restart in it.",
    )
    LEFT_BY_IGNORED_PROPOSAL = "simplex.md", "A view is left because its proposal cannot be judged here."
    LEFT_BY_INVALID_PROPOSAL = "simplex.md", "A view is left because its proposal is not valid."
    LEFT_BY_FAILED_CERTIFICATION = (
        "simplex.md",
        "A view is left because its notarized block failed certification.",
        "blind-colluders",
    )
    NULLIFIED_AFTER_NOTARIZE = "simplex.md", "A validator leaves a view whose block it voted for."
    NULLIFY_REPEATED = "simplex.md", "A validator says again that it wants to leave its view."
    NULLIFY_REPEATED_TWICE = "simplex.md", "A validator says for the third time that it wants to leave a view."
    TWO_CERTIFICATES = "simplex.md", "A validator holds the notarization and the nullification of one view."
    VIEWS_SKIPPED = "simplex.md", "A block is final on a parent that is not of the view before."
    SEVERAL_FINAL_AT_ONCE = "simplex.md", "One finalization makes several blocks final."
    CERTIFICATE_REQUESTED = "simplex.md", "A validator asks for a certificate that it lacks."
    CERTIFICATE_REQUESTED_AGAIN = "simplex.md", "A second peer is asked for a certificate."
    CERTIFICATE_SERVED = "simplex.md", "A validator answers a question for a certificate."
    VERIFIED_TOO_LATE = "simplex.md", "A block is verified when its view has been given up already."
    UNCERTIFIED = "simplex.md", "A validator refuses to certify a notarized block.", "blind-colluders"
    VOTE_KEPT = "simplex.md", "A restarted validator finds a vote of an unfinished view in its journal."
    RESTARTED_AS_LEADER = "simplex.md", "A validator restarts in a view that it leads."
    CONFLICTING_NOTARIZE = "simplex.md", "A validator holds two notarizes of one signer and view."
    CONFLICTING_FINALIZE = "simplex.md", "A validator holds two finalizes of one signer and view."
    NULLIFY_FINALIZE = "simplex.md", "A validator holds a nullify and a finalize of one signer and view."
