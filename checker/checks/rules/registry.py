"""The rules of every consensus engine, by its name."""

from collections.abc import Mapping
from typing import Final

from checker.checks.rules.engine_rules import EngineRules
from checker.checks.rules.hotstuff import HOTSTUFF_RULES
from checker.checks.rules.longest_chain import LONGEST_CHAIN_RULES
from checker.checks.rules.simplex import SIMPLEX_RULES

RULES: Final[Mapping[str, EngineRules]] = {
    rules.name: rules for rules in (SIMPLEX_RULES, HOTSTUFF_RULES, LONGEST_CHAIN_RULES)
}
"""One entry for each engine in the registry of engines."""


def rules_of_others(engine: str) -> tuple[str, ...]:
    """Return the labels of the cells that only other engines have."""
    own = [cell.label for cell in RULES[engine].cells or ()]
    others = (cell.label for name, rules in RULES.items() if name != engine for cell in rules.cells or ())
    return tuple(label for label in others if label not in own)
