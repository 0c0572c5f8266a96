"""Names for a workload of a plug-in (docs/extend/workload.md)."""

from cluster.scenario.fields import (
    Million,
    Milliseconds,
    NotNegative,
    PartsPerMillion,
    Positive,
    Section,
    TenThousand,
    Thousand,
    means,
)
from cluster.workloads.submission import Client, GenesisShare, Site, TimedTransaction, Volume, WorkloadKind
from validators.execution import (
    ExecuteActor,
    GenesisAccount,
    GenesisActor,
    SystemCancelTimer,
    SystemExtendTimer,
    SystemUpdateTimerConfig,
    Transfer,
)

__all__ = [
    "Client",
    "ExecuteActor",
    "GenesisAccount",
    "GenesisActor",
    "GenesisShare",
    "Million",
    "Milliseconds",
    "NotNegative",
    "PartsPerMillion",
    "Positive",
    "Section",
    "Site",
    "SystemCancelTimer",
    "SystemExtendTimer",
    "SystemUpdateTimerConfig",
    "TenThousand",
    "Thousand",
    "TimedTransaction",
    "Transfer",
    "Volume",
    "WorkloadKind",
    "means",
]
