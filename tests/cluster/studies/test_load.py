"""Study files: arms of axes, settings, the quick form, and refusals that say where and what is allowed."""

import pytest

from cluster.scenario.messages import ScenarioError
from cluster.studies.load import as_document, load_study, study_files, study_of_arm
from cluster.studies.trials import number_of
from tests.support.study_text import write_study

REFUSED = {
    "unknown key": (("seeds = 3", "sedes = 3"), [], "sedes"),
    "unknown figure": (('"congested", ', '"congestion", '), [], "figures[0]: no figure is named 'congestion'"),
    "unknown group": (('"high.share", ', '"hihg.share", '), [], "did you mean high?"),
    "unknown figure of a group": (('"high.share", ', '"high.shares", '), [], "did you mean share?"),
    "blocks of a figure": (('"high.share", ', '"high.share@9..3", '), [], "must read FIRST..LAST"),
    "blocks after the end": (('"high.share", ', '"high.share@9..21", '), [], "share@9..21: a trial has 20 blocks"),
    "blocks of an order": (('"high.share", ', '"high.refused@3..9", '), [], "refused counts the whole trial"),
    "unknown axis": (("from = { pay", "from = { pya"), [], "findings[0].from: no axis is named 'pya'"),
    "axis named as a column": (
        ("[axes.pay]", "[axes.revenue]"),
        [],
        "axes.revenue: a column of the table has that name",
    ),
    "unknown strategy": (("worth = [200, 300]", 'bids = "truth"'), [], "bidders.high.bids"),
    "worth upside down": (("[200, 300]", "[300, 200]"), [], "bidders.high.worth: 300 is above 200"),
    "unknown input": (("worth = [200, 300]", 'reads = "feed"'), [], "bidders.high.reads: no group is named 'feed'"),
    "warm-up too long": (("warmup_blocks = 5", "warmup_blocks = 20"), [], "warmup_blocks: 20 must be below blocks"),
    "no validity check": (("[[validity]]", "[[plots]]\nover='pay'"), [], "at_least"),
    "scenario of an arm": (('values = ["vcg-critical", "first-price"]', 'values = ["vcg"]'), [], "arm vcg"),
    "axis without key": (('key = "scenario.chain.policy_parameters.payment"', ""), [], "axes.pay: needs a key"),
    "setting without =": (None, ["blocks"], "must read AXIS=VALUE"),
    "setting of no group": (None, ["bidders.higher.actors=2"], "no group is named 'higher' (did you mean high?)"),
    "setting of a wrong type": (None, ["blocks=many"], "blocks"),
    "too many arms": (None, ["pay=" + ",".join(f"{n}" for n in range(1_001))], "at most 1,000"),
    "bidders of a cluster": (("seeds = 3", 'seeds = 3\nengine = "cluster"'), [], 'need engine = "chain"'),
}


@pytest.mark.parametrize(("change", "settings", "said"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_study_is_refused_with_its_place(tmp_path, change, settings, said):
    path = write_study(tmp_path, *([change] if change else []))

    with pytest.raises(ScenarioError) as refused:
        load_study(str(path), settings)

    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_study_is_named_with_what_there_is():
    with pytest.raises(ScenarioError, match="no such study"):
        load_study("no-such-study")


def test_arms_are_the_values_of_all_axes(tmp_path):
    more = '[axes.room]\nkey = "scenario.chain.timers.lane_timer_cycles"\nvalues = [100_000, 200_000]\n\n[[validity]]'
    study = load_study(str(write_study(tmp_path, ("[[validity]]", more))))

    assert [arm.values for arm in study.arms] == [
        ("vcg-critical", "100000"),
        ("vcg-critical", "200000"),
        ("first-price", "100000"),
        ("first-price", "200000"),
    ]
    _, scenario = study_of_arm(as_document(study.arms[2]), study.place)
    assert scenario.chain.timers.lane_timer_cycles == 100_000
    assert scenario.chain.policy_parameters["payment"] == "first-price"


def test_settings_narrow_an_axis_and_change_other_keys(tmp_path):
    study = load_study(str(write_study(tmp_path)), ["pay=first-price", "blocks=50", "bidders.low.actors=9"])

    assert [arm.values for arm in study.arms] == [("first-price",)]
    assert (study.study.blocks, study.study.bidders["low"].actors) == (50, 9)


def test_cases_of_an_axis_are_kept_by_name(tmp_path):
    cases = "[axes.pay.cases.cheap]\n'bidders.high.fixed' = 1\n[axes.pay.cases.dear]\n'bidders.high.fixed' = 9"
    change = (
        '[axes.pay]\nkey = "scenario.chain.policy_parameters.payment"\nvalues = ["vcg-critical", "first-price"]',
        cases,
    )
    path = write_study(tmp_path, change)

    (arm,) = load_study(str(path), ["pay=dear"]).arms
    assert study_of_arm(as_document(arm), str(path))[0].bidders["high"].fixed == 9
    with pytest.raises(ScenarioError, match="axis pay has no case 'deer'"):
        load_study(str(path), ["pay=deer"])


def test_the_quick_form_has_its_own_sizes(tmp_path):
    quick = load_study(str(write_study(tmp_path)), is_quick=True).study

    assert (quick.blocks, quick.seeds) == (10, 2)


def test_a_trial_keeps_its_number_where_only_words_change(tmp_path):
    before = load_study(str(write_study(tmp_path)))
    words = load_study(
        str(write_study(tmp_path, ("Two groups", "A pair of groups"), ("at_least = 0.9", "at_least = 0.5")))
    )
    rules = load_study(str(write_study(tmp_path, ("ttl = 5", "ttl = 6"))))

    numbers = [[number_of(arm, 1) for arm in each.arms] for each in (before, words, rules)]
    assert numbers[0] == numbers[1]
    assert not {*numbers[0]} & {*numbers[2]}


@pytest.mark.parametrize("name", study_files())
def test_a_study_of_the_project_is_whole(name):
    full, quick = load_study(name), load_study(name, is_quick=True)

    assert full.study.findings, "a study says what it found"
    assert full.study.answer, "a study ends in sentences"
    assert full.study.blocks * full.study.seeds * len(full.arms) <= 150_000
    assert (
        len(quick.arms) * quick.study.blocks * quick.study.seeds < len(full.arms) * full.study.blocks * full.study.seeds
    )
