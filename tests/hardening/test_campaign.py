"""The campaign of hostile files and records forgets no command and no argument, sees each flaw, and a share of it."""

import pytest

from checker.record.manifest import MANIFEST, REPORT
from cluster.cli.main import COMMANDS
from tests.hardening import campaign
from tests.hardening.campaign import Ended, cases, cases_of_records, flaws_of, lines_of, make_template
from tests.hardening.command_lines import LINES, OTHER_TEXTS, READ_ONLY, SCENARIO_TEXTS, file_arguments, texts
from tests.hardening.places import PLACES
from tests.support.keystones import first_of

USUAL_S = 60.0
"""Seconds that a command may take here beside a hundred others; only a hang takes longer."""


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A folder with records, a proof and a plan."""
    return make_template(tmp_path_factory.mktemp("hardening") / "template", is_whole=False)


@pytest.fixture(scope="module")
def of_files(template):
    """The cases of files, by command line and what is wrong."""
    return {(case.line, case.what): case for case in cases(template)}


@pytest.fixture(scope="module")
def of_records(template):
    """The cases of records, likewise."""
    return {(case.line, case.what): case for case in cases_of_records(template)}


# -- nothing is forgotten ----------------------------------------------------------------------


def test_a_text_is_known_to_name_a_file_or_not():
    """A new argument has to be put into one of the two lists."""
    known = SCENARIO_TEXTS | OTHER_TEXTS
    assert texts() == known


def test_every_file_argument_has_a_command_line():
    assert [argument for argument in file_arguments() if not lines_of(argument)] == []
    assert len(file_arguments()) > 25


def test_the_lists_name_nothing_that_is_gone():
    assert not {line.partition(" ")[0] for line in LINES} - COMMANDS.keys()
    assert not READ_ONLY - {argument.name for argument in file_arguments()}


def test_every_file_argument_meets_every_place(of_files):
    met = {(line.split()[0], what) for line, what in of_files}

    wanted = {(command, f"{name} is {make.__name__}") for command, name in file_arguments() for make in PLACES}
    assert wanted - met == set()


def test_every_file_of_a_record_is_changed_and_replaced(template, of_files, of_records):
    files = {path.name for path in (template / "record").iterdir()} - {REPORT}

    assert {what.split()[0] for _, what in of_records} == files
    assert not files - {what.split()[0].removeprefix("record/") for _, what in of_files}


@pytest.mark.parametrize("field", ["seed", "verdict", "files"])
def test_every_field_of_a_document_is_changed(field, of_records):
    assert ("replay", f"{MANIFEST} {field}: minus one") in of_records


# -- each flaw is seen -------------------------------------------------------------------------

WELL = Ended(0, b"fine\n", b"", 1.0, 1 << 20, is_hung=False)

FLAWED = {
    "hangs: 71.0 s": WELL._replace(is_hung=True, code=-9, seconds=71.0),
    "ends with -11": WELL._replace(code=-11),
    "ends with 7": WELL._replace(code=7),
    "takes 2,048 MiB": WELL._replace(bytes_max=2 << 30),
    "prints 'Traceback': KeyError: 1": WELL._replace(err=b"Traceback (most recent call last):\nKeyError: 1\n"),
    "prints 'the test bed broke': x: the test bed broke: it": WELL._replace(err=b"x: the test bed broke: it\n"),
    "speaks to the terminal": WELL._replace(out=b"\x1b[2J\n"),
}


@pytest.mark.parametrize("flaw", FLAWED)
def test_a_flaw_of_an_end_is_seen(flaw):
    assert [*campaign._flaws_of_end(FLAWED[flaw], is_json=False)] == [flaw]


def test_what_is_no_json_is_seen():
    (flaw,) = campaign._flaws_of_end(WELL, is_json=True)

    assert flaw.startswith("prints no JSON: ")
    assert [*campaign._flaws_of_end(WELL._replace(out=b"{}\n"), is_json=True)] == []


def test_what_hangs_is_ended(template):
    assert campaign._end(["run", "calm"], template, 0.0).is_hung


def test_a_change_of_what_is_not_named_is_seen(template):
    """Here of a file that is there before the command begins; a page beside a record is named with it."""
    before = campaign._listing(template)
    (template / "outside" / "new").touch()
    after = campaign._listing(template)
    (template / "outside" / "new").unlink()

    assert [*campaign._flaws_of_folder(after.keys() - before.keys(), ["runs"])] == ["changes 'outside/new'"]
    assert [*campaign._flaws_of_folder({"runs/a", "record/report.html"}, ["runs"])] == []


# -- a share -----------------------------------------------------------------------------------

SHARE = (
    ("check", "scenario is huge"),
    ("check", "scenario is name_of_controls"),
    ("verify", "file is huge"),
    ("prove", "--out is link_to_nothing"),
    ("new", "--out is full_device"),
    ("show", f"{MANIFEST} verdict: controls"),
    ("verify", "genesis.msgpack : cut"),
)


@pytest.mark.parametrize(("line", "what"), first_of(SHARE))
def test_a_hostile_file_costs_nothing(line, what, template, of_files, of_records):
    assert flaws_of((of_files | of_records)[line, what], template, USUAL_S) == []
