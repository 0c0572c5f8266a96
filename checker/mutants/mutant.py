"""How a known-bad variant gets into one validator: by swapping parts of the code while that validator runs.

A validator decides in synchronous steps, one at a time in the whole process. So a function, a method or a constant can
be another one for chosen validators only: `Swaps` puts the bad one in when a step of such a validator begins and takes
it out when the step is over. Nothing of the production code knows of it but `ValidatorFactory.around`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Literal, TypeAlias, final

from validators.settings import ValidatorFactory

Cause: TypeAlias = Literal["input", "order", "execution", "hashing", "clean-up"]
"""What a difference between states comes from, in one word (design, section 7)."""

Area: TypeAlias = Literal["scheduler", "execution", "state", "consensus", "storage", "network"]
"""The part of a validator that a variant is in."""

Swap: TypeAlias = tuple[object, str, object]
"""Where, what by name, and by what it is replaced."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A known-bad variant.

    Attributes:
        name: What a scenario file calls it.
        what: What it does wrong, in one line.
        area: The part of a validator that it is in.
        caught_by: The checks of which at least one has to find it: those whose failure says what is wrong.
        swaps: Gives what is replaced; called once for each validator, so that none shares state with another.
        cause: What makes states differ; None where it is not the state that goes wrong.
        on_all: Whether it is given to every validator, because one alone would only be outvoted.
        needs: Settings (``key=value``) of the standard campaign without which it cannot show.
        shows: What an explanation of it has to name, as a regular expression over the write and the names of the keys.
        is_of_timer: Whether a timer is concerned, which an explanation then has to name.
    """

    name: str
    what: str
    area: Area
    caught_by: tuple[str, ...]
    swaps: Callable[[], list[Swap]]
    cause: Cause | None = None
    on_all: bool = False
    needs: tuple[str, ...] = ()
    shows: str = ""
    is_of_timer: bool = False


@final
class Swaps:
    """A context in which some attributes are others; it nests with those of other validators never, with itself not."""

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


def plant(variants: list[Variant]) -> ValidatorFactory:
    """Return a factory for validators that have these variants."""
    swaps = Swaps([swap for variant in variants for swap in variant.swaps()])
    return ValidatorFactory(around=lambda: swaps)


def original(owner: object, name: str) -> Any:
    """Return an attribute as it stands in its owner: a property or a static method as such, not what it gives.

    Raises:
        KeyError: The owner has none of that name, or only inherits it: the variant is out of date.
    """
    return vars(owner)[name]


def swap(owner: object, name: str, make: Callable[[Any], object]) -> Swap:
    """Return a swap of what `make` returns for the original."""
    return owner, name, make(original(owner, name))


@final
class OtherLedger:
    """Passes everything on to a ledger but what a variant does in ways of its own."""

    def __init__(self, ledger: Any, **ways: Any) -> None:
        self._ledger = ledger
        self._ways = ways

    def __getattr__(self, name: str) -> Any:
        return self._ways.get(name) or getattr(self._ledger, name)
