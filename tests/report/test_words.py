"""Words beside numbers: a unit is a plural but for one."""

import pytest

from network.words import counted


@pytest.mark.parametrize(
    ("count", "unit", "text"),
    [(0, "seeds", "0 seeds"), (1, "seeds", "1 seed"), (1_200, "seeds", "1,200 seeds"), (1, "of all", "1 of all")],
)
def test_one_thing_is_no_plural(count, unit, text):
    assert counted(count, unit) == text
