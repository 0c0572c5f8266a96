"""A scenario as data: cluster, chain, network, workload, faults and expectations.

Everything in it has a type and a range; `cluster.scenario.load` reads it from a file and `cluster.scenario.rules` says
what fits together. Times are whole virtual milliseconds in files (`_ms`) and microseconds inside a run (`_us`).
"""

from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal, cast

import msgspec

from cluster.scenario.chain_section import ChainSection
from cluster.scenario.costs_section import CostsSection
from cluster.scenario.expect_section import ExpectSection
from cluster.scenario.fields import NotNegative, PartsPerMillion, Positive, Section
from cluster.scenario.replicas_section import CHUNK_BYTES_MAX, Observer, ValidatorSection
from cluster.workloads.registry import workload_kinds
from cluster.workloads.submission import WorkloadKind
from faults import Fault
from faults.kinds.registry import fault_union
from network.latency import Latency
from network.regions import Region

NAME_CHARACTERS_MAX = 64
"""The longest name of a scenario, and of a fault, a workload or an observer."""


class ClusterSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many validators, and how they sign."""

    validators: Annotated[int, msgspec.Meta(ge=1, le=100)] = 4
    signatures: Literal["ed25519"] = "ed25519"


class ConsensusSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The consensus engine, and the timeouts of Simplex (specification of Simplex, section 1.2)."""

    engine: Literal["simplex"] = "simplex"
    leader_timeout_ms: Positive = 2_000
    certification_timeout_ms: Positive = 3_000
    timeout_retry_ms: Positive = 4_000
    fetch_timeout_ms: Positive = 1_000
    fetch_grace_ms: NotNegative = 200
    skip_timeout_ms: Positive = 12_000
    view_retention: Positive = 20


class SyncSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a validator that is far behind catches up: so many blocks behind, it joins from a peer's snapshot.

    A snapshot travels in pieces of about ``chunk_bytes``.
    """

    snapshot_gap_blocks: Positive = 256
    chunk_bytes: Annotated[int, msgspec.Meta(ge=1, le=CHUNK_BYTES_MAX)] = 1024 * 1024


class NetworkSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every link without a fault: latency, loss and reordering.

    With ``regions``, one for each validator, latencies are those between the regions, and ``latency_ms`` is not used.
    """

    distribution: Literal["fixed", "uniform", "normal", "exponential"] = "normal"
    latency_ms: Positive = 40
    jitter_ms: NotNegative = 10
    loss_ppm: PartsPerMillion = 0
    reorder_ppm: PartsPerMillion = 0
    reorder_extra_ms: NotNegative = 0
    regions: tuple[Region, ...] = ()
    regossip_ms: Positive = 2_000

    def latency(self, mean_us: int) -> Latency:
        """Return the distribution of a link with this mean, in microseconds; raises LatencyError."""
        return Latency(kind=self.distribution, mean_us=mean_us, jitter_us=self.jitter_ms * 1_000)


class RunSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When a run is over, and what ends one that does not get there.

    With ``audit_reorgs`` all that a validator derives from its state is compared with what its log leads to each time
    it has dropped blocks or taken them back, and not only at the end.
    """

    until_height: Positive = 10
    until_drained: bool = False
    blocks_after_drain: NotNegative = 3
    time_limit_ms: Positive = 600_000
    step_limit: Positive = 50_000_000
    audit_reorgs: bool = False


EntryName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_. -]*\Z", max_length=NAME_CHARACTERS_MAX)]
Title = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f-\x9f]*\Z", max_length=500)]
"""What is printed; it steers no terminal."""


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole scenario, resolved: what a run directory keeps and a replay runs again."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9-]*\Z", max_length=NAME_CHARACTERS_MAX)]
    title: Title
    requires: tuple[str, ...] = ()
    plugins: tuple[EntryName, ...] = ()
    """Plug-ins whose kinds of workloads and faults, actors, policies and checks the scenario uses."""
    cluster: ClusterSection = ClusterSection()
    chain: ChainSection = ChainSection()
    consensus: ConsensusSection = ConsensusSection()
    sync: SyncSection = SyncSection()
    network: NetworkSection = NetworkSection()
    costs: CostsSection = CostsSection()
    validators: dict[str, ValidatorSection] = {}
    observers: dict[str, Observer] = {}
    workload: dict[EntryName, WorkloadKind] = {}
    faults: dict[EntryName, Fault] = {}
    expect: ExpectSection = ExpectSection()
    run: RunSection = RunSection()
    mutants: dict[str, tuple[NotNegative, ...]] = {}
    """Mutants (checker/mutants) by name, and the replicas that have each."""

    @property
    def chain_id(self) -> str:
        """What keys and addresses of this chain are made from: a scenario under another name can be the same run."""
        return self.chain.id or self.name

    @property
    def replicas(self) -> int:
        """How many there are that keep the state: validators, then observers."""
        return self.cluster.validators + len(self.observers)

    @property
    def observers_by_number(self) -> dict[int, Observer]:
        """The observers' sections, by their numbers on the bus."""
        return dict(enumerate(self.observers.values(), self.cluster.validators))


@cache
def scenario_type(plugins: tuple[str, ...] = ()) -> type[Scenario]:
    """Return the scenario whose tables decode the built-in kinds, and those of these plug-ins, which are loaded."""
    workload: Any = reduce(or_, workload_kinds(plugins))
    faults: Any = fault_union(plugins)
    found = msgspec.defstruct(
        "Scenario",
        [
            ("workload", dict[EntryName, workload], msgspec.field(default_factory=dict)),
            ("faults", dict[EntryName, faults], msgspec.field(default_factory=dict)),
        ],
        bases=(Scenario,),
        frozen=True,
        forbid_unknown_fields=True,
        kw_only=True,
    )
    return cast("type[Scenario]", found)
