"""The headline of a failure: place, sides, key, field, timer, write, cause and plan in one line that a person can say.

Names of 64 digits are cut to eight: the report below the headline has them whole. No side is called wrong unless the
oracle stands on the other one.
"""

import re
from typing import Final

from checker.explain import Explanation, SideReport
from cluster.live.replicas import mode_of
from cluster.page.explained import differing_fields
from cluster.scenario.model import Scenario

VALUE_CHARACTERS_MAX: Final = 60
"""The longest value of a field in a headline."""

_LONG_NAME: Final = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{12,}\b")
_WRITE: Final = re.compile(r"^[^:]*?(receipt \d+: \w+|[^:]{1,60})")
_OTHERS: Final = re.compile(r"; [^;:=]*: ([A-Z]\w+)")
"""Writes of other sides in place of the first, each after who is on that side."""


def headline_of(explanation: Explanation, scenario: Scenario, plan: str) -> str:
    """Return the first line about a run that went wrong.

    Args:
        explanation: Why it went wrong.
        scenario: Its scenario, which knows the replicas' modes.
        plan: The smallest plan that is known, with the command that runs it, or the command that finds it.
    """
    if explanation.height is None:
        parts = [f"{explanation.check}: {explanation.summary}"]
    else:
        sides = " against ".join(_side(side, scenario) for side in explanation.sides)
        parts = [f"height {explanation.height}", sides, *_key(explanation)]
    if explanation.timer:
        parts.append(f"timer {explanation.timer}")
    if explanation.write:
        by = f" in handler {explanation.handler}" if explanation.handler else ""
        parts.append(f"written by {_write(explanation.write)}{by}")
    parts.append(f"cause {explanation.cause or 'not a difference of states'}")
    said = "; ".join(part for part in parts if part)
    return _LONG_NAME.sub(r"\1", said) + f"; {plan}"


def _write(write: str) -> str:
    """Return what the write is on the first side, and on others where it is of another kind."""
    found = _WRITE.match(write)
    first = found.group(1) if found else write
    others = [kind for kind in dict.fromkeys(_OTHERS.findall(write)) if not first.endswith(f" {kind}")]
    return " against ".join([first, *others])


def _side(side: SideReport, scenario: Scenario) -> str:
    """Return who is on a side, each validator with its mode."""
    if not side.validators:
        return side.who
    modes: dict[str, list[str]] = {}
    for node in sorted(side.validators):
        modes.setdefault(mode_of(scenario, node), []).append(str(node))
    replicas = ", ".join(f"{', '.join(nodes)} ({mode})" for mode, nodes in modes.items())
    return f"the oracle and {replicas}" if side.has_oracle else f"replicas {replicas}"


def _key(explanation: Explanation) -> list[str]:
    """Return the key that is about the timer, or the first one, with the first field that differs on each side."""
    if not explanation.keys:
        return []
    key = explanation.keys[0]
    fields = differing_fields((key.before, *key.values))
    if not fields:
        return [key.name]
    name, (_, *values) = fields[0]
    shown = " against ".join(value[:VALUE_CHARACTERS_MAX] or "nothing" for value in values)
    return [f"{key.name}: {name} {shown}"]
