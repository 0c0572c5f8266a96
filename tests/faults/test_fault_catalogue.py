"""The list of faults: every kind of the union with every key of its struct; drawn by the swarm, and documented."""

import msgspec
import pytest

from checker.record.root import PROJECT_ROOT
from cluster.cli.main import main
from cluster.swarm.faults import DRAWN
from faults import kind_of
from faults.catalogue import SHARED, catalogue, page
from faults.kinds.drawing import WHERE_ASKED
from faults.kinds.registry import FAULTS, decode_fault
from faults.parameters import lines_of
from tests.support.drawn import Drawn

KINDS = [kind_of(kind) for kind in FAULTS.built_in]


def listed(arguments, capsys):
    assert main(["faults", *arguments]) == 0
    return capsys.readouterr().out


def test_every_kind_is_listed_once_with_a_family_and_a_line():
    entries = catalogue()

    assert [entry.kind for entry in entries] == KINDS
    assert [entry.kind for entry in entries if entry.family == "other" or len(entry.summary) < 20] == []
    assert [entry.kind for entry in entries if not entry.counts] == []


@pytest.mark.parametrize("kind", FAULTS.built_in, ids=KINDS)
def test_every_key_of_a_kind_is_listed_with_what_it_takes(kind):
    """In the struct's own names for scenario files, required or with the default it really has."""
    (entry,) = [entry for entry in catalogue() if entry.kind == str(kind.__struct_config__.tag)]
    fields = [field for field in msgspec.structs.fields(kind) if field.name not in SHARED]

    assert [parameter.name for parameter in entry.parameters] == [field.encode_name for field in fields]
    assert [parameter.is_required for parameter in entry.parameters] == [field.required for field in fields]
    assert all(parameter.takes and parameter.meaning.endswith(".") for parameter in entry.parameters)
    for parameter, field in zip(entry.parameters, fields, strict=True):
        if not field.required and field.default is not None:
            assert parameter.default == msgspec.json.encode(field.default).decode()


def test_a_listed_default_is_what_a_fault_has_that_leaves_the_key_out():
    (entry,) = [entry for entry in catalogue() if entry.kind == "partition"]
    fault = decode_fault({"kind": "partition", "groups": [[0], [1]], "start_ms": 1, "stop_ms": 2})

    optional = {each.name: msgspec.json.decode(each.default) for each in entry.parameters if not each.is_required}
    assert len(optional) == 5
    assert {name: getattr(fault, name) for name in optional} == optional


def test_units_and_ranges_are_told():
    lines = "\n".join(lines_of(catalogue()))

    assert "    loss_ppm: whole number 0 to 1,000,000, parts per million; default 0\n" in lines
    assert "    bytes_per_second: whole number from 0 on, bytes a second; default 0\n" in lines
    assert "    between: list of [validator, validator]; default []\n" in lines
    assert '    way: (both | in | out); default "both"\n' in lines


@pytest.mark.soak
def test_the_swarm_draws_every_kind():
    """In some of a few hundred seeds. Two kinds are drawn only where a scenario asks for them."""
    drawn = {kind_of(fault) for scenario in Drawn(range(250)) for fault in scenario.faults.values()}

    assert sorted([*drawn, "partitions", "replace"]) == sorted(KINDS)


def test_every_draw_has_a_place_of_its_own_and_none_is_left_out():
    """The swarm takes a few from the list of places: a gap, or a place taken twice, would change every seed."""
    places = sorted(drawn.place for kind in FAULTS.built_in for drawn in kind.draws())

    assert places == [WHERE_ASKED, *range(27)]
    assert [drawn.place for drawn in DRAWN] == list(range(27))


def test_the_page_of_kinds_is_what_the_kinds_say():
    """`python -m faults.catalogue > docs/faults.md` writes it."""
    written = (PROJECT_ROOT / "docs" / "faults.md").read_text(encoding="utf-8")

    assert written == "".join(f"{line}\n" for line in page())


def test_the_command_lists_all_kinds_or_one(capsys):
    """One with what there is to say besides."""
    everything, one = listed([], capsys), listed(["rule"], capsys)

    assert [line.split(" (")[0] for line in everything.splitlines() if not line.startswith(" ")] == KINDS
    assert one.startswith("rule (network): Drop, hold, delay or replay")
    assert "once more at the release" in " ".join(one.split())


def test_the_command_gives_the_same_as_data(capsys):
    answer = msgspec.json.decode(listed(["clog", "--json"], capsys))

    assert [entry["kind"] for entry in answer["faults"]] == ["clog"]
    assert {each["name"]: each for each in answer["faults"][0]["parameters"]}["way"] == {
        "name": "way",
        "takes": "(both | in | out)",
        "unit": "",
        "default": '"both"',
        "is_required": False,
        "meaning": "The direction of these links: into the validators, out of the validators, or both.",
        "left_out": "",
    }


def test_an_unknown_kind_is_one_clear_line(capsys):
    assert main(["faults", "earthquake"]) == 2

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "run_cluster.py: faults: there is no 'earthquake'; `run_cluster.py faults` lists all\n"
