"""The workflow to copy: its commands, in a repository that is not this one, with a scenario of its own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checker.record.root import PROJECT_ROOT

WORKFLOW = (PROJECT_ROOT / "docs" / "ci" / "stampede.yml").read_text(encoding="utf-8")
BRIEF = {"0..19": "0", "0..99": "0"}


def commands_of(workflow):
    """Return the commands of a workflow in their order, with fewer seeds."""
    typed = re.findall(r"^ +- run: (.+)$", workflow, re.MULTILINE)
    return [" ".join(BRIEF.get(word, word) for word in line.split()) for line in typed]


@pytest.fixture
def repository(wheel, tmp_path):
    """A folder with the two files that the workflow's comment names, once its first command has run."""
    shutil.copy(wheel, tmp_path)
    return tmp_path


def shell(repository, line):
    """Give a line to a shell that knows no clone; pip fetches nothing and installs into a folder of the repository."""
    target = repository / "site"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    path = f"{target / 'bin'}:{Path(sys.executable).parent}:{kept['PATH']}"
    pip = {"PIP_TARGET": str(target), "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PIP_NO_COMPILE": "1"}
    environment = {**kept, **pip, "PATH": path, "PYTHONPATH": str(target)}
    return subprocess.run(
        ["sh", "-ec", line], cwd=repository, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.soak
def test_the_workflow_runs_in_another_repository(repository):
    install, *sweeps = commands_of(WORKFLOW)
    assert shell(repository, install).returncode == 0
    assert shell(repository, "stampede new my-outage").returncode == 0
    for line in sweeps:
        done = shell(repository, line)
        assert done.returncode == 0, f"{line}: {done.stderr[-2_000:]}"

    assert len(sweeps) == 3
    assert sorted(path.stem for path in (repository / "results").iterdir()) == ["calm", "my-outage", "swarm"]


@pytest.mark.soak
def test_a_plan_of_the_past_comes_first(repository):
    """`failing-plans/` is read without being named, with the seed that stands in the plan's comment."""
    install, own, *_ = commands_of(WORKFLOW)
    shell(repository, install)
    shell(repository, "stampede new my-outage")
    (repository / "failing-plans").mkdir()
    shutil.copy(repository / "my-outage.toml", repository / "failing-plans" / "lost.toml")
    done = shell(repository, own)

    assert done.returncode == 0
    assert "failing-plans/lost.toml seed 7: passes" in done.stderr


def test_the_comment_names_what_the_workflow_takes():
    comment = " ".join(line.removeprefix("# ") for line in WORKFLOW.splitlines() if line.startswith("# "))

    for named in ("make wheel", "my-outage.toml", "stampede new my-outage"):
        assert named in comment
    assert "my-outage.toml" in commands_of(WORKFLOW)[1]
