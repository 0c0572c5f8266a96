"""The failure report as data, and the findings that it is made from."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from checker.explain.divergence import Divergence
from checker.explain.executions import Executions, Outcome
from checker.results import CheckResult, Evidence, deciding_check
from network.events import Event
from scheduler import Timebase

Cause: TypeAlias = Literal["input", "order", "execution", "hashing", "clean-up"]
"""The cause of a difference between states, in one word (docs/explain.md)."""


class SideReport(msgspec.Struct, frozen=True, kw_only=True):
    """A group with one outcome; `block` is set where groups finalized different blocks.

    `says` describes the group's outcome where that is no state and has no root.
    """

    who: str
    validators: list[int] = []
    has_oracle: bool = False
    root: str = ""
    block: str = ""
    says: str = ""


class KeyReport(msgspec.Struct, frozen=True, kw_only=True):
    """A differing key: its name, its timer if it has one, its value before, and after on each side."""

    key: str
    name: str
    timer: str
    before: str
    values: list[str]


class OrderRow(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the order of a block's steps, and the step that each side has there."""

    place: int
    values: list[str]


class Stall(msgspec.Struct, frozen=True, kw_only=True):
    """A replica for which finality stopped: its last final height, since when, its view, and what it waits for."""

    validator: int
    height: int
    since_us: int
    view: int
    leader: int
    waits_for: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The report, as plain data.

    `check` and `summary` are those of the failure that decides the verdict, `evidence` its values, `also` the
    lines of the others. `height` to `handler` say where states part and by which write; they are empty where states
    do not, and `seen` has the check's own evidence instead. `origin` names the write without its values, and `told`
    has what each side says of it. `views` are the last views of a run that got stuck.
    `chain` is the chain of events in lines. `no_cause` says why there is no cause. `orders` are the steps of both
    sides around the first place at which their order differs. `stalls` are the replicas for which finality stopped,
    of all `replicas`, in a run that ended at `end_us`; `left_over` says how views ended meanwhile. `family` is that of
    the check; `is_foreign` says that the states are an application's own.
    """

    check: str
    summary: str
    evidence: dict[str, Evidence]
    also: list[str]
    cause: Cause | None = None
    no_cause: str = "not a difference of states"
    height: int | None = None
    view: int | None = None
    block: str = ""
    leader: int | None = None
    sides: list[SideReport] = []
    keys: list[KeyReport] = []
    keys_differing: int = 0
    write: str = ""
    origin: str = ""
    told: list[str] = []
    receipt: int | None = None
    transaction: str = ""
    timer: str = ""
    timer_record: str = ""
    actor: str = ""
    handler: str = ""
    seen: list[str] = []
    views: list[str] = []
    chain: list[str] = []
    notes: list[str] = []
    orders: list[OrderRow] = []
    stalls: list[Stall] = []
    replicas: int = 0
    end_us: int = 0
    left_over: str = ""
    family: str = ""
    is_foreign: bool = False


class Findings(NamedTuple):
    """The inputs of an explanation.

    Attributes:
        executions: The observed executions of a run.
        genesis: The encoded genesis.
        timebase: The unit in which timers count.
        checks: The checks' results.
        events: Returns the run's log from its beginning at each call.
        replay: Executes a block and those that lead to it anew by a validator's own code, which has no past; None where
            it does not come that far.
        expected: The checks that the scenario expects to fail.
        view_word: The engine's word for a view.
        has_tables: Whether the states are those of this project's own chain.
    """

    executions: Executions
    genesis: bytes
    timebase: Timebase
    checks: Sequence[CheckResult]
    events: Callable[[], Iterable[Event]]
    replay: Callable[[int, Divergence], Outcome | None]
    expected: Sequence[str] = ()
    view_word: str = "view"
    has_tables: bool = True

    @property
    def decisive(self) -> CheckResult | None:
        """The failure that decides the verdict; where all failures were expected, the worst of them."""
        return deciding_check(self.checks, self.expected) or deciding_check(self.checks)
