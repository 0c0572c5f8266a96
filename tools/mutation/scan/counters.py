"""The counters of probes: functions that instrumented sources call, known to every module of the process.

This file imports nothing that could be instrumented: it has to be there before anything is imported that calls it.
"""

import builtins
from collections.abc import Callable
from typing import Any, Final

REACHED: Final = "__scan_reached__"
SEEN: Final = "__scan_seen__"
BOTH: Final = "__scan_both__"
BOTH_AS_TESTS: Final = "__scan_both_as_tests__"
OPERANDS: Final = "__scan_operands__"


class Counters:
    """The counts that instrumented sources keep while they run, by mutant; one a process.

    Args:
        mutants: The number of mutants.
    """

    def __init__(self, mutants: int) -> None:
        self._reached = bytearray(mutants)
        self._differed = bytearray(mutants)

    def install(self) -> None:
        """Make the functions that instrumented sources call known to all modules."""
        functions = (self.reach, self.see, self.compare, self.compare_tests, self.compare_operands)
        for name, function in zip((REACHED, SEEN, BOTH, BOTH_AS_TESTS, OPERANDS), functions, strict=True):
            setattr(builtins, name, function)

    def take(self) -> tuple[list[int], list[int]]:
        """Return the mutants that were reached and those that differed since the last time."""
        taken = [[number for number, is_set in enumerate(each) if is_set] for each in (self._reached, self._differed)]
        for each in (self._reached, self._differed):
            each[:] = bytes(len(each))
        return taken[0], taken[1]

    def reach(self, number: int) -> None:
        """Count that a statement runs; below zero, that its mutant differs from it."""
        if number >= 0:
            self._reached[number] = 1
        else:
            self._differed[-1 - number] = 1

    def see(self, number: int, value: object) -> object:
        """Count that an expression was evaluated."""
        self._reached[number] = self._differed[number] = 1
        return value

    def compare(self, number: int, value: object, other: Callable[[], object]) -> object:
        """Count whether an expression has another value in its other form."""
        return self._compare(number, value, other, lambda it: (type(it), it))

    def compare_tests(self, number: int, value: object, other: Callable[[], object]) -> object:
        """Count whether an expression is true in only one of its forms."""
        return self._compare(number, value, other, bool)

    def compare_operands(
        self, number: int, now: Callable[[Any, Any], object], other: Callable[[Any, Any], object], *operands: object
    ) -> object:
        """Count whether two operators give different values."""
        return self._compare(number, now(*operands), lambda: other(*operands), lambda it: (type(it), it))

    def _compare(
        self, number: int, value: object, other: Callable[[], object], form: Callable[[object], object]
    ) -> object:
        self._reached[number] = 1
        if not self._differed[number]:
            try:
                self._differed[number] = form(value) != form(other())
            except Exception:  # noqa: BLE001 - whatever the other form cannot do, it differs
                self._differed[number] = 1
        return value
