"""The failure report as data, and the findings behind it."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from checker.explain.divergence import Divergence
from checker.explain.executions import Executions, Outcome
from checker.results import CheckResult, Evidence, deciding_check
from network.events import Event
from scheduler import Timebase

Cause: TypeAlias = Literal["input", "order", "execution", "hashing", "clean-up", "not deterministic"]
"""The cause of a difference between states (docs/explain.md); an application can also be not deterministic."""


_WORD: Final = re.compile(r"[A-Za-z_]+")


class SideReport(msgspec.Struct, frozen=True, kw_only=True):
    """A group of validators with the same outcome; `block` is set if groups finalized different blocks.

    `says` describes an outcome without a state root.
    """

    who: str
    validators: list[int] = []
    has_oracle: bool = False
    root: str = ""
    block: str = ""
    says: str = ""


class KeyReport(msgspec.Struct, frozen=True, kw_only=True):
    """A differing key: its name, its timer (may be empty), its value before the block, and its value on each side.

    `says` has what an application says of these values, in the same order; empty if it says nothing.
    """

    key: str
    name: str
    timer: str
    before: str
    values: list[str]
    says: list[str] = []


class OrderRow(msgspec.Struct, frozen=True, kw_only=True):
    """An index in the order of a block's steps, and each side's step there."""

    place: int
    values: list[str]


class Stall(msgspec.Struct, frozen=True, kw_only=True):
    """A replica without new finality: its last final height and time, its view, and the event that it awaits."""

    validator: int
    height: int
    since_us: int
    view: int
    leader: int
    waits_for: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The report, as plain data.

    `check`, `summary`, `evidence` and `family` belong to the failure that decides the verdict. `also` has a line for
    each further failure. `height` to `handler` name the block at which states diverge, and the write. They are empty
    for equal states; then `seen` has the check's evidence. `origin` names the write without its values. `told` has each
    side's receipt or operation for this write. `views` are the last views of a stuck run. `chain` is the chain of
    events as lines. `no_cause` is the reason for a missing cause. `orders` are the steps of both sides around the first
    step that differs. `stalls` are the replicas without new finality. `replicas` counts all replicas, `end_us` is the
    run's end. `left_over` has the reasons for which replicas left views. `is_foreign` means that an application owns
    the states.
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

    @property
    def because(self) -> str:
        """The cause of an application's failure, and the first word of the key; empty for this project's own chain.

        The rest of a key names an account or a timer, which is another one in each run of the same mistake.
        """
        if not self.is_foreign or not self.cause:
            return ""
        names = [_WORD.match(key.name) for key in self.keys[:1] if key.name.encode().hex() == key.key]
        return ", ".join([self.cause, *(name[0] for name in names if name)])


class Findings(NamedTuple):
    """The input of an explanation.

    Attributes:
        executions: The observed executions of the run.
        genesis: The encoded genesis.
        timebase: The unit in which timers count.
        checks: The checks' results.
        events: Returns the run's log from its beginning at each call.
        replay: Executes a block and its ancestors with a fresh engine of a validator's own code. Returns None if the
            engine fails before the block.
        expected: The checks that the scenario expects to fail.
        view_word: The engine's word for a view.
        has_tables: Whether this project's own chain holds the states, and not an outside application.
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
        """The failure that decides the verdict; the worst failure if the scenario expects all failures."""
        return deciding_check(self.checks, self.expected) or deciding_check(self.checks)
