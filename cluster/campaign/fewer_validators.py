"""A plan for fewer replicas: a removed replica is removed from every fault, of any kind.

Observers are numbered after the validators. Replicas after a removed replica get the next lower number.
"""

import copy
from collections.abc import Collection, Mapping

from cluster.campaign.shrink_candidates import Plain
from faults import FAULTS
from faults.kinds.numbers import renumbered


def with_validators(plain: Plain, count: int) -> Plain:
    """Return a resolved plan with fewer validators; the rules of scenarios refuse a senseless plan."""
    before = plain["cluster"]["validators"]
    smaller = copy.deepcopy(plain)
    smaller["cluster"]["validators"] = count
    smaller["network"]["regions"] = smaller["network"]["regions"][:count]
    smaller["validators"] = {name: mode for name, mode in plain["validators"].items() if int(name) < count}
    observers = {before + place: count + place for place in range(len(plain["observers"]))}
    _renumber(smaller, {**{node: node for node in range(count)}, **observers})
    return smaller


def without_observers(plain: Plain, removed: Collection[str]) -> Plain:
    """Return a resolved plan without some observers; the rules of scenarios refuse a senseless plan."""
    validators = plain["cluster"]["validators"]
    smaller = copy.deepcopy(plain)
    smaller["observers"] = {name: each for name, each in plain["observers"].items() if name not in removed}
    promised = smaller["expect"]["replica_modes"]
    smaller["expect"]["replica_modes"] = {name: least for name, least in promised.items() if name not in removed}
    kept = [place for place, name in enumerate(plain["observers"]) if name not in removed]
    observers = {validators + before: validators + place for place, before in enumerate(kept)}
    _renumber(smaller, {**{node: node for node in range(validators)}, **observers})
    return smaller


def _renumber(plain: Plain, numbers: Mapping[int, int]) -> None:
    """Give the replicas of a plan new numbers; a replica without a number is removed."""
    plain["mutants"] = {
        name: [numbers[node] for node in nodes if node in numbers] for name, nodes in plain["mutants"].items()
    }
    arrival = plain["expect"]["arrival"]
    if arrival is not None:
        plain["expect"]["arrival"] = {**arrival, "of": numbers.get(arrival["of"])}
    plain["faults"] = {
        name: renumbered(FAULTS.named(fault["kind"]), fault, numbers, plain["cluster"]["validators"])
        for name, fault in plain["faults"].items()
    }
