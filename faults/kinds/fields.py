"""What the fields of faults are made of: types that refuse what cannot be meant, and the base of every kind."""

from typing import Annotated, Literal

import msgspec

Milliseconds = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
VALIDATOR_TITLE = "validator"
"""Tells a validator's number from every other number, in the type of a value."""

Validator = Annotated[int, msgspec.Meta(ge=0, title=VALIDATOR_TITLE)]
Link = tuple[Validator, Validator]
Range = tuple[NotNegative, NotNegative]
PartsPerMillion = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
FileGroup = Literal["journal", "blocks", "operations", "snapshot"]
Factor = Annotated[int, msgspec.Meta(ge=2, le=1_000_000)]


class FaultBase(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", kw_only=True):
    """What every kind of fault has: a fault that is not enabled stays in the plan and does nothing.

    An enabled one has to touch the run, or the run is inconclusive; one that ``may_be_idle`` need not.
    """

    enabled: bool = True
    may_be_idle: bool = False
