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
