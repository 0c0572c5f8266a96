"""A vote in the name of another validator: refused by every receiver, whatever the engine."""

import pytest

from checker.record.streams import iterate_events
from faults.events import Tampered
from network.events import events_of_type
from tests.support.cluster_runs import result_of
from validators.events import MessageRefused

FAULT = 'faults={it={kind="byzantine", validator=1, behaviour="impersonate", start_ms=1_000, stop_ms=9_000}}'

REASONS = {
    "simplex": ("signer is not the sender", ("Notarize", "Nullify", "Finalize")),
    "hotstuff": ("signer is not the sender", ("BlockVote", "ViewTimeout")),
    "longest-chain": ("invalid seal", ("Announcement",)),
}


@pytest.mark.parametrize("engine", REASONS)
def test_each_engine_refuses_votes_of_an_impersonator(engine):
    reason, kinds = REASONS[engine]

    result = result_of("calm", f"consensus.engine={engine}", FAULT, "run.until_height=8")

    log = [*iterate_events(bytes(result.log))]
    forged = [body for _, body in events_of_type(log, Tampered)]
    refused = [body for _, body in events_of_type(log, MessageRefused)]
    assert result.verdict == "passed", result.headline
    assert {(body.message in kinds, body.reason) for body in refused} == {(True, reason)}
    # Some messages are under way at the end.
    assert 0 < len(refused) <= sum(len(body.to) for body in forged)
