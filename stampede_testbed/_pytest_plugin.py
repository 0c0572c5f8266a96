"""The pytest plug-in: a test marked with a scenario becomes one test a seed, with the run's report where it fails.

    @pytest.mark.cluster("outage-storm", seeds=20)
    def test_storm(cluster_run):
        assert cluster_run.check("storm").compared > 0

`seeds` is a number or a range; `runs` the folder for run directories; all else changes keys of the scenario, as in
`stampede_testbed.run`. A run that did not pass fails the test before its own lines.
"""

from collections.abc import Generator, Sequence
from typing import Any, Final

import pytest

from stampede_testbed import RunResult, run

MARK: Final = "cluster"
FIXTURE: Final = "cluster_run"
SEEDS: Final = 1

_HELP: Final = "cluster(scenario, seeds=1, runs='runs', **settings): one test a seed of a scenario; take `cluster_run`"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _HELP)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each seed."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    if FIXTURE not in metafunc.fixturenames or len(mark.args) != 1:
        place = metafunc.definition.nodeid
        raise pytest.UsageError(f"{place}: @pytest.mark.cluster needs a scenario, and a test that takes `{FIXTURE}`")
    seeds = _seeds_of(mark.kwargs.get("seeds", SEEDS))
    metafunc.parametrize(FIXTURE, seeds, indirect=True, ids=[f"seed-{seed}" for seed in seeds])


@pytest.fixture
def cluster_run(request: pytest.FixtureRequest) -> RunResult:
    """Return the run of the marked scenario with this test's seed."""
    mark = request.node.get_closest_marker(MARK)
    if mark is None:
        raise pytest.UsageError(f"{request.node.nodeid}: `{FIXTURE}` needs @pytest.mark.cluster('SCENARIO')")
    settings = {name: value for name, value in mark.kwargs.items() if name != "seeds"}
    return run(mark.args[0], request.param, **settings)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """Fail a test whose run did not pass, with the run's report attached."""
    result = pyfuncitem.funcargs.get(FIXTURE)
    if isinstance(result, RunResult):
        pyfuncitem.user_properties.append(("stampede_report", str(result.directory / "report.html")))
        if not result.passed:
            pyfuncitem.add_report_section("call", "stampede", _report_of(result))
            pytest.fail(f"{result.verdict}: {result.headline}", pytrace=False)
    return (yield)


def _report_of(result: RunResult) -> str:
    failed = [f"{check.name}: {check.summary}" for check in result.checks if check.status != "passed"]
    page = f"page {result.directory / 'report.html'}"
    return "\n".join([*failed, page, f"repeat with: {result.repeat}"])


def _seeds_of(seeds: int | Sequence[int]) -> list[int]:
    return list(range(seeds) if isinstance(seeds, int) else seeds)
