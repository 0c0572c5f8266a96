"""The form of a policy, checked before a block opens it: attributes, their types, the answers that need no block."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from traceback import walk_tb
from typing import Any

import msgspec

from scheduler.errors import InvalidInput
from scheduler.policies.policy import ONCE, POLICY_ATTRIBUTES, Carry, Guarantees, Policy, Refusal
from scheduler.tables import StateTable
from scheduler.types import BlockPhase, Parameters, TimerConfig


def problem_of(policy: type[Any], others: Iterable[type[Policy]]) -> str:
    """Return the first thing about a class that no policy can have; empty where there is none."""
    if missing := [attribute for attribute in POLICY_ATTRIBUTES if not hasattr(policy, attribute)]:
        return f"has no {' and no '.join(missing)}"
    found = next(_problems_of_types(policy), "")
    if found:
        return found
    try:
        return next(_problems_of_answers(policy, others), "")
    except Exception as error:  # noqa: BLE001 - whatever the code of another package raises
        frame, line = list(walk_tb(error.__traceback__))[-1]
        place = f"{Path(frame.f_code.co_filename).name}:{line}"
        return f"cannot be asked what it is: {type(error).__name__} at {place}: {error}"


def _problems_of_types(policy: type[Any]) -> Iterator[str]:
    for name, kind in (("has_ttl", bool), ("has_budget", bool), ("default_config", TimerConfig), ("tables", tuple)):
        value = getattr(policy, name)
        if not isinstance(value, kind):
            yield f"has {name} = {value!r}, which must be a {kind.__name__}"
    if strange := [table for table in policy.tables if not isinstance(table, StateTable)]:
        yield f"has {strange[0]!r} among its tables, which must be StateTables"
    kind, table = policy.config_type, policy.config_table
    if kind is not None and not (isinstance(kind, type) and issubclass(kind, Parameters)):
        yield f"has config_type = {kind!r}, which must be a subclass of Parameters"
    if table is not None and not isinstance(table, StateTable):
        yield f"has config_table = {table!r}, which must be a StateTable"
    if (None if table is None else table.record) is not kind:
        yield "has a config_type that is not the record of its config_table"


def _problems_of_answers(policy: type[Any], others: Iterable[type[Policy]]) -> Iterator[str]:
    made, own = policy(), None
    if policy.config_type is not None:
        try:
            own = policy.config_type()
            msgspec.msgpack.decode(msgspec.msgpack.encode(own), type=policy.config_type)
        except (TypeError, InvalidInput, msgspec.MsgspecError) as error:
            yield f"has parameters without defaults that a chain can begin with: {error}"
    phases = made.phases(own)
    if not (isinstance(phases, tuple) and all(isinstance(phase, BlockPhase) for phase in phases)):
        yield f"has phases {phases!r}, which must be a tuple of BlockPhase"
    names = [phase.name for phase in phases if phase is not BlockPhase.PROLOGUE]
    if sorted(names) != sorted(each.name for each in ONCE):
        yield f"has the phases {', '.join(names)}, which must be {', '.join(each.name for each in ONCE)} once each"
    if phases[-1] is not BlockPhase.END_OF_BLOCK or phases.count(BlockPhase.PROLOGUE) > 1:
        yield "has phases that do not end with END_OF_BLOCK, or two prologues"
    if not isinstance(made.guarantees(own), Guarantees):
        yield f"has guarantees {made.guarantees(own)!r}, which must be Guarantees"
    for other in others:
        carry = made.carry(other())
        if not isinstance(carry, Carry | Refusal):
            yield f"has carry({other.name}) = {carry!r}, which must be a Carry or a Refusal"
