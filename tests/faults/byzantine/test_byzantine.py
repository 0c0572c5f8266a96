"""Byzantine validators in a whole cluster: up to f are survived, one more is found out, and none is judged."""

import pytest

from checker.checks.expected_reports import describe_evidence
from checker.record.streams import iterate_events
from cluster.runtime.cluster import Cluster
from cluster.runtime.genesis import keys_of
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.verdict.determinism import repeat_in_fresh_process
from faults.byzantine.noise import Garbage
from faults.events import Tampered
from network.events import events_of_type
from tests.support.cluster_runs import check_named, result_of
from validators.consensus.simplex.kind import SIMPLEX
from validators.consensus.simplex.signing import verify_vote
from validators.events import BlockExecuted, BlockFinalized, MessageRefused, Reported, Voted
from validators.messages import message_codec
from validators.settings import make_scheme


def lie(name, validator, behaviour, more="", span_ms=(2_000, 9_000)):
    parts = [
        'kind="byzantine"',
        f'validator={validator}, behaviour="{behaviour}"',
        f"start_ms={span_ms[0]}, stop_ms={span_ms[1]}",
        *([more] if more else []),
    ]
    return f"faults.{name}={{{', '.join(parts)}}}"


def two_faced(node, more=""):
    """Return settings for a validator that proposes two blocks at a time and votes for both."""
    return [lie(f"blocks{node}", node, "equivocate", more), lie(f"votes{node}", node, "double-vote", more)]


def short_run(*settings, name="calm", seed=0):
    return result_of(name, "run.until_height=8", "run.time_limit_ms=40_000", *settings, seed=seed)


def failed(result):
    return {check.name for check in result.checks if check.status == "failed"}


def events_of(result, expected):
    """Return the events of a type with their typed values."""
    return list(events_of_type(iterate_events(bytes(result.log)), expected))


@pytest.mark.soak
def test_one_of_four_with_two_faces_is_survived_and_not_judged():
    """Its votes contradict each other, and no check says so: the three others agree and go on."""
    result = short_run(*two_faced(1), 'requires=["blocks1", "votes1"]')

    tampered = [each for _, each in events_of(result, Tampered) if each.label == "Finalize"]
    assert result.verdict == "passed", result.headline
    assert tampered
    assert check_named(result, "agreement").summary.startswith("3 validators agree")
    assert [row.status for row in result.validators] == ["voter", "byzantine", "voter", "voter"]
    assert "3 validators beside 1 Byzantine" in result.headline


def test_two_of_four_with_two_faces_split_the_chain_and_the_checks_say_so():
    """One more than f: what the checks are worth shows where they have to fail."""
    result = short_run(*two_faced(0, "above_f=true"), *two_faced(1, "above_f=true"))

    assert result.exit_code == 1
    assert "validator 2 finalized" in check_named(result, "agreement").summary
    assert "has two notarizations" in check_named(result, "certificates").summary
    assert check_named(result, "no-double-vote").status == "passed"


def test_three_of_seven_with_two_faces_split_the_chain():
    """One more than f, as two of four are."""
    adversaries = [setting for node in range(3) for setting in two_faced(node, "above_f=true")]
    result = short_run("cluster.validators=7", *adversaries)

    assert result.exit_code == 1
    assert failed(result) >= {"agreement", "equal-roots", "certificates"}


@pytest.mark.soak
def test_three_of_four_with_two_faces_part_the_honest_one_and_an_observer():
    """There is no other honest validator that the one left could contradict."""
    adversaries = [setting for node in range(3) for setting in two_faced(node, "above_f=true")]
    alone, observed = short_run(*adversaries), short_run(*adversaries, 'observers.follower={kind="finalized-only"}')

    assert (alone.exit_code, failed(alone)) == (3, set())
    assert observed.exit_code == 1
    assert failed(observed) >= {"agreement", "equal-roots", "certificates"}


def test_blind_colluders_fail_certification_first_and_then_the_checks():
    """Blocks with false roots are notarized by three of four, then made final; the fourth certifies none of them."""
    result = result_of("blind-colluders")

    left = [event for event, report in events_of(result, Reported) if report.detail == "FailedCertification"]
    final = [event for event, _ in events_of(result, BlockFinalized) if event.node == 3]
    assert 3 in {event.node for event in left}
    assert any(event.at_us > left[0].at_us for event in final)
    assert failed(result) == {"agreement", "finality-regained"}
    assert "validator 3 halted: finalized block" in check_named(result, "agreement").summary


@pytest.mark.soak
def test_one_equivocator_of_four_splits_a_cluster_with_too_small_a_quorum():
    """With three as its quorum four validators bear one; with two honest votes for each block there are two chains."""
    five = ("cluster.validators=5", "mutants.certificate-below-quorum=[0, 1, 2, 3, 4]")
    sound, weak = (short_run(*two_faced(1), *settings) for settings in (five[:1], five))

    assert sound.verdict == "passed", sound.headline
    assert check_named(weak, "agreement").status == "failed"


