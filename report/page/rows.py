"""The rows that a run's page is drawn from: plain data, with nothing of the packages that it comes from."""

from array import array
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

NO_TIME: Final = -1
"""Stands for the arrival of a message that never arrived."""

NO_WAIT: Final = -1
"""Stands for the wait of a class of which no timer was due."""

NO_BLOCK: Final = 0xFFFFFFFF
"""Stands for the block of an event that is about none."""


class Promise(NamedTuple):
    """One thing that the scenario promised, and what happened; `kept` is `yes`, `no` or `not judged`."""

    what: str
    promised: str
    happened: str
    kept: str


class FaultRow(NamedTuple):
    """One fault of the plan: its sentence, its effect, the replicas that it names, when it was at work.

    `sides` are the groups of replicas between which it cuts links.
    """

    name: str
    kind: str
    sentence: str
    effect: str
    targets: Sequence[int]
    windows: Sequence[tuple[int, int]]
    sides: Sequence[Sequence[int]] = ()


class CheckLine(NamedTuple):
    """One check: its result, its summary, the number of comparisons and its named values."""

    name: str
    status: str
    summary: str
    compared: int
    evidence: Sequence[tuple[str, str]]


class FamilyLine(NamedTuple):
    """A family of checks: the question that it answers, its result, its summary and its checks."""

    name: str
    question: str
    status: str
    summary: str
    parts: Sequence[CheckLine]


class ReplicaRow(NamedTuple):
    """A row of the root matrix: a replica or a judge, the mode in which it comes to its state, and its build.

    `roots` are places in the names of the matrix; `times` are the virtual milliseconds at which the block was final
    there, NO_BLOCK where it never was.
    """

    name: str
    short: str
    mode: str
    build: str
    cells: bytes
    roots: "array[int]"
    times: "array[int]"


class Matrix(NamedTuple):
    """Heights against replicas, `heights_per_tile` heights a cell; `cluster.page.matrix` says what its bits mean.

    `names` are the roots; `proposers`, `transactions` and `timers` are facts of the final blocks, a number a cell.
    `has_oracle` says whether cells are compared with the oracle, else with the chain.
    """

    rows: Sequence[ReplicaRow]
    heights: int
    heights_per_tile: int
    first_divergence: int | None
    names: Sequence[str]
    proposers: "array[int]"
    transactions: "array[int]"
    timers: "array[int]"
    has_oracle: bool
    note: str


class Columns(NamedTuple):
    """Typed arrays under names, and a sentence on what was left out of them."""

    arrays: Mapping[str, "array[int] | array[float]"]
    note: str


class Arc(NamedTuple):
    """Blocks that a replica dropped at once: when, who, the highest of them, the lowest height, and in which way."""

    at_us: int
    node: int
    block: int
    low: int
    depth: int
    what: str


class Tree(NamedTuple):
    """Executed blocks with the branch on which each is drawn, and the arcs of reorganizations."""

    columns: Columns
    digests: Sequence[str]
    refusals: Mapping[int, str]
    arcs: Sequence[Arc]
    rows: int


class StormRows(NamedTuple):
    """Figures block by block: those of `columns`, the budgets, and how the predicted drain was made.

    `waits` has the oldest wait of each class of tip as a column under its name, NO_WAIT where no timer of it was due;
    `waited` says of each class the longest one, in words; `equal` names the prices that are equal in every block.
    """

    columns: Columns
    budgets: Mapping[str, int]
    prediction: str
    waits: "Mapping[str, array[int]]" = MappingProxyType({})
    waited: str = ""
    wait_unit: str = "slots"
    equal: Sequence[str] = ()


class KeyRow(NamedTuple):
    """A key that differs: its name, each field that differs with its values before and on each side, and all of it."""

    name: str
    fields: Sequence[tuple[str, Sequence[str]]]
    values: Sequence[str]


class Finding(NamedTuple):
    """Why a run went wrong, from the height to the cause.

    `sides` are the groups with what each came to; `keys` have a value before and one a side; `lines` are the chain of
    events. `source` says how much of this is known: by the checks alone, or by an explanation.
    """

    headline: str
    source: str
    height: int | None
    block: str
    sides: Sequence[tuple[str, str]]
    timer: str
    timer_record: str
    keys: Sequence[KeyRow]
    keys_differing: int
    write: str
    handler: str
    cause: str
    notes: Sequence[str]
    lines: Sequence[str]


class VerdictPane(NamedTuple):
    """The verdict: its sentence, its meaning, the course of the run, how to repeat it, and what it does not show."""

    name: str
    meaning: str
    headline: str
    story: Sequence[str]
    facts: Sequence[tuple[str, str]]
    commands: Sequence[tuple[str, str]]
    unchecked: Sequence[str]
    promises: Sequence[Promise]


class CoverageGrid(NamedTuple):
    """The phases and roles in which faults hit replicas: one row a kind, one column a phase and role."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[int]]]


class Timeline(NamedTuple):
    """A run's log as columns, up to `end_us`; `kinds` and `titles` are the words that the columns have by number."""

    kinds: Sequence[str]
    titles: Sequence[str]
    marks: Columns
    messages: Columns
    lives: Sequence[tuple[int, int, int]]
    density: "array[int]"
    end_us: int
    apart: Sequence[tuple[int, int, int, str]] = ()


class RunRows(NamedTuple):
    """Everything that the page of one run shows; `view_word` is the engine's word for a view."""

    title: str
    scenario: str
    seed: int
    verdict: VerdictPane
    faults: Sequence[FaultRow]
    matrix: Matrix
    finding: Finding | None
    timeline: Timeline
    tree: Tree
    storm: StormRows | None
    checks: Sequence[FamilyLine]
    coverage: CoverageGrid
    replicas: Sequence[Sequence[str]]
    view_word: str = "view"


class RunDifference(NamedTuple):
    """Where two runs part: the sentence, the pairs of values that differ, and the first event of each."""

    sentence: str
    pairs: Sequence[tuple[str, str, str]]
    first_us: int | None
    height: int | None
