"""The words of a run's page that come from its plan alone."""

from cluster.page.words import make_faults, make_verdict
from cluster.scenario.load import load_scenario

NAP = 'faults.nap={kind="pause", validator=0, start_ms=2_000, stop_ms=5_000}'
AWAY = 'faults.away={kind="crash", validator=1, at_ms=4_000, restart_ms=9_000}'


def test_the_page_says_what_each_fault_and_all_together_do_to_quorums():
    scenario = load_scenario("calm", (NAP, AWAY))
    facts = make_verdict({}, [], scenario, commands={}).facts
    together = "From 4 s to 5 s 2 of 4 are left, fewer than a quorum of 3: no block in that time."

    assert [told for key, told in facts if key == "faults together"] == [together]
    for fault in make_faults({}, scenario, {}):
        assert fault.sentence.endswith(". 3 of 4 are left, enough for a quorum of 3.")
