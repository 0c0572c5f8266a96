"""The form of a policy: what is no policy is named before a block opens it; the page's table of activations is true."""

import re
from itertools import permutations

import pytest

from checker.record.root import PROJECT_ROOT
from scheduler import POLICIES, BlockPhase, Carry, Policy, Refusal
from scheduler.policies import problem_of

ROW = re.compile(r"^\| (`[a-z0-9-`, ]+) \| `([a-z0-9-]+)` \| (.+) \|$", re.MULTILINE)


class Sound(Policy):
    """A policy that only lacks its blocks."""

    name = "sound"
    has_ttl = False
    has_budget = False


def problem(**changes):
    return problem_of(type("Changed", (Sound,), changes), POLICIES.values())


def test_built_in_policies_and_a_sound_one_have_no_problem():
    assert [problem_of(policy, POLICIES.values()) for policy in (*POLICIES.values(), Sound)] == [""] * (
        len(POLICIES) + 1
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"has_ttl": "yes"}, "has has_ttl = 'yes', which must be a bool"),
        ({"tables": (1,)}, "has 1 among its tables"),
        ({"config_type": dict}, "must be a subclass of Parameters"),
        ({"config_type": POLICIES["eip1559"].config_type}, "not the record of its config_table"),
        ({"phases": lambda self, own: (BlockPhase.TRANSACTIONS, BlockPhase.END_OF_BLOCK)}, "TIMERS"),
        ({"phases": lambda self, own: [1]}, "must be a tuple of BlockPhase"),
        ({"phases": lambda self, own: tuple(reversed(Policy().phases(None)))}, "do not end with END_OF_BLOCK"),
        ({"carry": lambda self, previous: None}, "has carry(fifo) = None, which must be a Carry or a Refusal"),
        ({"carry": lambda self, previous: 1 // 0}, "cannot be asked what it is: ZeroDivisionError"),
        ({"guarantees": lambda self, own: True}, "which must be Guarantees"),
    ],
)
def test_a_class_that_is_no_policy_is_told_why(changes, told):
    assert told in problem(**changes)


def test_the_table_of_activations_is_what_the_policies_say():
    page = (PROJECT_ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    rows = ROW.findall(page)
    stated = {(before.strip("`"), after): how for befores, after, how in rows for before in befores.split(", ")}
    pairs = permutations(POLICIES, 2)
    carried = {(before, after): POLICIES[after]().carry(POLICIES[before]()) for before, after in pairs}

    assert all(isinstance(carry, Carry | Refusal) for carry in carried.values())
    assert stated == {pair: carry.how for pair, carry in carried.items() if isinstance(carry, Carry)}
