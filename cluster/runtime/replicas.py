"""The parts, settings and adversaries of the replicas and the links between them, from the scenario."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from checker.observations import IdleMutant
from checker.oracle.consensus.registry import SPECIFICATIONS
from checker.record.engine_calls import RecordedLife, recorded_kind
from cluster.runtime.genesis import ClusterKeys
from cluster.scenario.model import Scenario
from cluster.scenario.sections.longest_chain import LongestChainSection
from cluster.scenario.sections.replicas import FinalizedOnly, ReplicaSection
from faults import Adversary, byzantine_validators
from faults.byzantine.registry import ADVERSARIES
from network.chance import Chance
from network.draw import Draw
from network.kernel import Kernel
from network.regions import one_way_us
from network.topology import LinkSpec, build_topology
from network.types import MILLISECOND_US
from validators.consensus.registry import ENGINES
from validators.execution.blocks import decode_transaction
from validators.settings import ValidatorFactory, ValidatorSettings, make_engine, make_scheme, sharing

if TYPE_CHECKING:
    import networkx as nx

JUDGED_FEW: Final = 4
"""The number of replicas whose consensus is judged in a run that judges few."""


def topology_of(scenario: Scenario) -> "nx.DiGraph[int]":
    """Return the links of a cluster without faults."""
    network, nodes, validators = scenario.network, range(scenario.replicas), scenario.cluster.validators

    def link(mean_us: int) -> LinkSpec:
        extra_us = network.reorder_extra_ms * MILLISECOND_US
        is_fifo = network.order == "fifo"
        return LinkSpec(network.latency(mean_us), network.loss_ppm, network.reorder_ppm, extra_us, is_fifo)

    regions = network.regions
    between = {
        (source, destination): link(one_way_us(regions[source % validators], regions[destination % validators]))
        for source in (nodes if regions else ())
        for destination in nodes
        if source != destination
    }
    default, twins = link(network.latency_ms * MILLISECOND_US), scenario.twins
    return build_topology(len(nodes), default, between, uplink=network.uplink(), twins=twins)


def factory_of(scenario: Scenario, node: int, adversary: Adversary | None) -> ValidatorFactory:
    """Return the parts of a replica: the parts of its mode, and of its adversary if it has any."""
    section = section_of(scenario, node)
    mode = None if section is None else section.apply_mode()
    if mode is not None and scenario.finality_depth is not None:
        # Every block above the final block may have to be rewound.
        mode = replace(mode, retain_blocks=max(mode.retain_blocks, scenario.finality_depth + 1))
    if adversary is not None:
        own = partial(make_engine, apply_mode=mode, policies=adversary.policies())
        return ValidatorFactory(layer=adversary.over(own, decode_transaction), propose=adversary.propose)
    return ValidatorFactory() if mode is None else ValidatorFactory(layer=partial(make_engine, apply_mode=mode))


def section_of(scenario: Scenario, node: int) -> ReplicaSection | None:
    """Return a scenario's section for a replica, if there is any; a twin has that of its validator."""
    return scenario.observers_by_number.get(node) or scenario.validators.get(str(scenario.identity_of(node)))


def _own_times(scenario: Scenario) -> dict[str, int | str]:
    """Return the settings of the chosen engine."""
    if scenario.finality_depth is not None:
        slots = scenario.consensus.longest_chain or LongestChainSection()
        own_lottery = {"lottery_key": slots.lottery_key, "empty_slot_share_ppm": slots.empty_slot_share_ppm}
        return {
            "slot_us": slots.slot_ms * MILLISECOND_US,
            "finality_depth": scenario.finality_depth,
            **(own_lottery if slots.leaders == "lottery" else {}),
        }
    own = scenario.consensus.hotstuff
    return (
        {} if own is None else {"profile": own.profile, "view_timeout_max_us": own.view_timeout_max_ms * MILLISECOND_US}
    )


