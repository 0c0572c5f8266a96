"""A mutant: some attributes of a validator's code replaced by bad ones, while that validator runs.

A mutant of the test bed belongs to no validator: `is_of_run` puts it in for as long as the run lasts.

A validator decides in synchronous steps, one at a time in the whole process. So a function, a method or a constant can
be another one for chosen validators only: `Swaps` puts the bad one in when a step of such a validator begins and takes
it out when the step is over. Nothing of the production code knows of it but `ValidatorFactory.around`.

A mutant is one decorated function. It is given the original of each attribute that the decorator names and returns its
replacement; several attributes have as many replacements. A name that is not there fails when this package is imported:
a mutant that swaps nothing would survive for the wrong reason.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Literal, TypeAlias

from validators.settings import ValidatorFactory

Cause: TypeAlias = Literal["input", "order", "execution", "hashing", "clean-up"]
"""The cause of a difference between states, in one word (docs/explain.md)."""

Area: TypeAlias = Literal["scheduler", "execution", "state", "consensus", "storage", "network", "test-bed"]
"""The part of a validator that a mutant is in, or the test bed."""

Target: TypeAlias = tuple[object, str]
"""A module or class, and the attribute of it that is replaced."""

Swap: TypeAlias = tuple[object, str, object]
"""A target and its replacement."""


class MissingTargetError(LookupError):
    """A mutant replaces an attribute that is not there: the code has moved on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A known-bad version of some attributes.

    Attributes:
        name: Its name in a scenario file.
        description: The mistake, in one sentence.
        area: The part of a validator that it is in.
        kills: The checks of which at least one has to fail: those whose failure says what is wrong.
        targets: The attributes that are replaced.
        replace: Takes their originals and returns their replacements.
        cause: The cause of different states; None where it is not the state that goes wrong.
        on_all: Whether it is given to every validator, because one alone would only be outvoted.
        on_observer: Whether it is given to the first observer, which does what no validator does.
        needs: Settings (`key=value`) of the standard campaign without which it cannot show.
        shows: What an explanation of it has to name, as a regular expression over the write and the names of the keys.
        is_of_run: Whether it is in place for the whole run, and not for the steps of its validators.
        is_of_timer: Whether a timer is concerned, which an explanation then has to name.
    """

    name: str
    description: str
    area: Area
    kills: tuple[str, ...]
    targets: tuple[Target, ...]
    replace: Callable[..., Any]
    cause: Cause | None = None
    on_all: bool = False
    on_observer: bool = False
    needs: tuple[str, ...] = ()
    shows: str = ""
    is_of_run: bool = False
    is_of_timer: bool = False

    def swaps(self) -> list[Swap]:
        """Return targets with their replacements, made anew each time: no two validators share state."""
        made = self.replace(*(original(*target) for target in self.targets))
        replacements = made if len(self.targets) > 1 else (made,)
        return [(*target, each) for target, each in zip(self.targets, replacements, strict=True)]


def mutant(
    *targets: Target, area: Area, kills: tuple[str, ...], **options: Any
) -> Callable[[Callable[..., Any]], Mutant]:
    """Return a decorator that makes a function a mutant: its name, with hyphens, and its docstring are the mutant's.

    Args:
        targets: The attributes that are replaced; the function is given their originals in this order.
        area: See `Mutant`, as for `kills` and the options.
        kills: The checks of which one has to fail.
        options: Any other attribute of `Mutant`.

    Raises:
        MissingTargetError: A target is not there.
    """
    for target in targets:
        original(*target)

    def make(replace: Callable[..., Any]) -> Mutant:
        name = replace.__name__.replace("_", "-")
        return Mutant(
            name=name,
            description=replace.__doc__ or "",
            area=area,
            kills=kills,
            targets=targets,
            replace=replace,
            **options,
        )

    return make


def original(owner: object, name: str) -> Any:
    """Return an attribute as it stands in its owner: a property or a static method as such, not what it gives.

    Raises:
        MissingTargetError: The owner has no such attribute, or only inherits it.
    """
    if name not in vars(owner):
        raise MissingTargetError(f"{getattr(owner, '__name__', owner)} has no {name!r} of its own to be replaced")
    return vars(owner)[name]


class Swaps:
    """A context in which some attributes are replaced; it never nests, neither with itself nor with another one."""

    __slots__ = ("_originals", "_swaps")

    def __init__(self, swaps: list[Swap]) -> None:
        self._swaps: Final = swaps
        self._originals: Final[list[Any]] = [original(owner, name) for owner, name, _ in swaps]

    def __enter__(self) -> None:
        for owner, name, replacement in self._swaps:
            setattr(owner, name, replacement)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for (owner, name, _), before in zip(self._swaps, self._originals, strict=True):
            setattr(owner, name, before)


def validator_with(mutants: list[Mutant]) -> ValidatorFactory:
    """Return a factory for validators that have these mutants."""
    swaps = Swaps([swap for each in mutants for swap in each.swaps()])
    return ValidatorFactory(around=lambda: swaps)


class OtherLedger:
    """Passes everything on to a ledger but what a mutant does in ways of its own."""

    def __init__(self, ledger: Any, **ways: Any) -> None:
        self._ledger = ledger
        self._ways = ways

    def __getattr__(self, name: str) -> Any:
        return self._ways.get(name) or getattr(self._ledger, name)


def burning_for(address: bytes, ledger: Any) -> OtherLedger:
    """Return a ledger that burns whatever is credited to an address."""

    def credit(credited: bytes, amount: int) -> None:
        if credited == address:
            ledger.burn(amount)
        else:
            ledger.credit(credited, amount)

    return OtherLedger(ledger, credit=credit)
