"""A scenario as data: cluster, chain, network, workload, faults and expectations.

Every value has a type and a range; `cluster.scenario.load` reads it from a file and `cluster.scenario.rules` checks its
consistency. Times are whole virtual milliseconds in files (`_ms`) and microseconds inside a run (`_us`).
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, TypeAlias, cast, get_args

import msgspec

from checker.record.plugins import objects_of
from cluster.scenario.fields import (
    NAME_CHARACTERS_MAX,
    EntryName,
    NotNegative,
    PartsPerMillion,
    Positive,
    Section,
    means,
)
from cluster.scenario.sections.application import ApplicationSection
from cluster.scenario.sections.chain import ChainSection, chain_section
from cluster.scenario.sections.costs import CostsSection
from cluster.scenario.sections.expect import ExpectSection
from cluster.scenario.sections.longest_chain import LongestChainSection
from cluster.scenario.sections.replicas import CHUNK_BYTES_MAX, Observer, ValidatorSection
from cluster.workloads.registry import WORKLOADS
from cluster.workloads.submission import WorkloadKind
from faults import FAULTS, Fault, byzantine_validators, twinned_validators
from faults.quorums import Electorate
from network.latency import Latency
from network.queues import UplinkClass
from network.regions import Region
from validators.consensus.quorum import quorum_of
from validators.messages import TRAFFIC, Traffic


class ClusterSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The number of validators, and their signature scheme."""

    validators: Annotated[int, msgspec.Meta(ge=1, le=100), means("Validators of the cluster.")] = 4
    signatures: Annotated[Literal["ed25519"], means("The signature scheme.")] = "ed25519"


EngineName: TypeAlias = Literal["simplex", "hotstuff", "longest-chain"]

Profile: TypeAlias = Literal["three-chain", "two-chain"]

ENGINE_FORMS: Final = (*get_args(EngineName), *(f"hotstuff {profile}" for profile in get_args(Profile)))
"""Engines by name, and HotStuff's with its profile: the names of `not_for` and `for_engine`."""


def forms_of(engine: str, profile: str) -> tuple[str, ...]:
    """Return the names of an engine for `not_for` and `for_engine`; the profile counts if the engine has several."""
    return tuple(form for form in (engine, f"{engine} {profile}") if form in ENGINE_FORMS)


class HotstuffSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of HotStuff alone."""

    profile: Annotated[
        Profile,
        means("Blocks of consecutive views that make the first of them final: three, or two."),
    ] = "three-chain"
    view_timeout_max_ms: Annotated[
        Positive,
        means("`certification_timeout_ms` doubles up to this with each view that is given up; not below it."),
    ] = 12_000


class ConsensusSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The consensus engine, and the timeouts of Simplex (docs/simplex.md)."""

    engine: Annotated[EngineName, means("The consensus engine.")] = "simplex"
    leader_timeout_ms: Annotated[
        Positive, means("A view's wait for its leader's proposal; above `chain.block_interval_ms`.")
    ] = 2_000
    certification_timeout_ms: Annotated[
        Positive, means("A view's wait for a certified proposal; above `leader_timeout_ms`.")
    ] = 3_000
    timeout_retry_ms: Annotated[Positive, means("A view that has timed out repeats its timeout after this.")] = 4_000
    fetch_timeout_ms: Annotated[Positive, means("A peer's time to answer.")] = 1_000
    fetch_grace_ms: Annotated[NotNegative, means("Wait before the first request for a block.")] = 200
    skip_timeout_ms: Annotated[
        Positive, means("The silence after which a leader is skipped; above the timeouts before it.")
    ] = 12_000
    view_retention: Annotated[
        Positive, means("Views below the finalized one that stay in memory and in the vote journal.")
    ] = 20
    blocks_peers_ms: Annotated[
        NotNegative,
        means(
            "A validator neither hears nor serves a peer for this long that sent what no honest one sends; 0: never."
        ),
    ] = 0
    hotstuff: Annotated[HotstuffSection | None, means('Only with `engine = "hotstuff"`.')] = None
    longest_chain: Annotated[LongestChainSection | None, means('Only with `engine = "longest-chain"`.')] = None


