"""The kind of fault that makes a validator lie, as data; what each behaviour does is in ``faults.byzantine``."""

from typing import Literal

from faults.kinds.fields import FaultBase, Milliseconds, Positive, Validator

Behaviour = Literal[
    "equivocate",
    "double-vote",
    "conflicting-votes",
    "blind-vote",
    "nullify-and-finalize",
    "amnesia",
    "silent-leader",
    "withhold",
    "stale-votes",
    "mutate-votes",
    "replay",
    "forge-block",
    "drag-time",
    "forge-answers",
    "thin-certificates",
    "garbage",
    "flood",
]


class Dishonest(FaultBase, tag="dishonest", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One validator lies, with its true key, at each ``every``-th occasion; no check judges it in the whole run.

    ``what`` chooses among the forms of a behaviour; ``kinds`` and ``to`` say what ``withhold`` keeps from whom;
    ``every_ms`` is the time between two restarts of ``amnesia``. At most f validators may be dishonest, unless one of
    their faults says ``above_f``: then the checks have to find what comes of it.
    """

    validator: Validator
    behaviour: Behaviour
    start_ms: Milliseconds
    stop_ms: Milliseconds
    every: Positive = 1
    what: str = ""
    kinds: tuple[str, ...] = ()
    to: tuple[Validator, ...] = ()
    every_ms: Positive = 3_000
    above_f: bool = False
