"""Attacks on single guards of snapshots: a joiner refuses each for its own reason, and joins from another peer."""

import itertools

import pytest

from checker.record.streams import iterate_events
from faults.byzantine.catalogue import forms_of
from faults.byzantine.snapshots import ProbeSnapshots
from network.events import Sent, events_of_type
from tests.support.cluster_runs import result_of
from tests.support.keystones import first_of, rest_in_soak, third_of
from validators.events import MessageRefused


def fault(name, **values):
    return f"faults.{name}={{{', '.join(f'{key}={value}' for key, value in values.items())}}}"


def attack(behaviour, what, validator):
    words = {"kind": "byzantine", "behaviour": behaviour, "what": what}
    quoted = {key: f'"{value}"' for key, value in words.items()}
    return fault("attack", **quoted, validator=validator, start_ms=500, stop_ms=34_000)


def away_twice():
    """Return settings for validator 3, which is away twice and hears of the snapshots of validator 0 alone at first."""
    for name, start_ms, back_ms in (("first", 2_000, 9_000), ("second", 13_500, 19_000)):
        yield fault(f"{name}-away", kind='"crash"', validator=3, at_ms=start_ms, restart_ms=back_ms)
        yield fault(
            f"{name}-unoffered",
            **{"kind": '"rule"', "action": '"drop"', "kinds": ["SnapshotOffer"], "from": [1, 2], "to": [3]},
            start_ms=start_ms,
            stop_ms=back_ms + 2_500,
            may_be_idle="true",
        )


SETTINGS = ("sync.snapshot_gap_blocks=2", "sync.chunk_bytes=2048", 'requires=["attack"]', "run.time_limit_ms=60_000")


def attacked_joiner(engine, what):
    """Return a run in which the peer that a joiner asks first forges its snapshots."""
    if engine == "longest-chain":
        attacked = attack("forge-snapshot", what, 2)
        return result_of("longest-chain-joiners", "cluster.validators=7", 'requires=["attack"]', attacked)
    attacked = attack("forge-snapshot", what, 0)
    own = (f'consensus.engine="{engine}"', "run.until_height=24")
    return result_of("calm", *SETTINGS, *own, *away_twice(), attacked)


def refusals_of(result):
    return {each.reason for _, each in events_of_type(iterate_events(bytes(result.log)), MessageRefused)}


OTHER_BLOCK = "header: the certificate is of another block"
NO_QUORUM = "certificate: it is not a quorum's"
PIECE = "truncated: a piece is empty or too long"
OFFERS = {
    "header": OTHER_BLOCK,
    "header-cut": "header: Header of 145 bytes: Input data was truncated",
    "stale": "header: height 1 is not above 11",
    "witness": "witness: it does not lead to the header's state root",
    "root": "witness: it does not lead to the header's state root",
    "floor": "floor: 804 is not that of the last commit, 803",
    "peak": "peaks: 3 over 768 operations, or not of 32 bytes",
    "peak-other": "operations: they and the peaks lead to",
    "operations": "outline: 4 pieces for operations 768 to 898",
    "start": "outline: 4 pieces for operations -1 to 898",
    "size": "outline: 4 pieces for operations 898 to 898",
    "no-pieces": "outline: 0 pieces for operations 768 to 898",
    "pieces": "outline: 131 pieces for operations 768 to 898",
    "piece-more": PIECE,
    "piece-fewer": "truncated: 129 operations of 130",
    "piece-other": "operations: not an operation: 37 bytes",
    "piece-empty": PIECE,
    "finality-view": OTHER_BLOCK,
    "finality-quorum": NO_QUORUM,
    "finality-forged": NO_QUORUM,
    "finality-stray": NO_QUORUM,
}


@pytest.mark.parametrize("what", rest_in_soak(OFFERS, [*OFFERS][::14]))
def test_a_forged_snapshot_is_refused_for_its_fault(what):
    result = attacked_joiner("simplex", what)

    assert result.verdict == "passed", result.headline
    assert any(each.startswith(f"of validator 0: {OFFERS[what]}") for each in refusals_of(result))


@pytest.mark.parametrize("what", third_of(["piece-digest", "piece-index"]))
def test_a_piece_that_was_not_asked_for_is_left(what):
    result = attacked_joiner("simplex", what)

    assert result.verdict == "passed", result.headline
    assert {"piece was not asked for", "of validator 0: unanswered"} <= refusals_of(result)


def finalities(engine):
    return [(engine, each) for each in forms_of(engine, "forge-snapshot") if each.startswith("finality-")]


FINALITIES = [finalities(engine) for engine in ("hotstuff", "longest-chain")]


@pytest.mark.parametrize(
    ("engine", "what"),
    first_of(itertools.chain(*FINALITIES)),
)
def test_a_finality_that_breaks_a_rule_is_no_finality(engine, what):
    result = attacked_joiner(engine, what)

    liar = 0 if engine == "hotstuff" else 2
    assert result.verdict == "passed", result.headline
    assert f"of validator {liar}: {NO_QUORUM}" in refusals_of(result)


@pytest.mark.parametrize("what", third_of(ProbeSnapshots.FORMS))
def test_a_piece_that_there_is_not_is_not_served(what):
    """Its request stops no validator, and has no answer."""
    result = result_of("calm", *SETTINGS, "run.until_height=8", attack("probe-snapshots", what, 1))

    sent = {each.label for _, each in events_of_type(iterate_events(bytes(result.log)), Sent)}
    assert result.verdict == "passed", result.headline
    assert "SnapshotOffer" in sent
    assert "SnapshotChunk" not in sent
