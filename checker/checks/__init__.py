"""The checks of a run: a class for each check, and the list of all checks.

A check reads the run's events, the blocks that validators applied and the end state, and returns a result
(`checker.checks.check`). It never changes a run, and never asks the code under check for the right value.
Code of a single check stands in its file; facts of the run that checks share stand in `context`.

`CHECKS` alone names all checks. A new check is a file here and a line there. `with_plugins` appends the checks of
other packages for the runs whose scenario names them.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from checker.checks.agreement import Agreement
from checker.checks.application import ApplicationLives, OutsideApplication
from checker.checks.audit.audit import Audit
from checker.checks.block_times import BlockTimes
from checker.checks.budgets import Budgets
from checker.checks.check import Check
from checker.checks.cold_replay import EqualColdReplay
from checker.checks.consensus import EqualConsensus
from checker.checks.derived import DerivedState
from checker.checks.differential import EqualDifferential
from checker.checks.equal_roots import EqualRoots
from checker.checks.expectations import (
    ExpectedAnswers,
    ExpectedArrival,
    ExpectedCounts,
    ExpectedLimits,
    ExpectedRecovery,
    ExpectedReplicaModes,
    ExpectedRules,
    MutantsEffective,
    ReplicaModesEffective,
)
from checker.checks.expected_reports import ExpectedReports
from checker.checks.faults_effective import FaultsEffective
from checker.checks.final_disks import FinalDisks
from checker.checks.finality_regained import FinalityRegained
from checker.checks.journals import Journals
from checker.checks.leaders import Leaders
from checker.checks.live_values import LiveValues
from checker.checks.message_delivery import MessageDelivery
from checker.checks.oracle import EqualOracle
from checker.checks.phases import PhaseLedger
from checker.checks.proofs import Proofs
from checker.checks.reorg import Reorg
from checker.checks.repairs import Repairs
from checker.checks.rules.quorum_certificates import QuorumCertificates
from checker.checks.rules.simplex_votes import Certificates, NoDoubleVote
from checker.checks.rules.undisturbed_views import UndisturbedViews
from checker.checks.service.inclusion import Inclusion
from checker.checks.service.refusals import Refusals
from checker.checks.service.requests import Requests
from checker.checks.service.spread import MempoolSpread
from checker.checks.service.timer_lengths import TimerLengths
from checker.checks.service.traffic import Traffic
from checker.checks.service.work import PricedWork
from checker.checks.storm import StormDrained
from checker.checks.storm_accounting import StormAccounting
from checker.checks.structures import Bitmap, Indexes, OperationLog
from checker.checks.supply import Supply
from checker.checks.timer_delivery import TimerDelivery
from checker.checks.told_timers import TimersTold
from checker.checks.workloads_effective import WorkloadsEffective
from checker.checks.write_ahead import WriteAhead
from checker.checks.write_sets import WriteSets
from checker.results import PLUGINS, ExitClass

CHECKS: Final[tuple[type[Check], ...]] = (
    Agreement,
    EqualRoots,
    WriteSets,
    NoDoubleVote,
    Certificates,
    QuorumCertificates,
    BlockTimes,
    Budgets,
    TimerDelivery,
    PhaseLedger,
    StormAccounting,
    MessageDelivery,
    Supply,
    LiveValues,
    OperationLog,
    Bitmap,
    Indexes,
    Proofs,
    EqualColdReplay,
    FinalityRegained,
    FaultsEffective,
    Audit,
    WriteAhead,
    Journals,
    EqualOracle,
    EqualDifferential,
    EqualConsensus,
    StormDrained,
    Reorg,
    Leaders,
    Inclusion,
    MempoolSpread,
    Refusals,
    DerivedState,
    UndisturbedViews,
    Traffic,
    Requests,
    TimerLengths,
    PricedWork,
    FinalDisks,
    Repairs,
    TimersTold,
    OutsideApplication,
    ApplicationLives,
    ExpectedArrival,
    ExpectedCounts,
    ExpectedLimits,
    ExpectedRecovery,
    ExpectedReports,
    ExpectedAnswers,
    ExpectedReplicaModes,
    ExpectedRules,
    ReplicaModesEffective,
    MutantsEffective,
    WorkloadsEffective,
)
"""Every check of a run, in the order of their results."""


def fallible(checks: Iterable[type[Check]]) -> tuple[str, ...]:
    """Return the names of the checks that can fail, which a scenario may list under its expected failures."""
    return tuple(check.name for check in checks if check.exit_class != "inconclusive")


OF_ONE_PROCESS: Final = tuple(check.name for check in CHECKS if check.counts_one_process)
"""Names of the checks that count acts of replicas in this process, and cannot count acts in an earlier process."""


BESIDE_A_RUN: Final[Mapping[str, tuple[ExitClass, str]]] = {
    "determinism": ("determinism", "The same scenario and seed in another process give the same events."),
    "replay": ("determinism", "A recorded run that is repeated gives the events and results of its record."),
    "expected-failures": ("inconclusive", "Every check that the scenario expects to fail has failed."),
    PLUGINS: ("inconclusive", "No code of a plug-in raises an error inside a validator."),
}
"""Results that no check makes, with class and sentence: a repeated run, expected failures, plug-ins."""


class DuplicateCheckError(ValueError):
    """Two checks of one run have the same name."""


def with_plugins(plugins: Iterable[type[Check]]) -> tuple[type[Check], ...]:
    """Return the checks of a run: all checks of this package, then the plug-ins' checks by name.

    Raises:
        DuplicateCheckError: Two checks have the same name, so that their results could not be told apart.
    """
    checks = (*CHECKS, *sorted(plugins, key=lambda check: check.name))
    names = [*(check.name for check in checks), *BESIDE_A_RUN]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DuplicateCheckError(f"two checks are named {', '.join(twice)}")
    return checks
