"""The kinds of workload; this list is the only mention of a built-in kind outside its own file."""

from typing import Final

from cluster.workloads.boundary.edge_cases import EdgeCases
from cluster.workloads.kinds.games import Games
from cluster.workloads.kinds.governance import Governance
from cluster.workloads.kinds.heartbeats import Heartbeats
from cluster.workloads.kinds.liquidations import Liquidations
from cluster.workloads.kinds.oracle_feeds import OracleFeeds
from cluster.workloads.kinds.random_scripts import RandomScripts
from cluster.workloads.kinds.resubmitters import Resubmitters
from cluster.workloads.kinds.scripts import Scripts
from cluster.workloads.kinds.storm import Storm
from cluster.workloads.kinds.subscriptions import Subscriptions
from cluster.workloads.kinds.transfers import Transfers
from cluster.workloads.kinds.watchers import Watchers
from cluster.workloads.opaque import ApplicationTransactions, Lines
from cluster.workloads.submission import WorkloadKind
from faults.kind_registry import KindRegistry

WORKLOADS: Final[KindRegistry[WorkloadKind]] = KindRegistry(
    "workload",
    WorkloadKind,
    ("volume", "genesis", "transactions"),
    (
        *(Heartbeats, Storm, Transfers, OracleFeeds, Liquidations, Governance),
        *(Games, Subscriptions, EdgeCases, Watchers, RandomScripts, Scripts, Resubmitters),
        *(ApplicationTransactions, Lines),
    ),
)
