"""The file of golden cases to run: the published one, or another of the same form by `--vectors FILE`."""

import json
from pathlib import Path

from checker.record.root import PROJECT_ROOT

PUBLISHED = PROJECT_ROOT / "tests" / "vectors" / "scheduler.json"


def pytest_addoption(parser):
    parser.addoption(
        "--vectors", default=None, help="a file of golden cases of the form of tests/vectors/scheduler.json"
    )


def pytest_generate_tests(metafunc):
    """One test per case, under the case's own name."""
    for name in ("golden_case", "case_with_alternatives"):
        if name in metafunc.fixturenames:
            chosen = metafunc.config.getoption("--vectors", default=None)
            cases = json.loads(Path(chosen or PUBLISHED).read_text())["cases"]
            wanted = [case for case in cases if name == "golden_case" or "alternatives" in case]
            metafunc.parametrize(name, wanted, ids=[case["id"] for case in wanted])
