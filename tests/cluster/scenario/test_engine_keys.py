"""Keys that belong to one engine: refused with another, and left out or passed over where the engine is exchanged."""

import pytest

from cluster.scenario.load import convert_scenario, decode_scenario, encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.swarm.generator import draw_scenario

HOTSTUFF = "consensus.engine=hotstuff"
CUT = {"action": "drop", "stop_ms": 5_000}


def refusal_of(engine, **tables):
    with pytest.raises(ScenarioError) as refused:
        convert_scenario({"name": "x", "title": "x", "consensus": {"engine": engine}, **tables}, "x.toml")
    return str(refused.value)


@pytest.mark.parametrize("key", ["leader_timeout_ms", "timeout_retry_ms", "skip_timeout_ms"])
def test_a_time_that_the_engine_does_not_use_is_refused(key):
    """It would change nothing, and nobody would know."""
    line = refusal_of("hotstuff", consensus={"engine": "hotstuff", key: 2_900})

    used = "certification_timeout_ms, fetch_timeout_ms, fetch_grace_ms, blocks_peers_ms"
    assert line == f"x.toml: consensus.{key}: hotstuff does not use it; it uses {used}"


def test_a_setting_of_the_engine_leaves_out_the_times_of_the_other():
    scenario = load_scenario("lossy", [HOTSTUFF])

    assert scenario.consensus.certification_timeout_ms == 4_500
    assert decode_scenario(encode_scenario(scenario), "again") == scenario
    with pytest.raises(ScenarioError, match="leader_timeout_ms: hotstuff does not use it"):
        load_scenario("lossy", [HOTSTUFF, "consensus.leader_timeout_ms=4_000"])


def test_times_are_held_against_those_of_the_engine():
    """The first wait of HotStuff may be below the default of a time that only Simplex has."""
    scenario = load_scenario("calm", [HOTSTUFF, "consensus.certification_timeout_ms=1_500"])
    assert scenario.consensus.certification_timeout_ms == 1_500

    line = refusal_of("hotstuff", consensus={"engine": "hotstuff", "certification_timeout_ms": 900})
    assert "chain.block_interval_ms: must be below consensus.certification_timeout_ms, which is 900" in line


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"faults": {"f": {"kind": "rule", "kinds": ["Notarize", "Finalize"], **CUT}}}, "Notarize and no Finalize"),
        ({"expect": {"reports": {"MissingProposal": 1}}}, "expect.reports: hotstuff knows no MissingProposal"),
        ({"expect": {"rules": {"head-switched-deep": 1}}}, "expect.rules: hotstuff knows no head-switched-deep"),
    ],
)
def test_what_only_another_engine_has_is_refused(tables, expected):
    assert expected in refusal_of("hotstuff", **tables)


def test_a_list_may_name_the_messages_of_several_engines():
    """One plan is for all of them, and each takes its own."""
    for variant in ("simplex", "hotstuff", "longest-chain"):
        assert load_scenario("held-in-one-instant", [f"consensus.engine={variant}"]).faults


def test_a_scenario_says_itself_what_an_engine_cannot_show():
    line = refusal_of("hotstuff", not_for={"hotstuff three-chain": "two blocks are too few"})
    assert line.endswith(
        "consensus.engine: hotstuff three-chain cannot show what this promises: two blocks are too few"
    )

    line = refusal_of("hotstuff", not_for={"hotstuf": "?"})
    assert "not_for.hotstuf: is no engine; there are simplex, hotstuff, longest-chain, hotstuff three-chain" in line


SHORTER = """
name = "shorter"
title = "shorter"

[for_engine.longest-chain]
run.until_height = 7
consensus.longest_chain.slot_ms = 250

[for_engine."hotstuff two-chain".run]
until_height = 9

[run]
until_height = 5
time_limit_ms = 90_000
"""


@pytest.mark.parametrize(
    ("settings", "height"),
    [
        ([], 5),
        (["consensus.engine=longest-chain"], 7),
        (["consensus.engine=longest-chain", "run.until_height=6"], 6),
        ([HOTSTUFF], 5),
        (["consensus.hotstuff.profile=two-chain", HOTSTUFF], 9),
    ],
)
def test_tables_for_an_engine_are_laid_over_and_settings_over_them(tmp_path, settings, height):
    path = tmp_path / "shorter.toml"
    path.write_text(SHORTER)

    scenario = load_scenario(str(path), settings)

    assert (scenario.run.until_height, scenario.run.time_limit_ms, scenario.for_engine) == (height, 90_000, {})
    own = scenario.consensus.longest_chain
    assert (own.slot_ms if own else None) == (250 if settings[:1] == ["consensus.engine=longest-chain"] else None)


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"hotstuf": {}}, "for_engine.hotstuf: is no engine; there are simplex, hotstuff, longest-chain"),
        ({"hotstuff": 5}, "for_engine"),
        (5, "for_engine"),
    ],
)
def test_tables_for_no_engine_are_refused(tables, expected):
    assert expected in refusal_of("hotstuff", for_engine=tables)


@pytest.mark.parametrize("settings", [['consensus.engine=["x"]'], ["consensus.engine=hotstuff", "consensus=3"]])
def test_an_engine_that_is_no_word_is_bad_input(settings):
    with pytest.raises(ScenarioError, match="consensus"):
        load_scenario("calm", settings)
    with pytest.raises(ScenarioError, match="consensus"):
        draw_scenario(0, settings)