def stated_forms(consensus: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the engine that a section of plain data states, for `for_engine`."""
    own = consensus.get("hotstuff", {})
    profile = own.get("profile", HotstuffSection().profile) if isinstance(own, Mapping) else ""
    return forms_of(consensus.get("engine", ConsensusSection().engine), profile)


class SyncSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Catching up: this many blocks behind, a validator joins from a peer's snapshot.

    A snapshot travels in pieces of about ``chunk_bytes``.
    """

    snapshot_gap_blocks: Annotated[
        Positive, means("Finalized blocks behind which it joins from a peer's snapshot.")
    ] = 256
    chunk_bytes: Annotated[
        int, msgspec.Meta(ge=1, le=CHUNK_BYTES_MAX), means("A piece of a snapshot closes at about this many bytes.")
    ] = 1024 * 1024


class NetworkSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every link without a fault: latency, loss and reordering.

    With ``regions``, one for each validator, latencies are the latencies between the regions, and ``latency_ms`` is not
    used.
    """

    distribution: Annotated[
        Literal["fixed", "uniform", "normal", "exponential"], means("The distribution of latencies.")
    ] = "normal"
    latency_ms: Annotated[Positive, means("The mean latency; not used with `regions`.")] = 40
    jitter_ms: Annotated[NotNegative, means("Their spread.")] = 10
    loss_ppm: Annotated[PartsPerMillion, means("Messages that are lost.")] = 0
    reorder_ppm: Annotated[PartsPerMillion, means("Messages that are late by `reorder_extra_ms`.")] = 0
    reorder_extra_ms: Annotated[NotNegative, means("The delay of late messages.")] = 0
    regions: Annotated[
        tuple[Region, ...], means("The region of each validator: latencies are the latencies between the regions.")
    ] = ()
    order: Annotated[
        Literal["none", "fifo"],
        means("`fifo`: a link keeps the order of its messages, so that a late message delays all later messages."),
    ] = "none"
    uplink_bytes_per_second: Annotated[
        NotNegative,
        means(
            "The rate of the line that all links of a replica share: each message occupies it for its bytes over the "
            "rate, and later messages wait. 0: no such line."
        ),
    ] = 0
    uplink_shares: Annotated[
        dict[Traffic, Annotated[int, msgspec.Meta(ge=1, le=98)]],
        means(
            "Per cent of the rate for `consensus` (votes, certificates, proposals), `sync` (requested blocks and "
            "snapshots) and `gossip` (transactions), 100 together; each class waits for itself alone. Left out: one "
            "queue for all messages."
        ),
    ] = msgspec.field(default_factory=dict)
    regossip_ms: Annotated[Positive, means("Pooled transactions are offered again after this.")] = 2_000

    def uplink(self) -> tuple[UplinkClass, ...]:
        """Return the classes of the uplink of each replica; none where links share no line."""
        rate = self.uplink_bytes_per_second
        if not self.uplink_shares:
            return (UplinkClass((), rate),) if rate else ()
        return tuple(UplinkClass(TRAFFIC[each], rate * self.uplink_shares[each] // 100) for each in TRAFFIC)

    def latency(self, mean_us: int) -> Latency:
        """Return the distribution of a link with this mean, in microseconds; raises LatencyError."""
        return Latency(kind=self.distribution, mean_us=mean_us, jitter_us=self.jitter_ms * 1_000)


Word: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class RunSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The end of a run, and the limits that end a run which does not reach it.

    With ``audit_reorgs`` a validator's log, bitmap and indexes are compared with the state rebuilt from its log after
    each reorganization, not only at the end. The check `derived` compares its parts there in any run.

    With ``stop_at_failure`` a run ends soon after two replicas that are not Byzantine differ in the final block of a
    height or in a block's root. It continues for two final heights, or for two views without a new final height;
    `expect.fails` switches that off.
    """

    until_height: Annotated[Positive, means("The finalized height that every replica has to reach.")] = 10
    until_drained: Annotated[
        bool, means("Whether the run also waits, after the faults, for a block that leaves no dead timer.")
    ] = False
    blocks_after_drain: Annotated[NotNegative, means("With `until_drained`: blocks after the drain.")] = 3
    time_limit_ms: Annotated[Positive, means("Virtual time that ends a run; every fault is over before.")] = 600_000
    step_limit: Annotated[Positive, means("Steps of the kernel that end a run.")] = 50_000_000
    audit_reorgs: Annotated[
        bool, means("Whether state and indexes are audited after each reorganization, and not only at the end.")
    ] = False
    consensus_judged: Annotated[
        Literal["few", "all"],
        means("Honest replicas whose consensus is compared with its specification: four and mutants' holders, or all."),
    ] = "few"
    stop_at_failure: Annotated[
        bool, means("Whether the run ends soon after two replicas differ in a final block or a root.")
    ] = True
    reseed: Annotated[
        tuple[tuple[Positive, Word], ...],
        means("`[turn, seed]` each, by turn: from this turn of the kernel on all draws have this seed (`--reseed`)."),
    ] = ()
    redraw: Annotated[
        tuple[tuple[str, str, NotNegative, Word], ...],
        means("`[purpose, subject, ordinal, value]` each: this draw has this 64-bit value in place of its own."),
    ] = ()

    @property
    def continuation(self) -> str:
        """The end of a run directory's name where chance changes: it is another run than that of its seed."""
        first = "".join(f"-at-turn-{turn}-seed-{seed}" for turn, seed in self.reseed[:1])
        return f"{first}{'-and-other-draws' * bool(self.redraw or self.reseed[1:])}"


Title = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f-\x9f]*\Z", max_length=500)]
"""Text that is printed, without terminal control characters."""


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole scenario, resolved: a run directory keeps it and a replay runs it again."""

    name: Annotated[
        str,
        msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9-]*\Z", max_length=NAME_CHARACTERS_MAX),
        means("Small letters, digits and hyphens."),
    ]
    title: Annotated[Title, means("A line on what it shows.")]
    requires: Annotated[tuple[str, ...], means("Faults and workloads that must take effect.")] = ()
    not_for: Annotated[
        dict[str, Title],
        means(
            "Engines that cannot show what the scenario promises, or forms such as `hotstuff two-chain`, with the "
            "reason. `run` refuses them."
        ),
    ] = {}
    for_engine: Annotated[
        dict[str, dict[str, Any]],
        means("Tables that are laid over the scenario's own where it runs on an engine, by the names of `not_for`."),
    ] = {}
    oracle: Annotated[
        Literal["on", "off"], means("Off for a policy or an actor that no oracle knows; the verdict says so.")
    ] = "on"
    plugins: Annotated[tuple[EntryName, ...], means("Plug-ins whose kinds, actors, policies and checks it uses.")] = ()
    cluster: ClusterSection = ClusterSection()
    chain: ChainSection = ChainSection()
    application: ApplicationSection | None = None
    consensus: ConsensusSection = ConsensusSection()
    sync: SyncSection = SyncSection()
    network: NetworkSection = NetworkSection()
    costs: CostsSection = CostsSection()
    validators: dict[str, ValidatorSection] = {}
    observers: dict[EntryName, Observer] = {}
    workload: dict[EntryName, WorkloadKind] = {}
    faults: dict[EntryName, Fault] = {}
    expect: ExpectSection = ExpectSection()
    run: RunSection = RunSection()
    mutants: Annotated[
        dict[str, tuple[NotNegative, ...]],
        means("Mutants by name, also of `plugins`, and the replicas that run each."),
    ] = {}
    mutants_from_height: Annotated[
        dict[str, Positive],
        means("Mutants that are in place only from this height on: its block is the first with the mutant."),
    ] = {}

    @property
    def engine_forms(self) -> tuple[str, ...]:
        """The names of the engine for `not_for`: its own, and with the profile of HotStuff."""
        return forms_of(self.consensus.engine, (self.consensus.hotstuff or HotstuffSection()).profile)

    @property
    def finality_depth(self) -> int | None:
        """The number of descendants that make a block final; None if the engine has no depth."""
        if self.consensus.engine != "longest-chain":
            return None
        own = self.consensus.longest_chain or LongestChainSection()
        return own.depth(self.faults, self.cluster.validators)

    @property
    def electorate(self) -> Electorate:
        """The replicas, and the votes that make a certificate if the engine has certificates."""
        validators = self.cluster.validators
        quorum = quorum_of(validators) if self.finality_depth is None else None
        return Electorate(validators, self.identities, quorum)

    @property
    def stops_at_failure(self) -> bool:
        """Whether the first difference of two replicas ends the run: a scenario with expected failures has to go on."""
        return self.run.stop_at_failure and not self.expect.fails

    @property
    def foreign_application(self) -> ApplicationSection | None:
        """The application, if it is foreign and brings its own rules."""
        return None if self.application is None or self.application.is_own else self.application

    @property
    def chain_id(self) -> str:
        """The identifier of keys and addresses: a renamed scenario with the same identifier is the same run."""
        return self.chain.id or self.name

    @property
    def identities(self) -> int:
        """The number of replicas with a number and a key of their own: validators, then observers."""
        return self.cluster.validators + len(self.observers)

    @property
    def twins(self) -> dict[int, int]:
        """The machines of twins, numbered after the observers, each with the validator that it is a twin of."""
        return dict(enumerate(twinned_validators(self.faults), self.identities))

    @property
    def replicas(self) -> int:
        """The number of machines: validators, then observers, then twins."""
        return self.identities + len(twinned_validators(self.faults))

    @property
    def byzantine(self) -> tuple[int, ...]:
        """The machines that no check judges: Byzantine validators, then twins."""
        return *byzantine_validators(self.faults), *self.twins

    def identity_of(self, node: int) -> int:
        """Return the number under which a machine is known to the others."""
        return self.twins.get(node, node)

    @property
    def observers_by_number(self) -> dict[int, Observer]:
        """The observers' sections, by their numbers on the bus."""
        return dict(enumerate(self.observers.values(), self.cluster.validators))


@cache
def scenario_type(plugins: tuple[str, ...] = ()) -> type[Scenario]:
    """Return the scenario whose tables decode the built-in kinds, and the kinds of these loaded plug-ins."""
    workload: Any = WORKLOADS.union(plugins)
    faults: Any = FAULTS.union(plugins)
    fields: list[tuple[str, Any, Any]] = [
        ("workload", dict[EntryName, workload], msgspec.field(default_factory=dict)),
        ("faults", dict[EntryName, faults], msgspec.field(default_factory=dict)),
    ]
    if policies := [policy.name for policy in objects_of(plugins, "policies")]:
        chain: Any = chain_section(policies)
        fields.append(("chain", chain, msgspec.field(default_factory=chain)))
    found = msgspec.defstruct(
        "Scenario",
        fields,
        bases=(Scenario,),
        frozen=True,
        forbid_unknown_fields=True,
        kw_only=True,
    )
    return cast("type[Scenario]", found)
