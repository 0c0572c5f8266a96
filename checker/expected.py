"""The expectations of a scenario for its run, as plain data: least and greatest counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from faults.anchors.anchor import Anchor
from validators.actors import Emitted


class ExpectedStorm(NamedTuple):
    """The least storm of dead timers that a run has to show."""

    dead_timers_min: int
    actors_min: int
    drain_blocks_min: int


class ReorgCounts(NamedTuple):
    """Counts of reorganizations, either of a run or the least that a run has to show.

    Attributes:
        rolled_back: Executed blocks dropped for another, over all validators.
        rolled_back_depth: Heights that one validator dropped at once.
        undone: Blocks applied early and rewound, over all validators.
        undone_depth: Heights that a validator rewound at once.
        returned: Blocks that a validator rewound at once and that are final there in the end.
        reexecuted: Blocks that were executed again when their branch came back, over all validators.
        audited: Comparisons of a validator's derived values after it dropped or rewound blocks.
        crossed: Validators that dropped heights on both sides of an activation at once.
    """

    rolled_back: int = 0
    rolled_back_depth: int = 0
    undone: int = 0
    undone_depth: int = 0
    returned: int = 0
    reexecuted: int = 0
    audited: int = 0
    crossed: int = 0


@dataclass(frozen=True, slots=True)
class ExpectedWorkload:
    """A workload that may not be idle.

    Attributes:
        name: Its name in the scenario.
        is_enabled: Whether it was on.
        is_required: Whether every transaction in `digests` must succeed, instead of a single transaction.
        digests: Hashes of its transactions.
        uncertain: Hashes of transactions that may fail; if all may fail, at least one must be in the chain.
        recurring: Addresses of actors that schedule themselves; at least one of their fires has to succeed.
        firing: Addresses of other actors with timers; if any timer is scheduled, at least one has to come due or leave.
        told: Events that its actors have to emit.
    """

    name: str
    is_enabled: bool
    is_required: bool
    digests: tuple[bytes, ...]
    uncertain: tuple[bytes, ...] = ()
    recurring: tuple[bytes, ...] = ()
    firing: tuple[bytes, ...] = ()
    told: tuple[Emitted, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """The expectations of a scenario for its run.

    Attributes:
        requires: Names of faults that must take effect, besides enabled faults that may not be idle.
        workloads: Workloads that may not be idle.
        storm: The expected storm of dead timers, or None.
        reorg: Least counts of reorganizations.
        counts: Least counts of events on the chain.
        at_most: Greatest counts of events on the chain.
        fired_by: By workload the least fires of each of its actors.
        recovery: Least counts of damage found, repairs, observers and joins.
        reports: Least counts of reasons to leave a view and of evidence.
        answers_from: By validator, the least number of its answers that arrive.
        replica_modes: By observer, the least number of acts of its replica mode.
        rules: By label, the least number of times that the run has to reach a coverage point.
        arrival: The moment that the run has to reach, or None.
        finality_views_max: Views within which finality must come back; None for the engine's own.
        finality_gap_max_us: The longest time between two new final blocks, None where the plan may stop finality.
    """

    requires: Sequence[str] = ()
    workloads: Sequence[ExpectedWorkload] = ()
    storm: ExpectedStorm | None = None
    reorg: ReorgCounts = field(default_factory=ReorgCounts)
    counts: Mapping[str, int] = field(default_factory=dict)
    at_most: Mapping[str, int] = field(default_factory=dict)
    fired_by: Mapping[str, tuple[int, tuple[bytes, ...]]] = field(default_factory=dict)
    recovery: Mapping[str, int] = field(default_factory=dict)
    reports: Mapping[str, int] = field(default_factory=dict)
    answers_from: Mapping[str, int] = field(default_factory=dict)
    replica_modes: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, int] = field(default_factory=dict)
    arrival: Anchor | None = None
    finality_views_max: int | None = None
    finality_gap_max_us: int | None = None
