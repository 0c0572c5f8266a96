"""Cases that tests of fixtures make: two numbers for the implementation in `tests/applications/adder.py`."""

from cluster.fixtures.cases import make_case, write_case


def case_of(name="sound", do="", *, policy="fifo", level="scheduler", rules=("C-7",)):
    """Return a case that asks for a sum; `do` makes the implementation misbehave."""
    asked = {"numbers": [1, 2], "do": do}
    answer = {"sum": 3, "events": [{"of": 1}, {"of": 2}]}
    return make_case(level, name, (asked, answer), sentence="Two numbers.", rules=rules, policy=policy)


def write_cases(folder, *cases):
    """Write cases to their places in a folder, and return it."""
    for case in cases:
        (folder / case.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / case.path).write_bytes(write_case(case))
    return folder
