"""Attacks on single guards of the longest chain: each is refused for its own reason, and the chain goes on."""

import pytest

from checker.record.streams import iterate_events
from faults.byzantine.longest_chain_heads import ForgeHead
from faults.events import Tampered
from network.events import Sent, events_of_type
from tests.support.cluster_runs import result_of
from tests.support.keystones import first_of, third_of
from validators.events import MessageRefused

ATTACKER = 1


def attacked(what):
    """Return a short run in which a validator attacks, while another is away and asks for heads when it is back."""
    attack = f'kind="byzantine", behaviour="forge-head", what="{what}", validator={ATTACKER}'
    return result_of(
        "calm",
        *('consensus.engine="longest-chain"', "consensus.longest_chain.slot_ms=500"),
        *("run.until_height=30", "run.time_limit_ms=60_000", 'requires=["attack"]'),
        f"faults.attack={{{attack}, start_ms=500, stop_ms=24_000}}",
        'faults.away={kind="crash", validator=3, at_ms=9_000, restart_ms=13_000}',
    )


MALFORMED = ("height", "header", "slot")
UNLINKED = ("final-gap", "final-height", "final-slot")
REASONS = {
    **dict.fromkeys(MALFORMED, "malformed header"),
    **dict.fromkeys(("leader", "head", "final-leader"), "wrong leader"),
    **dict.fromkeys(("seal", "final-seal"), "invalid seal"),
    **dict.fromkeys(UNLINKED, "headers are not linked"),
    "final-short": "too few headers on the final block",
}


@pytest.mark.parametrize("what", first_of(REASONS))
def test_a_forged_header_is_refused_for_its_fault(what):
    result = attacked(what)

    refused = events_of_type(iterate_events(bytes(result.log)), MessageRefused)
    assert result.verdict == "passed", result.headline
    assert {each.reason for event, each in refused if event.node != ATTACKER} == {REASONS[what]}


@pytest.mark.parametrize("what", third_of(each for each in ForgeHead.FORMS if each not in REASONS))
def test_a_block_that_does_not_follow_its_parent_is_not_asked_for(what):
    """Its header is kept and known for bad, but where it is here before its parent's."""
    result = attacked(what)

    events = list(iterate_events(bytes(result.log)))
    asked = [event for event, sent in events_of_type(events, Sent) if sent.label == "BlockRequest" and event.node != 3]
    assert result.verdict == "passed", result.headline
    assert len(asked) < len(list(events_of_type(events, Tampered)))