def settings_of(scenario: Scenario, node: int) -> ValidatorSettings:
    """Return the settings of a replica."""
    consensus, kind = scenario.consensus, ENGINES[scenario.consensus.engine]
    own = section_of(scenario, node) or ReplicaSection()
    return ValidatorSettings(
        node=scenario.identity_of(node),
        validators=scenario.cluster.validators,
        consensus=kind,
        consensus_config=kind.configure(
            leader_timeout_us=consensus.leader_timeout_ms * MILLISECOND_US,
            certification_timeout_us=consensus.certification_timeout_ms * MILLISECOND_US,
            timeout_retry_us=consensus.timeout_retry_ms * MILLISECOND_US,
            fetch_timeout_us=consensus.fetch_timeout_ms * MILLISECOND_US,
            skip_timeout_us=consensus.skip_timeout_ms * MILLISECOND_US,
            view_retention=consensus.view_retention,
            **_own_times(scenario),
        ),
        costs=scenario.costs.costs(),
        # Slots are the pace of an engine that has slots.
        block_interval_us=0 if scenario.finality_depth else scenario.chain.block_interval_ms * MILLISECOND_US,
        max_skew_ms=scenario.chain.max_skew_ms,
        fetch_grace_us=consensus.fetch_grace_ms * MILLISECOND_US,
        fetch_timeout_us=consensus.fetch_timeout_ms * MILLISECOND_US,
        snapshot_gap_blocks=own.snapshot_gap_blocks or scenario.sync.snapshot_gap_blocks,
        snapshot_chunk_bytes=own.chunk_bytes or scenario.sync.chunk_bytes,
        blocks_peers_us=consensus.blocks_peers_ms * MILLISECOND_US,
        speculates=not isinstance(own, FinalizedOnly),
        regossip_us=scenario.network.regossip_ms * MILLISECOND_US,
    )


def judged_replicas(scenario: Scenario, seed: int) -> list[int]:
    """Return the replicas whose consensus is judged: all honest replicas, or a few and all holders of mutants."""
    if scenario.consensus.engine not in SPECIFICATIONS:
        return []
    honest = [node for node in range(scenario.replicas) if node not in scenario.byzantine]
    if scenario.run.consensus_judged == "all":
        return honest
    drawn = Draw(seed).some_of("run.consensus_judged", honest, JUDGED_FEW)
    holders = {node for nodes in scenario.mutants.values() for node in nodes}
    return [node for node in honest if node in drawn or node in holders]


def with_recording(
    settings: ValidatorSettings, lives: list[RecordedLife], public_keys: Sequence[bytes], kernel: Kernel
) -> ValidatorSettings:
    """Return the settings of a replica that keeps a list of its lives, with the calls of its engine."""
    return replace(settings, consensus=recorded_kind(settings.consensus, lives, public_keys, lambda: kernel.now_us))


def adversaries_of(scenario: Scenario, keys: ClusterKeys, chance: Chance) -> dict[int, Adversary]:
    """Return the adversary of each machine that is Byzantine at any time, with the true key of its validator."""
    byzantine = byzantine_validators(scenario.faults)
    return {
        node: ADVERSARIES[scenario.consensus.engine].make(
            scenario.identity_of(node),
            validators=scenario.cluster.validators,
            replicas=scenario.identities,
            byzantine=byzantine,
            scheme=make_scheme(keys.seeds[node], keys.validator_keys),
            config=settings_of(scenario, node).consensus_config,
            chance=chance,
            max_skew_ms=scenario.chain.max_skew_ms,
            is_foreign=scenario.foreign_application is not None,
        )
        for node in scenario.byzantine
    }


class RunMutants(NamedTuple):
    """The mutants of a run: the factories of their holders, the context of the whole run, and the idle mutants."""

    factories: Mapping[int, ValidatorFactory] = MappingProxyType({})
    of_run: AbstractContextManager[object] = nullcontext()
    idle: Callable[[], Sequence[IdleMutant]] = tuple


def factories_of(
    scenario: Scenario, mutants: RunMutants, adversaries: Mapping[int, Adversary], *, is_sharing: bool
) -> dict[int, ValidatorFactory]:
    """Return the parts of every replica: the parts of its mode, its adversary and its mutants.

    Args:
        scenario: The scenario.
        mutants: Its mutants.
        adversaries: The adversaries of its Byzantine validators.
        is_sharing: Whether the replicas share results of pure functions.
    """
    made = [factory_of(scenario, node, adversaries.get(node)) for node in range(scenario.replicas)]
    # A mutant may change shared results, for itself or for all.
    own = dict(enumerate(sharing(made) if is_sharing and not scenario.mutants else made))
    # Over the replica mode and not instead of it: a mutant keeps the apply mode of its replica.
    return own | {node: replace(own[node], around=each.around) for node, each in mutants.factories.items()}


def place_mutants(scenario: Scenario) -> RunMutants:
    """Return the mutants of a run, whose plug-ins are loaded; a run without mutants loads none."""
    if not scenario.mutants:
        return RunMutants()
    from checker.mutants import PlacedMutants  # noqa: PLC0415

    placed = PlacedMutants(scenario.mutants, scenario.mutants_from_height)
    return RunMutants(placed.factories, placed.of_run, placed.idle)
