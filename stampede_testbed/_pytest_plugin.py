"""The pytest plug-in: a test marked with a scenario becomes a test for each seed, with the run's report on failure.

    @pytest.mark.cluster("outage-storm", seeds=20)
    def test_storm(cluster_run):
        assert cluster_run.check("storm").compared > 0

`seeds` is a number, a range or `"A..B"`, and `runs` the folder for run directories. Other keywords change keys of the
scenario, as in `stampede_testbed.run`. A run that did not pass fails the test before the test's own lines.
"""

from collections.abc import Generator, Sequence
from typing import Any, Final

import pytest

from stampede_testbed import RunResult, StampedeError, run

MARK: Final = "cluster"
FIXTURE: Final = "cluster_run"
SEEDS: Final = 1

_HELP: Final = (
    "cluster(scenario, seeds=1, runs='runs', **settings): a test for each seed; use the fixture `cluster_run`"
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _HELP)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for each seed."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    if FIXTURE not in metafunc.fixturenames or len(mark.args) != 1:
        place = metafunc.definition.nodeid
        raise pytest.UsageError(f"{place}: @pytest.mark.cluster needs a scenario, and a test that takes `{FIXTURE}`")
    if "seed" in mark.kwargs:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: write seeds=[7] for one seed, seeds=20 for 0 to 19")
    seeds = _seeds_of(mark.kwargs.get("seeds", SEEDS), metafunc.definition.nodeid)
    metafunc.parametrize(FIXTURE, seeds, indirect=True, ids=[f"seed-{seed}" for seed in seeds])


@pytest.fixture
def cluster_run(request: pytest.FixtureRequest) -> RunResult:
    """Return the run of the marked scenario with this test's seed."""
    mark = request.node.get_closest_marker(MARK)
    if mark is None:
        raise pytest.UsageError(f"{request.node.nodeid}: `{FIXTURE}` needs @pytest.mark.cluster('SCENARIO')")
    settings = {name: value for name, value in mark.kwargs.items() if name != "seeds"}
    try:
        return run(mark.args[0], request.param, **settings)
    except StampedeError as error:
        # The line has the whole reason; a traceback through this package would hide it.
        pytest.fail(f"{error}", pytrace=False)


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


def _seeds_of(seeds: int | str | Sequence[int], place: str) -> list[int]:
    if isinstance(seeds, str):
        first, dots, last = seeds.partition("..")
        is_range = bool(dots) and first.isdecimal() and last.isdecimal()
        found = list(range(int(first), int(last) + 1)) if is_range else []
    else:
        found = list(range(seeds) if isinstance(seeds, int) else seeds)
    if not found or any(isinstance(seed, bool) or not isinstance(seed, int) or seed < 0 for seed in found):
        raise pytest.UsageError(f"{place}: seeds={seeds!r} is not a number above 0, a range of seeds, or 'A..B'")
    return found