@pytest.mark.soak
def test_what_a_leader_forges_is_refused_by_all_and_gets_no_honest_vote():
    """A root that nothing leads to, and the roots of a timer phase in which no timer fired, or in another order."""
    spans_ms = ((2_000, 7_000), (7_000, 13_000), (13_000, 19_000))
    forms = ("state-root", "due-set", "order")
    lies = [
        lie(what, 2, "forge-block", f'what="{what}"', span_ms) for what, span_ms in zip(forms, spans_ms, strict=True)
    ]
    result = short_run(*lies, 'requires=["state-root", "due-set", "order"]')

    refused = {event.node for event, body in events_of(result, MessageRefused) if body.reason.startswith("state_root")}
    voted = {body.payload for event, body in events_of(result, Voted) if event.node != 2 and body.vote != "nullify"}
    diverged = {body.digest for _, body in events_of(result, BlockExecuted) if body.mode == "diverged"}
    assert result.verdict == "passed", result.headline
    assert refused == {0, 1, 3}
    assert len(diverged) >= 3
    assert not diverged & voted


@pytest.mark.soak
def test_a_block_dated_years_ahead_is_refused_before_anybody_executes_it():
    """Executing it would promote and expire all that is ever due. The latest and the earliest valid time are taken."""
    lies = [
        lie("ahead", 1, "skew-timestamps", 'what="absurd"', (2_000, 7_000)),
        lie("latest", 1, "skew-timestamps", 'what="latest"', (7_000, 12_000)),
        lie("earliest", 1, "skew-timestamps", 'what="earliest"', (12_000, 17_000)),
    ]
    result = short_run(*lies, 'requires=["ahead", "latest", "earliest"]')

    refused = [event for event, body in events_of(result, MessageRefused) if body.reason.startswith("time ")]
    proposed = {body.digest for _, body in events_of(result, BlockExecuted) if body.mode == "propose"}
    dated_ahead = proposed - {executed.digest for executed in result.chain}
    assert dated_ahead
    assert result.verdict == "passed", result.headline
    assert {event.node for event in refused} == {0, 2, 3}
    assert not {body.digest for event, body in events_of(result, BlockExecuted) if event.node != 1} & dated_ahead
    assert [executed.header.proposer for executed in result.chain].count(1) >= 2


def test_votes_forgotten_over_restarts_are_survived():
    result = short_run(lie("forgets", 1, "amnesia", "every_ms=1_100"), 'requires=["forgets"]')

    assert result.verdict == "passed", result.headline
    assert result.figures["fault_forgets"] == 7


def test_votes_are_forgotten_on_a_disk_that_refuses_reads():
    """The test bed gives the new journal: the faults are the validator's; found by the swarm (seed 413595)."""
    refused = 'validator=1, read_ppm=1_000_000, files=["journal"], start_ms=2_000, stop_ms=5_000'
    refusals = f'faults.refusals={{kind="io-error", {refused}}}'
    result = short_run(lie("forgets", 1, "amnesia", "every_ms=1_100"), refusals, 'requires=["forgets"]')

    assert result.verdict == "passed", result.headline
    assert result.figures["fault_forgets"] == 7


def test_evidence_is_counted_and_names_nobody_honest():
    result = short_run(lie("contrary", 1, "nullify-and-finalize"), 'requires=["contrary"]')

    accused = {body.signer for _, body in events_of(result, Reported) if body.activity == "NullifyFinalize"}
    assert result.verdict == "passed", result.headline
    assert accused == {1}
    assert result.figures["evidence"] > 0


def test_both_votes_of_a_adversary_are_kept_and_shown():
    """Each pair is signed by the adversary and says two things; the verdict has all, and shows the first."""
    result = result_of("conflicting-votes")

    scheme = make_scheme(bytes(32), keys_of(result.scenario).validator_keys)
    pairs = [
        tuple(message_codec(SIMPLEX).decode(bytes.fromhex(vote)) for vote in each.votes) for each in result.evidence
    ]
    assert result.verdict == "passed", result.headline
    assert {each.signer for each in result.evidence} == {1}
    assert all(verify_vote(scheme, vote) and vote.signer == 1 for pair in pairs for vote in pair)
    assert all(first.proposal != second.proposal for first, second in pairs)
    assert {each.activity for each in result.evidence} == {"ConflictingNotarize", "ConflictingFinalize"}
    assert result.as_json("")["evidence"][0]["votes"] == result.evidence[0].votes
    lines = list(describe_evidence(result.evidence))
    assert lines[0].startswith("evidence: view ")
    assert lines[-1] == f"evidence: {len(pairs) - 3} more pairs of votes in verdict.json"


def test_one_vote_for_each_receiver_leaves_no_such_evidence():
    """Why there is one that shows both."""
    result = short_run(lie("votes", 1, "double-vote"))

    assert result.figures["reported_ConflictingNotarize"] == 0


