"""Finding and loading plug-ins: by name, once, and refused in one sentence."""

import pytest

from checker.record import plugins
from checker.record.fingerprint import this_code
from checker.record.plugins import PluginError, canonical_names, code_with, load_plugins, objects_of, plugin_codes
from tests.support.plugins import write_distribution


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder on the path; what tests install there is forgotten after them."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("checker.record.plugins._plugin_named", plugins._plugin_named.__wrapped__)
    return tmp_path


def install(folder, name, module, entries, source="Thing = object()\n"):
    (folder / f"{module}.py").write_text(source)
    write_distribution(folder, name, entries)


class Registry:
    def __init__(self):
        self.added = []

    def __call__(self, name, thing, plugin):
        if name in [each for each, _ in self.added]:
            raise ValueError(f"{name} of {plugin} is there already")
        self.added.append((name, plugin))


def test_names_are_compared_as_pip_does():
    assert canonical_names(["B_b", "a.A"]) == ("a-a", "b-b")
    with pytest.raises(PluginError, match="b-b is named twice"):
        canonical_names(["B_b", "b-b"])


def test_only_what_is_named_is_loaded_and_only_the_groups_wanted(folder):
    install(folder, "first-thing", "plug_first", {"actors": {"z": "plug_first:Thing", "a": "plug_first:Thing"}})
    install(folder, "second", "plug_second", {"faults": {"b": "nowhere:Thing"}}, source="raise SystemExit\n")
    actors = Registry()

    load_plugins(["first-thing"], {"actors": actors})
    load_plugins(["second"], {"actors": actors})

    assert actors.added == [("a", "first-thing"), ("z", "first-thing")]


def test_a_plugin_that_is_not_installed_is_refused_with_those_that_are(folder):
    install(folder, "here", "plug_here", {"checks": {"a": "plug_here:Thing"}})

    with pytest.raises(PluginError, match=r"no plug-in named there is installed; those that are: .*here"):
        load_plugins(["there"])


@pytest.mark.parametrize(
    ("value", "reported"),
    [
        ("plug_gone:Thing", "No module named 'plug_gone'"),
        ("plug_broken:Thing", "ZeroDivisionError at plug_broken.py:1 in <module> of plug-in broken: division by zero"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_refused(value, reported, folder):
    install(folder, "broken", "plug_broken", {"checks": {"a": value}}, source="1 / 0\n")

    with pytest.raises(PluginError, match=f"broken: {value} cannot be loaded: .*{reported}"):
        list(objects_of(["broken"], "checks"))


def test_a_plugin_that_leaves_while_it_is_imported_is_refused(folder):
    install(folder, "leaver", "plug_leaver", {"checks": {"a": "plug_leaver:Thing"}}, source="raise SystemExit(0)\n")

    with pytest.raises(
        PluginError, match=r"leaver: plug_leaver:Thing cannot be loaded: SystemExit at plug_leaver.py:1 .*: 0"
    ):
        list(objects_of(["leaver"], "checks"))


def test_a_print_of_an_imported_plugin_does_not_reach_standard_output(folder, capsys):
    install(folder, "loud", "plug_loud", {"checks": {"a": "plug_loud:Thing"}}, source="print('hi')\nThing = 1\n")
    list(objects_of(["loud"], "checks"))

    assert capsys.readouterr() == ("", "hi\n")


def test_what_a_registry_refuses_is_told(folder):
    install(folder, "one", "plug_one", {"actors": {"a": "plug_one:Thing"}})
    install(folder, "two", "plug_two", {"actors": {"a": "plug_two:Thing"}})

    with pytest.raises(PluginError, match="a of two is there already"):
        load_plugins(["one", "two"], {"actors": Registry()})


ENTRIES = {"checks": {"a": "plug_code:Thing"}}


class TestCode:
    def test_a_run_without_plugins_is_of_the_test_bed_alone(self):
        assert code_with(()) == this_code()

    def test_another_source_or_version_is_other_code(self, folder):
        install(folder, "code", "plug_code", ENTRIES)
        first = code_with(["code"]).fingerprint
        (folder / "plug_code.py").write_text("Thing = 2\n")
        second = code_with(["code"]).fingerprint
        (folder / "code-1.0.dist-info").rename(folder / "old")
        write_distribution(folder, "code", ENTRIES, version="1.1")
        third = code_with(["code"]).fingerprint

        assert len({first, second, third, this_code().fingerprint}) == 4
        assert [(code.name, code.version, code.files) for code in plugin_codes(["code"])] == [("code", "1.1", 1)]
