"""A vote in the name of another validator: refused by every receiver; who asks cuts its sender off for a time."""

import pytest

from checker.record.streams import iterate_events
from faults.events import Tampered
from network.events import events_of_type
from tests.support.cluster_runs import result_of
from tests.support.keystones import first_of
from validators.events import MessageRefused, PeerAdmitted, PeerBlocked

REASONS = {
    "simplex": ("signer is not the sender", ("Notarize", "Nullify", "Finalize")),
    "hotstuff": ("signer is not the sender", ("BlockVote", "ViewTimeout")),
    "longest-chain": ("invalid seal", ("Announcement",)),
}


def log_of(result):
    return [*iterate_events(bytes(result.log))]


@pytest.mark.parametrize("engine", first_of(REASONS))
def test_each_engine_refuses_an_impersonator_and_cuts_it_off(engine):
    reason, kinds = REASONS[engine]

    result = result_of("impersonator", f"consensus.engine={engine}")

    log = log_of(result)
    forged = [body for _, body in events_of_type(log, Tampered)]
    refused = [body for _, body in events_of_type(log, MessageRefused)]
    blocked = [(event, body) for event, body in events_of_type(log, PeerBlocked)]
    assert result.verdict == "passed", result.headline
    assert {(body.message in kinds, body.reason) for body in refused} == {(True, reason)}
    # Each refusal cuts the sender off, so that most of the forged votes are not read.
    assert len(refused) == len(blocked) < sum(len(body.to) for body in forged)
    assert {(event.node, body.peer, body.blocked_us) for event, body in blocked} == {
        (node, 1, 4_000_000) for node in (0, 2, 3)
    }
    ends = {(event.node, event.at_us) for event, _ in events_of_type(log, PeerAdmitted)}
    assert ends == {(event.node, event.at_us + 4_000_000) for event, _ in blocked}


def test_evidence_cuts_its_signer_off():
    result = result_of("conflicting-votes", "consensus.blocks_peers_ms=3_000")

    blocked = [body for _, body in events_of_type(log_of(result), PeerBlocked)]
    assert result.verdict == "passed", result.headline
    assert {body.peer for body in blocked} == {1}
    assert {body.reason for body in blocked} == {"evidence: ConflictingNotarize", "evidence: ConflictingFinalize"}
