"""The check of HotStuff's views: votes, proposals, views given up and waits, each once as it must be and once not."""

import pytest

from checker.checks.planned import PlannedRun
from checker.checks.rules.hotstuff_views import ViewChanges
from network.events import Event, Sent, TimerElapsed
from tests.support.checks import make_run, show
from validators.events import CertificateHeld, Entered, Reported, Voted

SECOND_US = 1_000_000
PLAN = PlannedRun(certification_timeout_us=3 * SECOND_US, view_timeout_max_us=12 * SECOND_US)


def at(second, body, node=0):
    return Event(second * SECOND_US, node, body)


def sends(label, view, to=1):
    return Sent(to, 1, label, 10, b"", view)


def expires(view, seconds):
    return TimerElapsed(("consensus", "view", view), seconds * SECOND_US)


def gives_up(view, reason="ViewExpired"):
    return Reported("TimedOut", 0, view, reason)


def certified(view):
    return CertificateHeld("quorum-certificate", view, bytes(32), (0, 1, 2))


def timed_out(view):
    return CertificateHeld("timeout-certificate", view, bytes(32), (0, 1, 2))


def enters_from(view, *seconds):
    """Return a validator that gives up one view after the other, having waited so long in each."""
    events, now = [at(0, Entered(view, 0))], 0
    for number, wait in enumerate(seconds, view):
        now += wait
        events += [at(now, expires(number, wait)), at(now, gives_up(number)), at(now, Voted("timeout", number, b""))]
        events += [at(now, sends("ViewTimeout", number)), at(now, Entered(number + 1, 0))]
    return events


def says(view, *nodes):
    return [at(1, Voted("timeout", view, b""), node) for node in nodes]


LATE_CERTIFICATE = [
    *enters_from(3, 3, 6),
    at(10, certified(3)),
    *(at(21, body) for body in (expires(5, 12), gives_up(5), Voted("timeout", 5, b""), sends("ViewTimeout", 5))),
    at(21, Entered(6, 0)),
]
"""Two views are given up, then a certificate of the first one comes, and the third is given up."""


def leaves_again(*seconds):
    """Return a validator whose view expires at these times, and says so each time but the last."""
    events = [at(0, Entered(3, 0))]
    for number, second in enumerate(seconds):
        events += [at(second, expires(3, min(3 << number, 12))), at(second, gives_up(3))] if not number else []
        events += [at(second, expires(3, min(3 << number, 12)))] if number else []
        events += [at(second, sends("ViewTimeout", 3))] if second != seconds[-1] else []
    return events


CASES = {
    "a view that is given up at each expiry": (
        [*leaves_again(3, 9), at(9, sends("ViewTimeout", 3)), at(12, Entered(4, 0))],
        "",
    ),
    "a timeout that was the last word": (
        [*leaves_again(3, 9), at(12, Entered(4, 0))],
        "validator 0 in view 3: expired, and that was not said by 9,",
    ),
    "a vote to the next leader": ([at(1, sends("BlockVote", 5, to=3))], ""),
    "a vote to this leader": ([at(1, sends("BlockVote", 5, to=2))], "sent its vote to 2, and 3 leads next"),
    "a proposal on the view before": ([at(1, certified(7)), at(2, sends("BlockRelay", 8))], ""),
    "a proposal after a quorum's timeouts": ([at(1, timed_out(7)), at(2, sends("BlockRelay", 8))], ""),
    "a proposal after those of an earlier view": (
        [at(1, timed_out(6)), at(2, sends("BlockRelay", 8))],
        "held no certificate of view 7",
    ),
    "a proposal on nothing": ([*says(7, 1, 2, 3), at(2, sends("BlockRelay", 8))], "held no certificate of view 7"),
    "following two others": ([*says(9, 1, 2), at(2, gives_up(5, "PeerTimeouts")), at(2, Voted("timeout", 9, b""))], ""),
    "following one": (
        [*says(9, 1), at(2, gives_up(5, "PeerTimeouts")), at(2, Voted("timeout", 9, b""))],
        "followed others, and 1 had said so",
    ),
    "a view that is skipped": ([at(2, gives_up(5)), at(2, Voted("timeout", 7, b""))], "its timeout names view 7"),
    "waits that double up to the cap": (enters_from(3, 3, 6, 12, 12), ""),
    "a wait that does not double": (enters_from(3, 3, 3), "waited for 3,000 ms, not 6,000 to 6,000 ms"),
    "a wait that is not the first one again": (
        [*enters_from(3, 3, 6), at(10, certified(5)), at(10, Entered(6, 0)), at(22, expires(6, 12))],
        "waited for 12,000 ms, not 3,000 to 3,000 ms",
    ),
    "a wait that began anew with an older certificate": ([*LATE_CERTIFICATE, at(27, expires(6, 6))], ""),
    "a wait that forgets the view after that certificate": (
        [*LATE_CERTIFICATE, at(24, expires(6, 3))],
        "waited for 3,000 ms, not 6,000 to 12,000 ms",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_check_tells_right_from_wrong(name):
    events, fault = CASES[name]
    check = ViewChanges(make_run(plan=PLAN, engine="hotstuff"))
    show(check, *events)
    result = check.finish()

    assert result.status == ("failed" if fault else "passed"), result.summary
    assert fault in result.summary
