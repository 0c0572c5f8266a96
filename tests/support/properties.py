"""Property tests under two profiles: `steady`, the same examples each time, and `soak`, others each time and more.

`pytest --hypothesis-profile=soak -m hypothesis` is the part `properties` of `make soak`. Whatever it finds becomes an
`@example` of its test: the steady profile would not meet it again.
"""

from typing import Final

from hypothesis import settings

STEADY: Final = "steady"
SOAK: Final = "soak"

EXAMPLES: Final = 100
"""Examples of a test that states no number."""

MORE: Final = 10
"""The examples of a soak for each one of a steady run."""


def register_profiles() -> None:
    """Register both profiles, and make the steady one the default."""
    # Times say nothing here: the machine may be busy. A database would bring back what an earlier run has found.
    settings.register_profile(STEADY, derandomize=True, database=None, deadline=None, max_examples=EXAMPLES)
    settings.register_profile(SOAK, database=None, deadline=None, max_examples=EXAMPLES * MORE, print_blob=True)
    settings.load_profile(STEADY)


def examples(count: int, **rest: object) -> settings:
    """Return the settings of a test with this many examples in a steady run; `rest` is as Hypothesis has it."""
    scale = MORE if settings.get_current_profile_name() == SOAK else 1
    return settings(max_examples=count * scale, **rest)
