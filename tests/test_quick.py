"""The choice of `make quick`: a changed file stands for the tests of its room."""

from tests.quick import ALWAYS, choose_tests


def test_a_changed_file_stands_for_the_tests_of_its_room():
    assert choose_tests(["faults/plan.py"]) == [*ALWAYS, "tests/faults"]


def test_a_room_without_tests_of_its_own_is_tested_with_the_one_around_it():
    assert choose_tests(["validators/consensus/simplex/votes.py"])[-1] == "tests/validators/consensus"


def test_a_case_its_runner_and_its_filler_are_tested_together():
    for name in ("fixtures/state/block.json", "cluster/fixtures/run.py", "tools/fixtures/state.py"):
        assert choose_tests([name]) == [*ALWAYS, "tests/fixtures"]


def test_a_changed_test_and_a_changed_scenario_are_run():
    chosen = choose_tests(["tests/network/test_bus.py", "scenarios/calm.toml", "docs/chain.md"])

    assert chosen == [*ALWAYS, "tests/network/test_bus.py", "tests/test_scenarios.py"]


def test_what_is_gone_is_not_asked_for():
    assert choose_tests(["tests/network/test_gone.py"]) == [*ALWAYS]
