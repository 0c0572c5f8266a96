"""The page docs/extend/mutant.md: its example is a mutant, and the check that it names kills it."""

from checker.mutants.mutant import validator_with
from tests.support.cluster_runs import result_of
from tests.support.examples import run_example


def test_the_example_is_killed_by_the_check_that_it_names():
    mutant = run_example("mutant.md")["last_scheduled_first"]
    factories = {node: validator_with([mutant]) for node in range(4)}

    result = result_of("calm", "run.until_height=5", "run.time_limit_ms=15_000", factories=factories)

    failed = [check.name for check in result.checks if check.status == "failed"]
    assert [name for name in failed if name in mutant.kills] == ["timer-delivery"]


def test_the_description_of_the_example_is_its_docstring():
    mutant = run_example("mutant.md")["last_scheduled_first"]

    assert mutant.name == "last-scheduled-first"
    assert mutant.description.startswith("Timers of one height fire")
