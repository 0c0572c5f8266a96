"""Replacements that mutants put in take the arguments of what they replace: one that does not dies of that."""

import inspect
from types import FunctionType

import pytest

from checker.mutants.mutant import original
from tools.mutation.catalogue import CATALOGUE

_MANY = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
_BY_PLACE = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


def calls_of(target):
    """Yield the shortest and the longest call that a function or class takes: arguments by place, and by name."""
    parameters = [each for each in inspect.signature(target).parameters.values() if each.kind not in _MANY]
    for some in ([each for each in parameters if each.default is each.empty], parameters):
        places = [each.name for each in some if each.kind in _BY_PLACE]
        named = [each.name for each in some if each.kind not in _BY_PLACE]
        yield places, named


def takes(replacement, places, named):
    """Return whether a function takes a call, its arguments by place or all by name: targets are called either way."""
    for by_place, by_name in ((places, named), ([], [*places, *named])):
        try:
            inspect.signature(replacement).bind(*by_place, **dict.fromkeys(by_name))
        except TypeError:
            continue
        return True
    return False


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_replacement_takes_the_arguments_of_what_it_replaces(name):
    for owner, attribute, replacement in CATALOGUE[name].swaps():
        replaced = original(owner, attribute)
        if not isinstance(replacement, FunctionType) or not isinstance(replaced, FunctionType | type):
            continue
        assert all(takes(replacement, places, named) for places, named in calls_of(replaced)), attribute
