"""Tutorial and README: a reader's way through both in one folder, in a clone and with the wheel, on every Python."""

import re
import sys

import pytest

from checker.record.root import PROJECT_ROOT
from tests.support.keystones import rest_in_soak
from tests.support.walk import (
    BROKEN,
    MENDED,
    README,
    SOURCE,
    STEPS,
    TUTORIAL,
    change_line,
    commands_of,
    make_clone,
    make_environment,
    take,
    walk,
)

PYTHONS = (sys.executable, *map(str, sorted(PROJECT_ROOT.glob(".venv-3.*/bin/python"))))
"""This Python, and each other one that `tools/other_pythons.sh` has set up; it names those that the machine lacks."""

WALKED = {"wheel": PYTHONS[0], "clone": PYTHONS[1 % len(PYTHONS)]}
"""Where a reader goes through both pages, and with which Python."""


def place_of(name, folder, python, wheel):
    return make_clone(folder, python) if name == "clone" else make_environment(folder, python, wheel)


def assert_it_is_found(explanation):
    answer = " ".join(explanation.partition("cause:")[0].split())
    for words in (
        "the balance of account",
        "on replicas 0, 1, 2, 3 than by the oracle",
        "The fire of timer ",
        "is right",
    ):
        assert words in answer
    assert "\ncause: execution\n" in explanation


def assert_burned_follows(explanation):
    """From what is printed: use or limit times the price of a cycle, and the cells at theirs, as the tutorial says."""
    figures = re.findall(r"\b(\w+ basefee|gas limit|used \w+)\s+([\d,]+\d)", explanation)
    known = {name: int(found.replace(",", "")) for name, found in figures}
    made = explanation[explanation.index("\nmade by: ") :]
    written = [int(found.replace(",", "")) for found in re.findall(r"\bburned\s+([\d,]+\d)", made)[:2]]
    cells = known["used cells"] * known["cell basefee"]

    assert written[0] == known["used cycles"] * known["cycle basefee"] + cells
    assert written[1] == known["gas limit"] * known["cycle basefee"] + cells
    assert written[0] != written[1]


def test_the_steps_are_the_commands_of_the_pages():
    assert [step.typed for step in (*BROKEN, *MENDED)] == commands_of(TUTORIAL)
    assert [step.typed for step in STEPS] == commands_of(README)


def test_the_line_that_the_tutorial_scans_is_the_broken_one():
    file, number = re.search(r"scan --only (\S+):(\d+)", TUTORIAL).groups()
    line = (PROJECT_ROOT / file).read_text(encoding="utf-8").splitlines()[int(number) - 1]

    assert file == SOURCE
    assert f"-{line}" in TUTORIAL.splitlines()


@pytest.mark.long
@pytest.mark.parametrize("name", rest_in_soak(WALKED, []))
def test_a_reader_of_both_pages_sees_what_they_say(name, tmp_path, wheel):
    """The runs of the tutorial lie beside those of README, and none is in the other's way."""
    place = place_of(name, tmp_path, WALKED[name], wheel)
    said = walk(place)
    runs = place.folder / "runs"

    assert_it_is_found(said["explain runs/tutorial/calm-0"])
    assert_burned_follows(said["explain runs/tutorial/calm-0"])
    assert sorted(path.name for path in runs.glob("calm*")) == ["calm-0", "calm-0.pftrace"]
    assert (runs / "tutorial" / "calm-0-shrunk.toml").is_file()


@pytest.mark.soak
@pytest.mark.parametrize("python", PYTHONS[2:], ids=lambda python: python.split("/")[-3])
def test_the_tutorial_holds_on_every_python(python, tmp_path, wheel):
    place = make_environment(tmp_path, python, wheel)
    change_line(place, "-", "+")
    explanation = [take(place, step) for step in BROKEN][1]

    assert_it_is_found(explanation)


def test_the_file_to_break_is_found_where_the_package_is(tmp_path, wheel):
    place = make_environment(tmp_path, wheel=wheel)
    program = re.search(r'^python -c "(.+)"$', TUTORIAL, re.MULTILINE).group(1)

    assert place.run(sys.executable, "-c", program).stdout.strip() == str(place.code / SOURCE)
