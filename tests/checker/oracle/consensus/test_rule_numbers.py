"""Each rule of an engine's page is a function of its specification, and each function names its rules."""

import ast
import re

import pytest

from checker.record.root import PROJECT_ROOT

READERS = {"read_sealed", "read_burial", "read_answer", "write"}

ENGINES = {
    "simplex": ("SX", "simplex.md", {"__init__", "emit"}),
    "hotstuff": ("HS", "hotstuff.md", {"__init__", "write"}),
    "longest_chain": ("LC", "longest-chain.md", {"__init__", "emit", "take", *READERS}),
}
"""By engine the prefix of its rules, their page, and the functions of its specification that are no rules."""

NAMED = re.compile(r"(?P<rules>[A-Z]{2}-\d+(?:, [A-Z]{2}-\d+)*): ")


def functions_of(engine):
    source = (PROJECT_ROOT / "checker" / "oracle" / "consensus" / f"{engine}.py").read_text()
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]


def rules_of(function):
    named = NAMED.match(ast.get_docstring(function) or "")
    return named["rules"].split(", ") if named else []


def rules_on_page(engine):
    prefix, page, _ = ENGINES[engine]
    return re.findall(rf"^\| ({prefix}-\d+) \|", (PROJECT_ROOT / "docs" / page).read_text(), re.MULTILINE)


@pytest.mark.parametrize("engine", ENGINES)
def test_each_function_names_rules_of_the_page(engine):
    _, _, others = ENGINES[engine]
    on_page = rules_on_page(engine)
    found = {each.name: rules_of(each) for each in functions_of(engine) if each.name not in others}

    assert {name: rules for name, rules in found.items() if not rules or not set(rules) <= set(on_page)} == {}


@pytest.mark.parametrize("engine", ENGINES)
def test_each_rule_of_the_page_has_a_function(engine):
    named = {rule for function in functions_of(engine) for rule in rules_of(function)}

    assert [rule for rule in rules_on_page(engine) if rule not in named] == []


@pytest.mark.parametrize("engine", ENGINES)
def test_rules_are_numbered_in_their_order(engine):
    prefix, _, _ = ENGINES[engine]
    on_page = rules_on_page(engine)

    assert on_page == [f"{prefix}-{number}" for number in range(1, len(on_page) + 1)]
