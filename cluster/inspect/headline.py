"""The headline of a failure: place, sides, key, field, timer, write, cause and plan in one line that a person can say.

Names of 64 digits are cut to eight: the report below the headline has them whole. No side is called wrong unless the
oracle stands on the other one. Where no key differs, what does takes its place: the field of a receipt, an operation
of the log, a figure of the block, a place in memory, or the roots.
"""

import re
from collections.abc import Sequence
from typing import Final

from checker.explain import EXECUTED_ALL_THE_SAME, Explanation, SideReport
from cluster.live.replicas import mode_of
from cluster.page.explained import differing_fields
from cluster.scenario.model import Scenario

VALUE_CHARACTERS_MAX: Final = 60
"""The longest value of a field in a headline."""

_LONG_NAME: Final = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{12,}\b")
_KIND: Final = re.compile(r"no receipt|\w+")
_WRITE: Final = re.compile(r"^[^:]*?(receipt \d+: (?:no receipt|\w+)|[^:]{1,60})")
_OTHERS: Final = re.compile(r"; [^;:=]*: (no receipt|[A-Z]\w+)")
"""Writes of other sides in place of the first, each after who is on that side."""
_BOOKKEEPING: Final = re.compile(r"^no receipt: the block's own bookkeeping, (.*)")
_LEFT_OUT: Final = "the phase "
"""The beginning of an origin that says which phase of a block did not take place."""


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
        parts = [f"height {explanation.height}", sides, _difference(explanation)]
    if explanation.timer:
        parts.append(f"timer {explanation.timer}")
    if explanation.write:
        parts.append(_made_by(explanation))
    parts.append(f"cause {explanation.cause or explanation.no_cause}")
    said = "; ".join(part for part in parts if part)
    return _LONG_NAME.sub(r"\1", said) + f"; {plan}"


def _made_by(explanation: Explanation) -> str:
    """Return what made the difference: a write with its handler, or what happened where it is no write."""
    write, origin = explanation.write, explanation.origin
    if origin.endswith(EXECUTED_ALL_THE_SAME) or origin.startswith(_LEFT_OUT):
        return origin
    if _is_named(explanation):
        return ""
    bookkeeping = _BOOKKEEPING.match(write)
    if bookkeeping is not None:
        return f"written by the block's own bookkeeping, {bookkeeping.group(1)}"
    by = f" in handler {explanation.handler}" if explanation.handler else ""
    return f"written by {_write(write)}{by}"


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


def _difference(explanation: Explanation) -> str:
    """Return the first key with the field that differs, or what differs where no key does, with each side's value."""
    if explanation.keys:
        key = explanation.keys[0]
        fields = differing_fields((key.before, *key.values))
        return f"{key.name}: {fields[0][0]} {_against(fields[0][1][1:])}" if fields else key.name
    if _is_named(explanation):
        return f"{explanation.origin}: {_against(explanation.told)}"
    if explanation.receipt is not None and len(dict.fromkeys(explanation.told)) > 1:
        return _of_receipt(explanation)
    says = [side.says or side.root or f"block {side.block}" for side in explanation.sides]
    if len(dict.fromkeys(says)) < 2:
        return ""
    if any(side.says for side in explanation.sides):
        return f"{explanation.check}: {_against(says)}"
    blocks = [side.block for side in explanation.sides]
    return f"final block {_against(blocks)}" if all(blocks) else f"state root {_against(says)}"


def _is_named(explanation: Explanation) -> bool:
    """Return whether the difference is the write itself, not what it wrote: an operation, a figure, a place."""
    is_told = len(dict.fromkeys(explanation.told)) > 1 and not explanation.origin.startswith(_LEFT_OUT)
    return is_told and not explanation.keys and explanation.receipt is None


def _of_receipt(explanation: Explanation) -> str:
    """Return the field of a receipt that differs; nothing where it is the kind, which the write names."""
    kinds = [found.group() if (found := _KIND.match(told)) else told for told in explanation.told]
    place = f"receipt {explanation.receipt}"
    if any(told.startswith("breaks off") for told in explanation.told):
        return f"{place}: {_against(explanation.told)}"
    if len(dict.fromkeys(kinds)) > 1:
        return ""
    name, (_, *values) = differing_fields(("", *explanation.told))[0]
    return f"{place}: {name} {_against(values)}"


def _against(values: Sequence[str]) -> str:
    return " against ".join(_LONG_NAME.sub(r"\1", value)[:VALUE_CHARACTERS_MAX] or "nothing" for value in values)
