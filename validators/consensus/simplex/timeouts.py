"""Giving a view up: the reasons, and the timers of the current view as effects."""

from enum import StrEnum
from typing import Final

from validators.consensus.interface import CancelTimer, Effect, ReportActivity, Send, SetTimer
from validators.consensus.simplex.config import SimplexConfig
from validators.consensus.simplex.election import TICKS_PER_SKIP, LeaderActivity
from validators.consensus.simplex.rounds import Certified, Round
from validators.consensus.simplex.views import Views

LEADER_TIMER: Final = "leader"
CERTIFICATION_TIMER: Final = "certification"
RETRY_TIMER: Final = "retry"
VIEW_TIMERS: Final = (LEADER_TIMER, CERTIFICATION_TIMER, RETRY_TIMER)
"""Their numbers are those of views."""
ACTIVITY_TIMER: Final = "activity"
"""Its number is that of the tick, not a view."""

TIMED_OUT: Final = "TimedOut"
"""The activity of a report that this validator gives up a view."""


class TimeoutReason(StrEnum):
    """Reasons to leave a view (docs/simplex.md); only the first in a view counts."""

    INACTIVITY = "Inactivity"
    LEADER_NULLIFY = "LeaderNullify"
    LEADER_TIMEOUT = "LeaderTimeout"
    CERTIFICATION_TIMEOUT = "CertificationTimeout"
    MISSING_PROPOSAL = "MissingProposal"
    IGNORED_PROPOSAL = "IgnoredProposal"
    INVALID_PROPOSAL = "InvalidProposal"
    FAILED_CERTIFICATION = "FailedCertification"


def arm_timers(entered: Round, config: SimplexConfig) -> list[Effect]:
    """Start waiting for a certified proposal, and for the leader unless its proposal is here already."""
    armed: list[Effect] = [SetTimer(CERTIFICATION_TIMER, entered.view, config.certification_timeout_us)]
    if entered.proposal is None:
        armed.append(SetTimer(LEADER_TIMER, entered.view, config.leader_timeout_us))
    return armed


def cancel_waits(view: int) -> list[Effect]:
    """Stop waiting for a proposal and its certification."""
    return [CancelTimer(LEADER_TIMER, view), CancelTimer(CERTIFICATION_TIMER, view)]


def find_reason_to_leave(entered: Round, *, is_leader_silent: bool) -> TimeoutReason | None:
    """Return the reason not to wait for a view that is just being entered, or None."""
    if entered.certified is Certified.FAILED:
        return TimeoutReason.FAILED_CERTIFICATION
    if entered.leader in entered.votes.nullifies:
        return TimeoutReason.LEADER_NULLIFY
    # A silent leader whose proposal has come nevertheless need not be skipped.
    is_proposal_here = entered.proposal is not None and not entered.is_equivocated
    return TimeoutReason.INACTIVITY if is_leader_silent and not is_proposal_here else None


def give_up(current: Round, reason: TimeoutReason, config: SimplexConfig) -> list[Effect]:
    """Record the reason, stop waiting, and prepare to repeat our nullify."""
    current.timeout_reason = reason
    return [
        ReportActivity(TIMED_OUT, current.leader, current.view, reason.value),
        *cancel_waits(current.view),
        SetTimer(RETRY_TIMER, current.view, config.timeout_retry_us),
    ]


def tick_timer(activity: LeaderActivity, config: SimplexConfig) -> Effect:
    """Return the timer of the next activity tick; its number is the tick, where other timers have a view."""
    # At least 1 us, because a timer of 0 us would fire without end in the same instant.
    return SetTimer(ACTIVITY_TIMER, activity.tick + 1, max(1, config.skip_timeout_us // TICKS_PER_SKIP))


def count_tick(activity: LeaderActivity, number: int, config: SimplexConfig) -> list[Effect]:
    """Count the tick of this number, unless it was counted, and wait for the next tick."""
    # A tick that was counted before the timer was set again must not count twice.
    if number != activity.tick + 1:
        return []
    activity.advance()
    return [tick_timer(activity, config)]


def repeat_nullify(views: Views, config: SimplexConfig) -> list[Effect]:
    """Repeat our nullify for the current view, with the certificate that peers need to enter it."""
    nullify = views.round(views.current).own_nullify
    assert nullify is not None, "only what was sent can be sent again"
    entry = views.entry_certificate()
    effects: list[Effect] = [Send(None, nullify)]
    # A peer far behind refuses our nullify until this certificate has brought it to our view.
    if entry is not None:
        effects.append(Send(None, entry))
    return [*effects, SetTimer(RETRY_TIMER, nullify.view, config.timeout_retry_us)]
