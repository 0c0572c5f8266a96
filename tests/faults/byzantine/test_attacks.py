"""Attacks on single guards: each is refused by the honest for its own reason, and the chain goes on."""

import pytest

from checker.record.streams import iterate_events
from faults.byzantine.bodies import ForgeBody
from faults.byzantine.encodings import OddEncoding
from faults.byzantine.headers import ForgeHeader
from faults.byzantine.simplex_chains import ForgeParent
from faults.events import Tampered
from network.events import events_of_type
from tests.support.cluster_runs import result_of
from tests.support.keystones import first_of, third_of

SPAN = "start_ms=1_500, stop_ms=11_000"


def attacked(behaviour, what):
    """Return a short run in which validator 1 attacks, with payments under way."""
    attack = f'kind="byzantine", validator=1, behaviour="{behaviour}", what="{what}", {SPAN}'
    return result_of(
        "calm",
        *("run.until_height=11", "run.time_limit_ms=40_000", f"faults.attack={{{attack}}}", 'requires=["attack"]'),
        'workload.payments={kind="transfers", accounts=4, count=60, every_ms=150}',
    )


def assert_refused(behaviour, what, cell):
    result = attacked(behaviour, what)

    assert result.verdict == "passed", result.headline
    assert dict(result.rules).get(cell, 0) > 0


HEADERS = (
    *("block-version", "block-epoch", "block-of-other-view", "block-time-not-after", "block-slot", "block-height"),
    *("block-of-other-view", "block-of-other-view"),
)
BODIES = (
    *("block-nonce", "block-balance", "block-fees", "block-tip", "block-own-cost", "block-room"),
    *("block-transaction-malformed", "block-signature"),
)
ENCODINGS = (
    "message-trailing",
    "message-not-canonical",
    "message-too-deep",
    "message-oversize",
    "peer-block-not-canonical",
    "peer-block-of-stray-seal",
)


@pytest.mark.parametrize(("what", "cell"), first_of(zip(ForgeHeader.CLAIMS, HEADERS, strict=True)))
def test_a_header_that_breaks_a_rule_is_refused_for_it(what, cell):
    assert_refused("forge-header", what, cell)


@pytest.mark.parametrize(("what", "cell"), first_of(zip(ForgeBody.CLAIMS, BODIES, strict=True)))
def test_a_transaction_that_may_not_stand_in_a_block_is_refused(what, cell):
    assert_refused("forge-body", what, cell)


@pytest.mark.parametrize(("what", "cell"), first_of(zip(OddEncoding.FORMS, ENCODINGS, strict=True)))
def test_an_odd_encoding_of_a_message_is_refused(what, cell):
    assert_refused("noncanonical-encoding", what, cell)


@pytest.mark.parametrize(
    ("what", "cell"),
    third_of(
        [
            ("view", "view-out-of-range"),
            ("signers", "signers-length"),
            ("signatures", "signature-count"),
            ("bit", "vote-unsigned"),
        ]
    ),
)
@pytest.mark.soak
def test_a_misshapen_vote_or_certificate_is_refused(what, cell):
    assert_refused("malformed-votes", what, cell)


def test_a_block_that_leaves_out_a_view_gets_no_honest_vote():
    result = attacked("skip-view", "stated")

    tampered = [each for _, each in events_of_type(iterate_events(bytes(result.log)), Tampered)]
    assert result.verdict == "passed", result.headline
    assert {each.label for each in tampered} == {"BlockRelay"}
    assert dict(result.rules)["left-by-invalid-proposal"] > 0


def test_forms_of_a_forger_have_their_turn():
    """A few blocks of one leader meet different guards."""
    attack = f'kind="byzantine", validator=1, behaviour="forge-header", {SPAN}'
    result = result_of("calm", "run.until_height=10", f"faults.attack={{{attack}}}")

    tampered = [each for _, each in events_of_type(iterate_events(bytes(result.log)), Tampered)]
    forms = list(dict.fromkeys(each.label for each in tampered if each.label.startswith("BlockRelay ")))
    claims = [f"BlockRelay {claim}" for claim in ForgeHeader.CLAIMS]
    first = claims.index(forms[0])
    assert len(forms) >= 2
    assert forms == [*claims[first:], *claims[:first]][: len(forms)]


def test_a_block_too_old_to_be_kept_is_not_asked_for_in_a_circle():
    """Each answer led to the next request; without a moment of grace as fast as messages travel (found at seed 126)."""
    attack = 'kind="byzantine", behaviour="forge-header", what="height", validator=1, start_ms=1_000, stop_ms=16_000'
    result = result_of("calm", "run.until_height=14", "consensus.fetch_grace_ms=0", f"faults.attack={{{attack}}}")

    assert result.verdict == "passed", result.headline


@pytest.mark.parametrize("what", third_of(ForgeParent.FORMS))
def test_a_proposal_on_a_view_that_it_cannot_stand_on_is_invalid(what):
    assert_refused("forge-parent", what, "left-by-invalid-proposal")
