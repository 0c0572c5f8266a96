"""The reference of scenario keys: the page is what the code prints, and every key has its sentence and its default."""

import re

import msgspec
import pytest

from checker.record.root import PROJECT_ROOT
from cluster.authoring.schema import scenario_schema
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.scenario.reference import page
from scheduler import POLICIES, LaneConfig

KEY = re.compile(r"- `([a-z_]+)`, .+?; (required|left out: [^.]+|default `[^`]+`((?:, `[^`]+` with `[^`]+`)*))\. \S")
"""A key with what it takes, what holds without it, and the beginning of its sentence."""

OWN = [name for name, policy in POLICIES.items() if policy.config_type not in (None, LaneConfig)]


def keys_under(heading):
    """Return the lines of keys by their names, of a section of the page."""
    lines = list(page())
    start = lines.index(heading) + 1
    end = next((at for at in range(start, len(lines)) if lines[at].startswith("#")), len(lines))
    return {line.split("`")[1]: line for line in lines[start:end] if line.startswith("- `")}


def default_in(line, setting=""):
    """Return the default of a key on the page, under a setting if it has another one there."""
    found = re.search(rf"`([^`]+)` with `{re.escape(setting)}`", line) if setting else None
    return msgspec.json.decode((found or re.search(r"default `([^`]+)`", line))[1])


def loaded(*settings):
    """Return the chain of a scenario with all defaults written out."""
    return msgspec.json.decode(encode_scenario(load_scenario("calm", settings)))["chain"]


def test_the_page_is_what_the_code_prints():
    """Else run: python -m cluster.scenario.reference > docs/reference.md."""
    assert (PROJECT_ROOT / "docs" / "reference.md").read_text(encoding="utf-8").splitlines() == list(page())


@pytest.mark.parametrize("name", ["reference", "faults"])
def test_every_key_has_a_sentence_and_what_holds_without_it(name):
    """A default of `none` says nothing: the words for it stand beside the sentence of the key."""
    lines = (PROJECT_ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").splitlines()
    keys = [line for line in lines if re.match(r"- `[a-z_]+`, ", line)]

    assert len(keys) > 100
    assert [line for line in keys if not KEY.match(line) or "`none`" in line] == []


def test_every_key_of_every_section_is_on_a_page():
    """The schema is made from the types that read a file."""
    pages = "".join(
        (PROJECT_ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("reference", "faults")
    )
    told = dict.fromkeys(re.findall(r"^- `([a-z_]+)`", pages, re.MULTILINE))
    sections = dict.fromkeys(re.findall(r"^#+ `\[([a-z_.]+)", pages, re.MULTILINE))
    names = {name.rsplit(".", 1)[-1] for name in sections} | {"kind", "do", "anchor"} | {"validators", "observers"}
    keys = {key for each in scenario_schema()["$defs"].values() for key in each["properties"]}

    assert len(keys) > 200
    assert sorted(key for key in keys if key not in told and key.strip(".") not in names) == ["faults"]


@pytest.mark.parametrize("profile", ["default", "intro"])
@pytest.mark.parametrize("section", ["lane", "calendar", "timers"])
def test_a_default_of_the_chain_is_what_a_scenario_gets(section, profile):
    setting = f'chain.profile = "{profile}"'
    told = keys_under(f"## `[chain.{section}]`")
    got = loaded("chain.policy=eip1559", setting)[section]

    assert len(got) > 3
    assert {name: default_in(line, setting) for name, line in told.items()} == got


@pytest.mark.parametrize("policy", OWN)
def test_a_default_of_a_policy_is_what_a_scenario_gets(policy):
    told = keys_under(f'### `policy = "{policy}"`')
    got = loaded(f"chain.policy={policy}")["policy_parameters"]

    assert {name: default_in(line) for name, line in told.items()} == got


@pytest.mark.parametrize("profile", ["early", "latest"])
def test_a_profile_of_the_queue_is_what_a_scenario_gets(profile):
    setting = f'profile = "{profile}"'
    told = keys_under('### `policy = "aptos"`')
    got = loaded("chain.policy=aptos", f"chain.policy_parameters.profile={profile}")["policy_parameters"]

    assert {name: default_in(line, setting) for name, line in told.items()} == {**got, "profile": "aip"}


def test_prices_that_a_policy_sets_are_told():
    told = keys_under("## `[chain.timers]`")
    got = loaded("chain.policy=fifo-free")["timers"]

    assert {name: default_in(line, 'chain.policy = "fifo-free"') for name, line in told.items()} == got


def test_every_kind_of_workload_and_observer_is_there():
    kinds = [line for line in page() if line.startswith("### ")]

    assert len(kinds) == len(set(kinds)) >= 16
