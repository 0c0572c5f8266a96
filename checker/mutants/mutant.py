"""A mutant: bad replacements of some attributes of a validator's code, in place while this validator runs.

A mutant of the test bed belongs to no validator: `is_of_run` puts it in for the whole run.

The whole process runs a single step of a single validator at a time. So `Swaps` can replace a function, a method or a
constant for chosen validators only: it puts the replacement in when their step begins, and takes it out when the step
is over. Of the production code only `ValidatorFactory.around` takes part in this.

A mutant is a decorated function. It gets the original of each attribute that the decorator names, and returns as many
replacements. A missing attribute fails when this package is imported: a mutant that swaps nothing would survive for the
wrong reason.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from types import FunctionType, ModuleType, TracebackType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from checker.explain.explanation import Cause
from validators.settings import ValidatorFactory

Area: TypeAlias = Literal["scheduler", "execution", "state", "consensus", "storage", "network", "test-bed"]
"""The part of a validator that a mutant is in, or the test bed."""

Target: TypeAlias = tuple[object, str]
"""A module or class, and the attribute of it that is replaced."""

Swap: TypeAlias = tuple[object, str, object]
"""A target and its replacement."""

_CALLED: Final = FunctionType | property
"""Targets that can tell that they are called."""


class Gated(NamedTuple):
    """A replacement that is in place while `is_open` says so, and the original function or property otherwise."""

    replacement: Any
    is_open: Callable[[], bool]


class MissingTargetError(LookupError):
    """A mutant replaces an attribute that the code no longer has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A known-bad version of some attributes.

    Attributes:
        name: Its name in a scenario file.
        description: The mistake, in one sentence.
        area: The part of a validator that it is in.
        kills: The checks of which at least one has to fail, because its failure names the mistake.
        targets: The attributes that are replaced.
        replace: Takes their originals and returns their replacements.
        cause: The cause of different states; None where states stay equal.
        on_all: Whether every validator gets it, because a single validator would only be outvoted.
        needs: Settings (`key=value`) of the standard campaign without which it cannot show.
        shows: A regular expression that an explanation has to match, over the write and the names of the keys.
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
    needs: tuple[str, ...] = ()
    shows: str = ""
    is_of_run: bool = False
    is_of_timer: bool = False

    @property
    def constants(self) -> list[str]:
        """The targets that are no functions and no properties: they are replaced for whole steps alone."""
        return [name_of(*target) for target in self.targets if not isinstance(original(*target), _CALLED)]

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
    """Return an attribute as its owner stores it: a property or a static method itself, not its value.

    Raises:
        MissingTargetError: The owner has no such attribute, or only inherits it.
    """
    if name not in vars(owner):
        raise MissingTargetError(f"{getattr(owner, '__name__', owner)} has no {name!r} of its own to be replaced")
    return vars(owner)[name]


def name_of(owner: object, name: str) -> str:
    """Return a target as a reader finds it in the code."""
    if isinstance(owner, ModuleType):
        return f"{owner.__name__}.{name}"
    assert isinstance(owner, type), f"a mutant replaces attributes of modules and classes; got {owner!r}"
    return f"{owner.__module__}.{owner.__qualname__}.{name}"


class Swaps:
    """A context in which some attributes are replaced; contexts never nest.

    Args:
        swaps: The targets with their replacements; a `Gated` replacement is not always in place.
        notes: Replacements of functions that call the original and take a note.

    Attributes:
        is_called: Whether a replacement was called, or may have been: nobody can tell who reads a constant.
    """

    __slots__ = ("_originals", "_swaps", "_watched", "is_called")

    def __init__(self, swaps: list[Swap], notes: Sequence[Swap] = ()) -> None:
        self.is_called = not all(isinstance(_ungated(each), _CALLED) for _, _, each in swaps)
        self._originals: Final = [(owner, name, original(owner, name)) for owner, name, _ in (*swaps, *notes)]
        self._swaps: Final = [*map(_in_place, swaps), *notes]
        watched = [(owner, name, self._watching(each)) for owner, name, each in swaps]
        self._watched: Final = self._swaps if self.is_called else [*map(_in_place, watched), *notes]

    def _watching(self, replacement: Any) -> Any:
        """Return a replacement that notes that it is called."""
        if isinstance(replacement, Gated):
            return replacement._replace(replacement=self._watching(replacement.replacement))
        if isinstance(replacement, property):
            return replacement.getter(self._watching(replacement.fget))

        @wraps(replacement)
        def call(*given: Any, **named: Any) -> Any:
            self.is_called = True
            return replacement(*given, **named)

        return call

    def __enter__(self) -> None:
        # Without the watching wrapper after the first call: hot code costs no more than the mutant itself.
        for owner, name, replacement in self._swaps if self.is_called else self._watched:
            setattr(owner, name, replacement)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for owner, name, before in self._originals:
            setattr(owner, name, before)


def _ungated(replacement: object) -> object:
    return replacement.replacement if isinstance(replacement, Gated) else replacement


def _in_place(swap: Swap) -> Swap:
    """Return a swap as it is put in: a gated replacement asks at each call whether it is in place."""
    owner, name, gated = swap
    if not isinstance(gated, Gated):
        return swap
    before, (after, is_open) = original(owner, name), gated
    if isinstance(before, property):
        return owner, name, before.getter(_either(before.fget, after.fget, is_open))
    return owner, name, _either(before, after, is_open)


def _either(before: Any, after: Any, is_open: Callable[[], bool]) -> Any:
    @wraps(before)
    def call(*given: Any, **named: Any) -> Any:
        return (after if is_open() else before)(*given, **named)

    return call


def swaps_of(mutants: Iterable[Mutant]) -> Swaps:
    """Return the context in which mutants are in place."""
    return Swaps([swap for each in mutants for swap in each.swaps()])


def factory_with(swaps: Swaps) -> ValidatorFactory:
    """Return a factory for validators that take their steps in a context."""
    return ValidatorFactory(around=lambda: swaps)


def validator_with(mutants: list[Mutant]) -> ValidatorFactory:
    """Return a factory for validators that have these mutants."""
    return factory_with(swaps_of(mutants))


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


def reordered(classify: Any, order: Any) -> Any:
    """Return a `classify` whose candidates come in another order."""

    def classify_in_another_order(waiting: Any, **rest: Any) -> Any:
        classes = classify(waiting, **rest)
        return replace(classes, candidates=order(classes.candidates))

    return classify_in_another_order


def settle_with(settle: Any, **ways: Any) -> Any:
    """Return a `settle` whose ledger does some things in another way, each given the ledger first."""

    def settle_in_another_way(timer: Any, *, ledger: Any, **rest: Any) -> Any:
        own = {name: (lambda *given, way=way: way(ledger, *given)) for name, way in ways.items()}
        return settle(timer, ledger=OtherLedger(ledger, **own), **rest)

    return settle_in_another_way