def test_more_than_f_byzantine_validators_need_a_fault_that_allows_it():
    with pytest.raises(ScenarioError, match=r"at most 1 may lose synced data or be Byzantine.*these are 0, 1"):
        load_scenario("calm", (lie("a", 0, "replay"), lie("b", 1, "replay")))

    assert load_scenario("calm", (lie("a", 0, "replay"), lie("b", 1, "replay", "above_f=true")))


def test_a_byzantine_validator_and_a_wiped_one_count_together():
    wipe = 'faults.wipe={kind="wipe", validator=2, at_ms=3_000, restart_ms=5_000}'
    with pytest.raises(ScenarioError, match="these are 0, 2"):
        load_scenario("calm", (lie("a", 0, "replay"), wipe))

    assert load_scenario("calm", (lie("a", 2, "replay"), wipe))


@pytest.mark.parametrize(
    ("behaviour", "more", "reason"),
    [
        ("replay", 'what="view"', "replay knows no forms"),
        ("forge-block", 'what="root"', "forge-block knows state-root"),
        ("equivocate", 'kinds=["Notarize"]', "belong to the behaviour withhold"),
        ("withhold", 'kinds=["Vote"]', "no message is called"),
        ("withhold", "to=[1]", "keeps nothing from itself"),
        ("withhold", "to=[9]", "unknown validator"),
    ],
)
def test_a_behaviour_that_cannot_be_meant_is_refused(behaviour, more, reason):
    with pytest.raises(ScenarioError, match=reason):
        load_scenario("calm", (lie("it", 1, behaviour, more),))


@pytest.mark.soak
def test_lies_are_deterministic():
    """The same events in another process, under another hash seed and another order of trio's tasks."""
    behaviours = ("equivocate", "double-vote", "mutate-votes", "invalid-certificates", "garbage", "forge-block")
    settings = [lie(name, 1, name) for name in behaviours]
    scenario = load_scenario("calm", ("run.until_height=6", *settings))

    log = repeat_in_fresh_process(encode_scenario(scenario), 3, hash_seed=77, shuffle=5)

    assert log == bytes(Cluster(scenario, 3).run().trace.log)


def test_what_makes_no_sense_no_other_behaviour_reads():
    """An adversary halted over its own garbage, which it took for an answer to forge, and nobody was told."""
    forged = lie("forged", 1, "forge-answers", 'what="snapshots"')
    result = short_run(lie("noise", 1, "garbage"), forged, 'requires=["noise"]')

    assert check_named(result, "faults-effective").summary == "required: forged had no effect"


def test_a_block_in_an_odd_encoding_no_other_behaviour_reads():
    odd = lie("odd", 1, "noncanonical-encoding", 'what="inside"')
    result = short_run(odd, *two_faced(1), 'requires=["odd", "blocks1"]')

    assert check_named(result, "faults-effective").status == "passed"


@pytest.mark.parametrize(
    ("engine", "forger", "what", "builder"),
    [
        ("simplex", "malformed-votes", "signers", "invalid-certificates"),
        ("hotstuff", "forge-body", "encoding", "equivocate"),
        ("longest-chain", "forge-header", "", "propose-ahead"),
    ],
)
@pytest.mark.soak
def test_what_one_behaviour_has_forged_stops_no_other(engine, forger, what, builder):
    forged = lie("forged", 1, forger, f'what="{what}"')
    on_it = lie("on_it", 1, builder, span_ms=(3_000, 9_000))
    result = short_run(f'consensus.engine="{engine}"', forged, on_it, 'requires=["forged"]')

    assert "stopped" not in check_named(result, "faults-effective").summary


@pytest.mark.soak
def test_an_adversary_with_a_slow_clock_drags_no_block_before_its_parent():
    behind = 'faults.clock={kind="clock-offset", validators=[1], offset_ms=-64_000, start_ms=1_500, stop_ms=20_000}'
    result = short_run(behind, lie("latest", 1, "skew-timestamps"), 'requires=["clock"]')

    assert "stopped" not in check_named(result, "faults-effective").summary


def test_an_adversary_whose_own_code_breaks_makes_the_run_inconclusive(monkeypatch):
    monkeypatch.setattr(Garbage, "make", lambda _garbage: 1 // 0)
    result = short_run(lie("noise", 1, "garbage"), lie("late", 1, "replay"), 'requires=["late"]')

    found = check_named(result, "faults-effective")
    assert found.status == "inconclusive"
    assert "adversary 1 stopped at 2." in found.summary
    assert "broken invariant" in found.summary


@pytest.mark.soak
def test_a_flood_of_forged_certificates_slows_finality_and_stops_nothing():
    """Refusing them was free once, and then no flood could hurt."""
    flooded = result_of("flooded-validators")
    spared = result_of("flooded-validators", "faults.certificates.enabled=false", 'requires=["requests"]')

    assert flooded.verdict == spared.verdict == "passed"
    assert flooded.figures["virtual_us"] < 1.2 * spared.figures["virtual_us"]
    assert 3 * flooded.figures["blocks"] < 2 * spared.figures["blocks"]
