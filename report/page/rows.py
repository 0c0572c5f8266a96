"""The rows of a run's page: plain data, without types of other packages."""

from array import array
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

NO_TIME: Final = -1
"""The arrival time of a message that never arrived."""

NO_WAIT: Final = -1
"""The wait of a class without due timers."""

NO_BLOCK: Final = 0xFFFFFFFF
"""The block number of an event without a block."""

LOST: Final = 1
HELD: Final = 2
MARKED: Final = 4
"""The fate of a message: lost, held back, or neither; `MARKED` is a bit of its own beside them."""

MESSAGE_KINDS: Final = ("send", "deliver", "drop", "lost", "hold")
"""Kinds of events of messages; of marked messages alone the list of events has them."""


class Promise(NamedTuple):
    """A promise of the scenario, and the result; `kept` is `yes`, `no` or `not judged`."""

    what: str
    promised: str
    happened: str
    kept: str


class FaultRow(NamedTuple):
    """A fault of the plan: its sentence, its effect, its target replicas, and the windows in which it was active.

    `sides` are the groups of replicas between which the fault cuts links.
    """

    name: str
    kind: str
    sentence: str
    effect: str
    targets: Sequence[int]
    windows: Sequence[tuple[int, int]]
    sides: Sequence[Sequence[int]] = ()


class CheckLine(NamedTuple):
    """A check: its name, result, summary, number of comparisons, and named values."""

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
    """A row of the root matrix: a replica or a judge, its apply mode, and its build.

    `roots` are indexes in the names of the matrix. `times` are the virtual milliseconds at which the replica finalized
    the block, or NO_BLOCK.
    """

    name: str
    short: str
    mode: str
    build: str
    cells: bytes
    roots: "array[int]"
    times: "array[int]"


class Matrix(NamedTuple):
    """Roots by replica and height, `heights_per_tile` heights a tile; `cluster.page.matrix` defines the bits.

    `names` are the roots. `proposers`, `transactions` and `timers` have a number for each tile, taken from its final
    blocks. `has_oracle` says whether tiles are compared with the oracle instead of the chain.
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
    """Typed arrays by name, and a sentence about data left out."""

    arrays: Mapping[str, "array[int] | array[float]"]
    note: str


class Arc(NamedTuple):
    """Blocks that a replica dropped at once: time, replica, highest block, lowest height, depth, and kind of drop."""

    at_us: int
    node: int
    block: int
    low: int
    depth: int
    what: str


class Tree(NamedTuple):
    """Executed blocks with the branch of each block, and the arcs of reorganizations."""

    columns: Columns
    digests: Sequence[str]
    refusals: Mapping[int, str]
    arcs: Sequence[Arc]
    rows: int


class StormRows(NamedTuple):
    """Figures of each block in `columns`, the budgets, and the origin of the predicted drain.

    `waits` has a column for each class of tip: the oldest wait, or NO_WAIT without a due timer. `waited` states the
    longest wait of each class in words. `equal` names the prices that are equal in every block.
    """

    columns: Columns
    budgets: Mapping[str, int]
    prediction: str
    waits: "Mapping[str, array[int]]" = MappingProxyType({})
    waited: str = ""
    wait_unit: str = "slots"
    equal: Sequence[str] = ()


class KeyRow(NamedTuple):
    """A differing key: its name, its differing fields with the values before and on each side, and its whole values."""

    name: str
    fields: Sequence[tuple[str, Sequence[str]]]
    values: Sequence[str]


class Finding(NamedTuple):
    """The explanation of a failed run, from the height to the cause.

    `sides` are the groups with their outcomes. `keys` have a value before the block and a value on each side. `lines`
    are the chain of events. `source` names the origin of these facts: the checks, or an explanation.
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
    """The verdict: its sentence, its meaning, the course of the run, how to repeat it, and unchecked properties."""

    name: str
    meaning: str
    headline: str
    story: Sequence[str]
    facts: Sequence[tuple[str, str]]
    commands: Sequence[tuple[str, str]]
    unchecked: Sequence[str]
    promises: Sequence[Promise]


class CoverageGrid(NamedTuple):
    """Counts of fault hits: a row for each kind of fault, a column for each phase and role of the replica."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[int]]]


class Timeline(NamedTuple):
    """A run's log as columns, until `end_us`; the columns refer to the words in `kinds` and `titles` by number."""

    kinds: Sequence[str]
    titles: Sequence[str]
    marks: Columns
    messages: Columns
    lives: Sequence[tuple[int, int, int]]
    density: "array[int]"
    end_us: int
    apart: Sequence[tuple[int, int, int, str]] = ()


class CurvePoint(NamedTuple):
    """The continuations from a turn on: its virtual time, the share that fails alike with its bounds, and words.

    Shares are in millionths.
    """

    turn: int
    at_us: int
    share_ppm: int
    low_ppm: int
    high_ppm: int
    words: str


class CurveStrip(NamedTuple):
    """A curve of a failure: its title, its points by turn, the turn and time of its rise, and sentences about the rise.

    An unavoidable failure has no points.
    """

    title: str
    points: Sequence[CurvePoint]
    rise: tuple[int, int] | None
    sentences: Sequence[str]


class CurveRows(NamedTuple):
    """The curves of a failed run.

    Attributes:
        note: The run that the curves are of.
        strips: The curves by mode.
        draws: Sentences about the draws that move the failure.
        moments: The draws of no message, each with its virtual time and its sentence.
        window: The interval around the rise, in virtual time; None for an unavoidable failure.
    """

    note: str
    strips: Sequence[CurveStrip]
    draws: Sequence[str]
    moments: Sequence[tuple[int, str]]
    window: tuple[int, int] | None


class RunRows(NamedTuple):
    """The data of a run's page; `view_word` is the engine's word for a view."""

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
    curve: CurveRows | None = None


class RunDifference(NamedTuple):
    """The difference of two runs: the sentence, the pairs of differing values, and the first differing event."""

    sentence: str
    pairs: Sequence[tuple[str, str, str]]
    first_us: int | None
    height: int | None
