"""The facts of a cluster that its checks may use, as the plain data of `checker.checks.context`."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from checker.applications import ONE_BUILD
from checker.checks.audit.plan import TestBedPlan
from checker.checks.context import RunContext
from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.readback import read_back, read_disk, share_log, take_back
from checker.checks.rules.registry import RULES
from checker.coverage.application_points import ApplicationRule
from checker.coverage.engines import COVERED
from checker.coverage.situations import FaultTime, Situations
from checker.expected import Expectations, ExpectedStorm, ReorgCounts
from checker.observations import ChainRules, DiskFaults, ReadBack, rules_of
from cluster.differential.chain_draws import judge_chain
from cluster.runtime.cluster import Cluster, ClusterRun
from cluster.runtime.replicas import judged_replicas, section_of, settings_of, topology_of
from cluster.scenario.model import Scenario
from cluster.scenario.sections.replicas import OwnCadence, RebuildIndexes, ReplicaSection
from cluster.verdict.watchdog import Watchdog
from cluster.workloads.planned import expected_fires, expected_workloads
from faults.anchors.catalogue import MOMENTS
from network.draw import SWARM
from network.plugin_errors import describe_error
from network.topology import MILLION, LinkSpec
from network.types import MILLISECOND_US
from validators.consensus.quorum import faults_of, quorum_of
from validators.derived import Derived
from validators.execution import Genesis
from validators.execution.blocks import header_digest
from validators.messages import BLOCK_BYTES_MAX
from validators.settings import make_engine
from validators.state import Rebuilds

MAX_U64: Final = (1 << 64) - 1
"""The greatest draw."""

BEST_DRAWS: Final = (0, MAX_U64 >> 1)
"""The number of draws with a single shortest latency, by distribution; a normal distribution has a bit for the sign."""

PAYLOAD_BYTES_MAX: Final = 2 * BLOCK_BYTES_MAX
"""The longest payload in bytes: the bus drops messages longer than two blocks of the greatest size."""


CHAINS_EVERY: Final = 4
"""The distance between seeds of the swarm with a differential chain: a mistake in a rule shows in many chains."""


def context_of(cluster: Cluster) -> RunContext:
    """Return the checks' facts about a cluster before its run."""
    scenario, data = cluster.scenario, cluster.data
    values, rules = _genesis_state(cluster.genesis)
    applications = cluster.applications
    if applications is not None:
        header = applications.planned.genesis
        rules = rules_of(cluster.genesis, digest=header_digest(header), root=header.state_root)
    # From here on the cluster records: a run that nobody judges need not.
    cluster.engine_calls = {node: [] for node in judged_replicas(scenario, cluster.seed)}
    return RunContext(
        rules=rules,
        validators=scenario.cluster.validators,
        honest=tuple(node for node in range(scenario.replicas) if node not in scenario.byzantine),
        twins=scenario.twins,
        genesis=cluster.genesis,
        genesis_values=values,
        expect=expectations_of(scenario, is_one_process=data is None),
        disk_faults=_disk_faults(scenario),
        plan=planned_run(scenario)._replace(builds=ONE_BUILD if applications is None else applications.planned.builds),
        max_skew_ms=scenario.chain.max_skew_ms,
        finality_depth=scenario.finality_depth or 0,
        view_retention=scenario.consensus.view_retention,
        engine=scenario.consensus.engine,
        public_keys=cluster.validator_keys,
        disks=cluster.disks,
        sample_pools=lambda: cluster.sample,
        submissions=lambda: {timed.digest: timed.encoded for timed in cluster.submissions},
        test_bed=_test_bed_of(cluster),
        differential=_differential_chain(scenario, cluster.seed),
        watched=lambda count, what: Watchdog(count, f"{scenario.name} seed {cluster.seed}: {what}"),
        engine_calls=cluster.engine_calls,
        earlier_height=0 if data is None else data.height,
        is_reopened=data is not None and data.start_us > 0,
        offers=("trace", "receipts", "tables") if applications is None else applications.offers,
        application=None if applications is None else applications.facts,
    )


