"""`[expect]` of a scenario: the results that the run has to show."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from checker.checks.expectations import COUNTS, RECOVERIES
from checker.checks.expected_reports import REPORTS
from checker.checks.rules.registry import RULES
from checker.coverage.registry import POINTS
from checker.record.program import program_name
from cluster.scenario.fields import NotNegative, Positive, Section, means
from faults.anchors.anchor import Anchor
from faults.nearest import did_you_mean

_ENGINES_LIMITS = ", ".join(f"{rules.finality_views_max} with {engine}" for engine, rules in RULES.items())


class StormExpectation(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The smallest storm that the run has to show; less is inconclusive."""

    dead_timers_min: Annotated[Positive, means("Dead timers that the outage leaves.")]
    actors_min: Annotated[Positive, means("Actors of these timers.")]
    drain_blocks_min: Annotated[Positive, means("Blocks needed to remove them.")]


class ExpectSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Expectations of the run besides its required faults; less is inconclusive.

    ``counts`` are least and ``at_most`` greatest counts of ``expectations.py``, ``fired_by`` the least fires of each
    actor of a workload. ``activation_crossed_min`` counts validators that dropped heights on both sides of the
    activation at once. ``rolled_back_min`` counts executed blocks that validators dropped for another, over all;
    ``rolled_back_depth_min`` heights that one validator dropped at once. ``undone_min``, ``undone_depth_min`` and
    ``returned_min`` ask the same of blocks that were applied early and rewound, and of those among them that became
    final nevertheless; ``reexecuted_min`` counts blocks that were executed again as they came back, and ``audited_min``
    how often ``run.audit_reorgs`` found something to compare. ``reports`` are least counts of reasons to leave a view
    and of evidence, over all honest validators; ``replica_modes`` of what observers did by their modes, by their names;
    ``answers_from`` of a validator's answers that arrived, by its number; ``rules`` of coverage points of rules that
    were reached, by their labels.
    ``fails`` are the checks that must fail, and no others may.
    """

    fails: Annotated[
        tuple[str, ...], means("The checks that must fail, with or without their family; no other check may fail.")
    ] = ()
    storm: Annotated[StormExpectation | None, means("The storm after an outage.")] = None
    rolled_back_min: Annotated[NotNegative, means("Executed blocks dropped for another, over all validators.")] = 0
    rolled_back_depth_min: Annotated[NotNegative, means("Heights that one validator dropped at once.")] = 0
    undone_min: Annotated[NotNegative, means("Blocks applied early and rewound, over all validators.")] = 0
    undone_depth_min: Annotated[NotNegative, means("Heights that one validator rewound at once.")] = 0
    returned_min: Annotated[
        NotNegative, means("Blocks rewound at once by one validator that became final there in the end.")
    ] = 0
    reexecuted_min: Annotated[NotNegative, means("Blocks executed again as they returned, over all validators.")] = 0
    audited_min: Annotated[
        NotNegative, means("Reorg after which state and indexes were audited, with `run.audit_reorgs`.")
    ] = 0
    activation_crossed_min: Annotated[
        NotNegative, means("Validators that dropped heights on both sides of the activation at once.")
    ] = 0
    counts: Annotated[dict[str, Positive], means("Timers with that end over the whole chain.")] = {}
    at_most: Annotated[dict[str, NotNegative], means("The same counts; more is a failure.")] = {}
    fired_by: Annotated[dict[str, Positive], means("Fires of each actor of that workload.")] = {}
    recovery: Annotated[
        dict[str, Positive], means("Outcomes of validators' recovery from their disks, over all validators.")
    ] = {}
    reports: Annotated[
        dict[str, Positive], means("Reasons to leave a view, and evidence, over all honest validators.")
    ] = {}
    answers_from: Annotated[
        dict[str, Positive], means("Answers of that validator that arrived: blocks, snapshots and certificates.")
    ] = {}
    replica_modes: Annotated[dict[str, Positive], means("Actions of that observer by its mode.")] = {}
    rules: Annotated[dict[str, Positive], means("Times that the run reached that coverage point.")] = {}
    arrival: Annotated[Anchor | None, means("The moment that the run has to reach.")] = None
    finality_views_max: Annotated[
        Positive | None,
        means("Views within which finality must come back after the last fault.", left_out=_ENGINES_LIMITS),
    ] = None


def expect_rules(
    expect: ExpectSection,
    observers: Sequence[str],
    workloads: Sequence[str],
    checks: Sequence[str],
    *,
    validators: Sequence[str],
) -> Iterator[tuple[str, bool, str]]:
    """Yield key, whether the named thing exists, and the known names, for each name among the expectations.

    Args:
        expect: The section.
        observers: The names of the scenario's observers.
        workloads: The names of its workloads.
        checks: The names of the checks that can fail.
        validators: The numbers of its validators.
    """
    for name in expect.fails:
        reason = f"{name!r} is no check that can fail{did_you_mean(name, checks)}; they are {', '.join(checks)}"
        yield "expect.fails", name in checks, reason
    names_of_points = tuple(POINTS)
    for table, names, allowed in (
        ("counts", expect.counts, COUNTS),
        ("at_most", expect.at_most, COUNTS),
        ("recovery", expect.recovery, RECOVERIES),
        ("reports", expect.reports, REPORTS),
        ("rules", expect.rules, names_of_points),
    ):
        for name in names:
            page = f"the points of `{program_name()} docs rule-coverage`"
            listed = page if allowed is names_of_points else ", ".join(allowed)
            reason = f"is not counted{did_you_mean(name, allowed)}; there are {listed}"
            yield f"expect.{table}.{name}", name in allowed, reason
    for table, what, there, names in (
        ("answers_from", "validator", validators, expect.answers_from),
        ("replica_modes", "observer", observers, expect.replica_modes),
        ("fired_by", "workload", workloads, expect.fired_by),
    ):
        for name in names:
            reason = f"no {what} has this name{did_you_mean(name, there)}; there are {', '.join(there) or 'none'}"
            yield f"expect.{table}.{name}", name in there, reason