def _differential_chain(scenario: Scenario, seed: int) -> Callable[[], Iterator[str]] | None:
    """Return the differential chain that is judged along with a run, for one seed of the swarm in a few."""
    if scenario.name != SWARM or seed % CHAINS_EVERY:
        return None
    return lambda: judge_chain(seed // CHAINS_EVERY)


def _test_bed_of(cluster: Cluster) -> TestBedPlan:
    """Return the part of a scenario that the test bed follows, as plain data."""
    scenario, data = cluster.scenario, cluster.data
    return TestBedPlan(
        seed=cluster.seed,
        nodes=scenario.identities,
        validators=scenario.cluster.validators,
        network=msgspec.to_builtins(scenario.network),
        faults={name: msgspec.to_builtins(fault) for name, fault in scenario.faults.items()},
        reaches={name: fault.reaches for name, fault in scenario.faults.items()},
        anchor_events={
            name: MOMENTS[fault.anchor.event].event for name, fault in scenario.faults.items() if fault.anchor
        },
        observers=tuple(scenario.observers_by_number),
        twins=scenario.twins,
        payload_bytes_max=PAYLOAD_BYTES_MAX,
        reseeds=scenario.run.reseed,
        redraws={(purpose, subject, ordinal): value for purpose, subject, ordinal, value in scenario.run.redraw},
        is_whole=data is None or not data.start_us,
    )


def expectations_of(scenario: Scenario, *, is_one_process: bool = True) -> Expectations:
    """Return what a scenario expects; where several processes make the run, finality may rest between them."""
    expect = scenario.expect
    storm = expect.storm
    return Expectations(
        requires=tuple(name for name in scenario.requires if name in scenario.faults),
        workloads=tuple(expected_workloads(scenario)),
        storm=None if storm is None else ExpectedStorm(storm.dead_timers_min, storm.actors_min, storm.drain_blocks_min),
        reorg=ReorgCounts(
            rolled_back=expect.rolled_back_min,
            rolled_back_depth=expect.rolled_back_depth_min,
            undone=expect.undone_min,
            undone_depth=expect.undone_depth_min,
            returned=expect.returned_min,
            reexecuted=expect.reexecuted_min,
            audited=expect.audited_min,
            crossed=expect.activation_crossed_min,
        ),
        counts=expect.counts,
        at_most=expect.at_most,
        fired_by=expected_fires(scenario),
        recovery=expect.recovery,
        reports=expect.reports,
        answers_from=expect.answers_from,
        replica_modes=_expected_modes(scenario),
        rules=_expected_rules(scenario),
        arrival=expect.arrival,
        finality_views_max=finality_views_max(scenario),
        finality_gap_max_us=finality_gap_max_us(scenario) if is_one_process else None,
    )


def _expected_modes(scenario: Scenario) -> Mapping[str, int]:
    """Return the least acts of observers' modes, without modes for the project's own database under an application."""
    expected = scenario.expect.replica_modes
    if scenario.application is None:
        return expected
    own = (OwnCadence, RebuildIndexes)
    return {name: least for name, least in expected.items() if not isinstance(scenario.observers.get(name), own)}


def _expected_rules(scenario: Scenario) -> Mapping[str, int]:
    """Return the least hits of each coverage point; for an application those of consensus and of applications."""
    expected = scenario.expect.rules
    if scenario.application is None:
        return expected
    consensus = (point for covered in COVERED.values() for point in covered.points)
    asked = [point.label for point in (*consensus, *ApplicationRule)]
    return {label: least for label, least in expected.items() if label in asked}


def planned_run(scenario: Scenario) -> PlannedRun:
    """Return the plan of a run as its checks know it."""
    faults = tuple(
        PlannedFault(
            name=name,
            start_us=fault.bounds()[0] * MILLISECOND_US,
            stop_us=(fault.bounds()[1] + fault.lead_ms()) * MILLISECOND_US,
            nodes=fault.targets(),
            pauses=(held := fault.occupies()) is not None and held.state == "paused",
            slows=held is not None and held.resource in {"pace", "disk pace"},
        )
        for name, fault in scenario.faults.items()
        if fault.enabled
    )
    consensus, network = scenario.consensus, scenario.network
    own = settings_of(scenario, 0).consensus_config
    links: list[tuple[int, int, LinkSpec]] = list(topology_of(scenario).edges(data="link"))
    settings = [settings_of(scenario, node) for node in range(scenario.replicas)]
    gaps = tuple(each.snapshot_gap_blocks for each in settings)
    return PlannedRun(
        faults=faults,
        costs=scenario.costs.costs(),
        block_interval_us=scenario.chain.block_interval_ms * MILLISECOND_US,
        leader_timeout_us=consensus.leader_timeout_ms * MILLISECOND_US,
        certification_timeout_us=consensus.certification_timeout_ms * MILLISECOND_US,
        timeout_retry_us=consensus.timeout_retry_ms * MILLISECOND_US,
        fetch_grace_us=consensus.fetch_grace_ms * MILLISECOND_US,
        fetch_timeout_us=consensus.fetch_timeout_ms * MILLISECOND_US,
        regossip_us=network.regossip_ms * MILLISECOND_US,
        skip_timeout_us=consensus.skip_timeout_ms * MILLISECOND_US,
        view_timeout_max_us=getattr(own, "view_timeout_max_us", 0),
        slot_us=getattr(own, "slot_us", 0),
        lottery_key=getattr(own, "lottery_key", None),
        empty_slot_share_ppm=getattr(own, "empty_slot_share_ppm", 0),
        snapshot_chunk_bytes=max(each.snapshot_chunk_bytes for each in settings),
        snapshot_gap_blocks=max(gaps[: scenario.cluster.validators]),
        snapshot_gaps=gaps,
        blocks_peers_us=consensus.blocks_peers_ms * MILLISECOND_US,
        latency_max_us=max((link.latency.sample(MAX_U64) for _, _, link in links), default=0),
        is_lossy=bool(network.loss_ppm or network.reorder_ppm or network.uplink_bytes_per_second),
        no_view_ends=why_no_view_ends(scenario),
    )


def why_no_view_ends(scenario: Scenario) -> str:
    """Return why no view of a plan without faults can end, or an empty string; a lower bound, with the best draws.

    A quorum has to have the leader's message before the timeout. An engine of slots has no timeout.
    """
    validators, network = scenario.cluster.validators, scenario.network
    others = quorum_of(validators) - 1
    if others and network.loss_ppm == MILLION:
        return "no view of this plan can end: network.loss_ppm = 1_000_000 loses every message"
    links = topology_of(scenario).edges
    times_us = [
        sorted(
            min(links[leader, node]["link"].latency.sample(draw) for draw in BEST_DRAWS)
            for node in range(validators)
            if node != leader
        )
        for leader in range(validators)
    ]
    message_us = min(times[others - 1] for times in times_us) if others else 0
    view_us, limit_us = message_us + scenario.costs.sync_us, scenario.run.time_limit_ms * MILLISECOND_US
    if view_us > limit_us:
        return (
            f"no view of this plan can end: it takes at least {view_us // 1_000:,} ms to sync and send a vote, and the "
            f"run ends after {limit_us // 1_000:,} ms"
        )
    config = settings_of(scenario, 0).consensus_config
    timeouts_us = [getattr(config, name, 0) for name in ("leader_timeout_us", "view_timeout_max_us")]
    if scenario.finality_depth is None and message_us > max(timeouts_us):
        return (
            f"no view of this plan can end: a leader's message takes at least {message_us // 1_000:,} ms to a quorum, "
            f"and a validator gives a view up after {max(timeouts_us) // 1_000:,} ms"
        )
    return ""


def situations_of(scenario: Scenario) -> Situations:
    """Return the collector of situations for a run of a scenario."""
    times = []
    for name, fault in scenario.faults.items():
        if fault.enabled:
            start_us, stop_us = (at_ms * MILLISECOND_US for at_ms in fault.span())
            times.append(FaultTime(name, fault.family, start_us, stop_us, fault.anchor is not None))
    sections = (section_of(scenario, node) or ReplicaSection() for node in range(scenario.replicas))
    return Situations(times, [section.apply for section in sections])


def finality_views_max(scenario: Scenario) -> int:
    """Return the views within which finality comes back: as stated or the engine's own, and its constant trail."""
    rules, config = RULES[scenario.consensus.engine], settings_of(scenario, 0).consensus_config
    own = scenario.expect.finality_views_max or rules.finality_views_max
    return own + rules.finality_lag(config) * _slots_per_block(scenario, getattr(config, "slot_us", 0))


def _slots_per_block(scenario: Scenario, slot_us: int) -> int:
    """Return the number of slots until every replica has a block that it first hears of, and so requests.

    Until then leaders build beside it. The number is 1 without slots, or if a block travels within a slot.
    """
    if not slot_us:
        return 1
    links: list[tuple[int, int, LinkSpec]] = list(topology_of(scenario).edges(data="link"))
    latency_us = max((link.latency.mean_us for _, _, link in links), default=0)
    served_us = (scenario.replicas - 1) * scenario.costs.serve_block_us
    return -(-max(1, 2 * latency_us + served_us) // slot_us)


def finality_gap_max_us(scenario: Scenario) -> int | None:
    """Return the longest time between two final blocks where at most f validators crash, None in other plans."""
    faults = [fault for fault in scenario.faults.values() if fault.enabled]
    stopped = {node for fault in faults for node in fault.targets()}
    faulty_max = faults_of(scenario.cluster.validators)
    is_whole = not (scenario.network.loss_ppm or scenario.network.uplink_bytes_per_second)
    is_whole = is_whole and all(fault.only_stops for fault in faults)
    if not stopped or not is_whole or len(stopped) > faulty_max:
        return None
    rules = RULES[scenario.consensus.engine]
    return rules.finality_gap_max_us(settings_of(scenario, 0).consensus_config, faulty_max)


def _disk_faults(scenario: Scenario) -> DiskFaults:
    enabled = [fault for fault in scenario.faults.values() if fault.enabled]
    touching = [fault for fault in enabled if fault.touches_disk]
    destroying = [fault for fault in enabled if fault.destroys_synced]
    touched, destroyed = (
        sorted({node for fault in faults for node in fault.targets()}) for faults in (touching, destroying)
    )
    # A replica mode may remove state from an observer's disk; no other damage is allowed.
    lost = [node for node, observer in scenario.observers_by_number.items() if observer.loses_state]
    return DiskFaults(touched, [*destroyed, *lost])


def _genesis_state(genesis: Genesis) -> tuple[dict[bytes, bytes], ChainRules]:
    """Return the state before the first block, and the chain's rules for the checks."""
    try:
        blank = make_engine(genesis, lambda _transaction: False)
        values, root = dict(blank.database.items()), blank.database.canonical_root
    except Exception:  # noqa: BLE001 - each validator halts over the same at its start, and the checks name the place
        return {}, rules_of(genesis, digest=b"", root=b"")
    return values, rules_of(genesis, digest=blank.genesis_digest, root=root)


def derived_of(run: ClusterRun) -> dict[int, tuple[Derived, ...]]:
    """Return what each replica that serves derives, as it is before anything is read back or taken back."""
    return {
        slot.node: slot.validator.derived(slot.disk.written(), len(run.slots))
        for slot in run.slots
        if slot.validator is not None and slot.is_serving
    }


def read_back_of(run: ClusterRun) -> tuple[list[ReadBack], dict[int, str]]:
    """Return the data of each replica's disk, and the errors of disks that could not be read.

    A halted validator is read like any other validator: its data may be the cause of its halt.
    """
    readbacks: list[ReadBack] = []
    unreadable: dict[int, str] = {}
    rebuilds = Rebuilds()
    for slot in run.slots:
        if (validator := slot.validator) is not None and (layer := validator.layer) is not None:
            try:
                with validator.around():
                    served = tuple(validator.served_chain()) if slot.is_serving else ()
                if (tables := layer.tables) is None:
                    readbacks.append(
                        read_disk(slot.node, layer.finalized, slot.disk.pristine())._replace(served=served)
                    )
                    continue
                readback = read_back(slot.node, tables, slot.disk.pristine(), validator.around, rebuilds=rebuilds)
                readback = share_log(readback, readbacks)
                readbacks.append(take_back(readback, tables, rebuilds)._replace(served=served))
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one validator is a finding, not a breakdown
                unreadable[slot.node] = describe_error(error) or f"{type(error).__name__}: {error}"
    return readbacks, unreadable
